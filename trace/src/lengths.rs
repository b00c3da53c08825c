//! Checks the lengths inside MCAP records before the `mcap` crate parses them. The parser allocates memory for a string
//! before it checks that the record contains the string.

use mcap::records::op;

/// True if all strings in a record with this opcode lie within `data`, according to their lengths. True for records
/// without strings.
pub(crate) fn strings_fit(opcode: u8, data: &[u8]) -> bool {
    fit(opcode, data).is_some()
}

fn fit(opcode: u8, data: &[u8]) -> Option<()> {
    match opcode {
        // profile, library
        op::HEADER => string(string(data)?).map(drop),
        // two times, a length and a checksum, then the compression
        op::CHUNK => string(data.get(8 + 8 + 8 + 4..)?).map(drop),
        // id and schema, topic and encoding, then a map of strings
        op::CHANNEL => {
            let map = string(string(data.get(2 + 2..)?)?)?;
            let (len, map) = map.split_first_chunk::<4>()?;
            let mut map = map.get(..usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
            while !map.is_empty() {
                map = string(string(map)?)?;
            }
            Some(())
        }
        _ => Some(()),
    }
}

/// The bytes after the string at the start of `data`.
fn string(data: &[u8]) -> Option<&[u8]> {
    let (len, rest) = data.split_first_chunk::<4>()?;
    rest.get(usize::try_from(u32::from_le_bytes(*len)).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        let len = u32::try_from(text.len()).unwrap();
        [&len.to_le_bytes()[..], text.as_bytes()].concat()
    }

    #[test]
    fn strings_exceeding_the_record_are_detected() {
        let header = [text("x11prof"), text("x")].concat();
        let chunk = [vec![0; 28], text("zstd")].concat();
        let map = [text("key"), text("value")].concat();
        let len = u32::try_from(map.len()).unwrap().to_le_bytes().to_vec();
        let channel = [vec![1, 0, 0, 0], text("topic"), text(""), len, map].concat();
        for (opcode, data) in [
            (op::HEADER, header),
            (op::CHUNK, chunk),
            (op::CHANNEL, channel),
        ] {
            assert!(strings_fit(opcode, &data));
            for len in 0..data.len() {
                assert!(!strings_fit(opcode, &data[..len]), "{opcode}: {len}");
            }
        }
        let long = [vec![0; 28], vec![0xFF; 4]].concat();
        assert!(!strings_fit(op::CHUNK, &long));
        assert!(strings_fit(op::FOOTER, &[]));
    }
}
