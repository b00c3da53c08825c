//! Reads the build id of a program file: an ELF note that differs between two builds of a program. The file may be
//! hostile, so the code reads only a few bytes, whatever lengths the file claims.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::open_regular;

/// The program header of notes, and the note of a build id (elf.h: PT_NOTE, NT_GNU_BUILD_ID).
const NOTES: u32 = 4;
const BUILD_ID: u32 = 3;
/// The length of a program header in bytes.
const PROGRAM_HEADER: usize = 56;
/// The maximum number of bytes of notes in all segments together.
const LONGEST: usize = 1 << 16;
/// The maximum number of program headers.
const MOST_HEADERS: usize = 1000;

/// The build id of a 64-bit program file as hexadecimal digits; `None` if the file is not regular or has none.
pub fn build_id(path: &Path) -> Option<String> {
    let file = open_regular(path).ok()?;
    let read = |at: u64, len: usize| {
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
    };
    let header = read(0, 64).filter(|header| header.starts_with(b"\x7fELF\x02\x01"))?;
    let count = usize::from(u16::from_le_bytes([header[56], header[57]]));
    let count = count.min(MOST_HEADERS);
    let headers = read(long(&header, 32)?, count * PROGRAM_HEADER)?;
    let mut left = LONGEST;
    headers.chunks(PROGRAM_HEADER).find_map(|header| {
        let length = usize::try_from(long(header, 32)?).ok()?;
        let is_read = word(header, 0)? == NOTES && length <= left;
        left -= is_read.then_some(length)?;
        of_notes(&read(long(header, 8)?, length)?)
    })
}

/// Returns the build id among the ELF notes in `notes`; `None` if there is none.
fn of_notes(mut notes: &[u8]) -> Option<String> {
    let padded = |length: u32| (length as usize).next_multiple_of(4);
    loop {
        let (length, description, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let name = notes.get(12..)?.get(..length as usize)?;
        let rest = notes.get(12 + padded(length)..)?;
        let bytes = rest.get(..description as usize)?;
        if name == b"GNU\0" && kind == BUILD_ID {
            return Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = rest.get(padded(description)..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF note whose name and description are padded to four bytes.
    fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [name.len() as u32, description.len() as u32, kind] {
            note.extend(word.to_le_bytes());
        }
        for part in [name, description] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn build_id_is_found_among_other_notes() {
        let notes = [
            note(b"Owner\0", BUILD_ID, b"other"),
            note(b"GNU\0", 1, &[0; 16]),
            note(b"GNU\0", BUILD_ID, &[0xab, 0, 7]),
        ]
        .concat();
        assert_eq!(of_notes(&notes).as_deref(), Some("ab0007"));
        for len in 0..notes.len() - 1 {
            assert_eq!(of_notes(&notes[..len]), None, "{len} bytes");
        }
        assert_eq!(of_notes(&[0xff; 64]), None);
    }

    #[test]
    fn few_notes_of_a_file_are_read() {
        let id = note(b"GNU\0", BUILD_ID, &[7]);
        // The same large segment of other notes, and then the one with the build id.
        let file = |large: usize| {
            let count = large + 1;
            let place = 64 + count * PROGRAM_HEADER;
            let mut bytes = b"\x7fELF\x02\x01".to_vec();
            bytes.resize(64, 0);
            bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
            bytes[56..58].copy_from_slice(&(count as u16).to_le_bytes());
            for at in 0..count {
                let (start, length) = match at < large {
                    true => (place + id.len(), LONGEST / 4),
                    false => (place, id.len()),
                };
                let mut header = [0; PROGRAM_HEADER];
                header[0] = NOTES as u8;
                header[8..16].copy_from_slice(&(start as u64).to_le_bytes());
                header[32..40].copy_from_slice(&(length as u64).to_le_bytes());
                bytes.extend(header);
            }
            bytes.extend(&id);
            bytes.resize(bytes.len() + LONGEST / 4, 0);
            let path = std::env::temp_dir().join(format!("notes-{}-{large}", std::process::id()));
            std::fs::write(&path, bytes).unwrap();
            let found = build_id(&path);
            std::fs::remove_file(path).unwrap();
            found
        };
        assert_eq!(file(3).as_deref(), Some("07"));
        assert_eq!(file(4), None);
        assert_eq!(file(60_000), None);
    }

    #[test]
    fn only_regular_program_files_have_a_build_id() {
        let own = build_id(Path::new("/proc/self/exe"));
        assert!(own.is_none_or(|id| id.len() >= 16));
        for path in ["/dev/zero", "/", "/nonexistent", "/proc/self/status"] {
            assert_eq!(build_id(Path::new(path)), None, "{path}");
        }
    }
}
