//! Restores the values of BOOL fields that are neither 0 nor 1. `x11rb-protocol` reads these values as true.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::Value;

/// The offsets of BOOL fields, by extension (`-` for the core protocol), form of the message, and number of the
/// message.
type Table = HashMap<(&'static str, &'static str, u8), Vec<usize>>;

/// Replaces each BOOL that is neither 0 nor 1 by its number. `extension`, `form` and `number` identify the message in
/// `bools.txt`.
pub(super) fn restore(
    fields: &mut Value,
    bytes: &[u8],
    header_len: usize,
    (extension, form, number): (&str, &str, u8),
) {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let lines = include_str!("bools.txt").lines();
        lines
            .filter(|line| !line.starts_with('#'))
            .flat_map(of_line)
            .collect()
    });
    let Some(offsets) = table.get(&(extension, form, number)) else {
        return;
    };
    // The additional 4 bytes of a BIG-REQUESTS length shift the fields after the header.
    let moved = |at: &usize| at + if *at < 4 { 0 } else { header_len - 4 };
    let bytes = offsets.iter().map(|at| bytes.get(moved(at)).copied());
    let bytes: Vec<u8> = bytes.map_while(|byte| byte).collect();
    if bytes.iter().any(|byte| *byte > 1) {
        replace(fields, &mut bytes.into_iter());
    }
}

/// Replaces the Boolean values in `value` by the numbers in `bytes` that are larger than 1. The order of `bytes` is the
/// order of the fields.
fn replace(value: &mut Value, bytes: &mut impl Iterator<Item = u8>) {
    match value {
        // XInputExtension has a BOOL whose values have the names OWNER and NO_OWNER.
        Value::Name(name) if !matches!(name.as_str(), "OWNER" | "NO_OWNER") => {}
        Value::Bool(_) | Value::Name(_) => {
            if let Some(byte) = bytes.next().filter(|byte| *byte > 1) {
                *value = Value::truth(byte);
            }
        }
        Value::List(list) => list.iter_mut().for_each(|one| replace(one, bytes)),
        Value::Fields(fields) => fields.iter_mut().for_each(|(_, one)| replace(one, bytes)),
        _ => {}
    }
}

/// Parses a line of `bools.txt`, such as `RANDR reply 11:8,9,10 27:44`: the extension, the form, and the number and
/// offsets of each message.
fn of_line(
    line: &'static str,
) -> impl Iterator<Item = ((&'static str, &'static str, u8), Vec<usize>)> {
    let mut words = line.split(' ');
    let (extension, form) = (words.next(), words.next());
    words.filter_map(move |word| {
        let (number, offsets) = word.split_once(':')?;
        let offsets = offsets.split(',').map(|at| at.parse().ok());
        let key = (extension?, form?, number.parse().ok()?);
        Some((key, offsets.collect::<Option<_>>()?))
    })
}

#[cfg(test)]
mod tests {
    use super::{of_line, restore};
    use crate::Value;

    #[test]
    fn other_values_than_0_and_1_are_numbers() {
        let fields = |first, second| {
            Value::fields([
                ("grab_window", Value::Number(9)),
                ("restrict_to_sink", first),
                ("inner", Value::fields([("push", second)])),
            ])
        };
        let mut read = fields(Value::Bool(true), Value::Bool(true));
        let mut bytes = [0; 20];
        (bytes[10], bytes[11]) = (255, 1);
        restore(&mut read, &bytes, 4, ("-", "request", 105));
        assert_eq!(read, fields(Value::Number(255), Value::Bool(true)));
        // With a BIG-REQUESTS length.
        let mut read = fields(Value::Bool(true), Value::Bool(true));
        (bytes[14], bytes[15]) = (2, 3);
        restore(&mut read, &bytes, 8, ("-", "request", 105));
        assert_eq!(read, fields(Value::Number(2), Value::Number(3)));
    }

    #[test]
    fn every_line_parses() {
        let lines = include_str!("bools.txt").lines();
        for line in lines.filter(|line| !line.starts_with('#')) {
            assert_eq!(of_line(line).count(), line.split(' ').count() - 2, "{line}");
        }
    }
}
