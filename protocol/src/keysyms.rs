//! Names of keysyms (X11 protocol, appendix A; keysymdef.h). The name of a printable keysym is its character.

use std::sync::LazyLock;

const TABLE: &str = include_str!("keysyms.txt");

/// The keysyms of the table in ascending order, each with its names.
static NAMED: LazyLock<Vec<(u32, Vec<&str>)>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &'static str| {
        let (keysym, names) = line.split_once(' ')?;
        let names = names.split(' ').collect();
        Some((u32::from_str_radix(keysym, 16).ok()?, names))
    };
    lines.filter_map(entry).collect()
});

/// The name of a keysym; `None` if the table has no name for it.
pub fn keysym_name(keysym: u32) -> Option<String> {
    match keysym {
        0x30..=0x39 | 0x41..=0x5A | 0x61..=0x7A | 0xA1..=0xFF => {
            char::from_u32(keysym).map(String::from)
        }
        0xFFBE..=0xFFE0 => Some(format!("F{}", keysym - 0xFFBD)),
        0xFFB0..=0xFFB9 => Some(format!("KP_{}", keysym - 0xFFB0)),
        // Unicode characters without a separate keysym.
        0x0100_0100..=0x0110_FFFF => char::from_u32(keysym - 0x0100_0000)
            .filter(|character| !character.is_control() && !character.is_whitespace())
            .map(String::from),
        _ => {
            let at = NAMED.binary_search_by_key(&keysym, |(known, _)| *known);
            let (_, names) = &NAMED[at.ok()?];
            names.first().map(|name| (*name).to_owned())
        }
    }
}

/// The keysym with this name, or of a single character; `None` if there is none. Case matters only if both cases are
/// keysyms.
pub fn keysym_named(name: &str) -> Option<u32> {
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return keysym_of(character);
    }
    let is_name = |known: &&str| known.eq_ignore_ascii_case(name);
    let mut known = NAMED.iter();
    if let Some((keysym, _)) = known.find(|(_, names)| names.iter().any(is_name)) {
        return Some(*keysym);
    }
    let number = |prefix: &str| {
        let start = name.get(..prefix.len())?;
        let digits = start
            .eq_ignore_ascii_case(prefix)
            .then(|| &name[prefix.len()..])?;
        digits.parse::<u32>().ok()
    };
    match (number("F"), number("KP_")) {
        (Some(n @ 1..=35), _) => Some(0xFFBD + n),
        (_, Some(n @ 0..=9)) => Some(0xFFB0 + n),
        _ => None,
    }
}

/// The keysym that produces a character (protocol, "KEYSYM Encoding"); `None` if there is none. A line feed is Return.
pub fn keysym_of(character: char) -> Option<u32> {
    match character {
        '\n' => Some(0xFF0D),
        '\t' => Some(0xFF09),
        ' '..='~' | '\u{A1}'..='\u{FF}' => Some(character.into()),
        _ if character.is_control() => None,
        _ => Some(0x0100_0000 + u32::from(character)),
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMED, TABLE, keysym_name, keysym_named};

    #[test]
    fn keysyms_have_their_keyboard_names() {
        for (keysym, name) in [
            (0x61, Some("a")),
            (0x39, Some("9")),
            (0x20, Some("space")),
            (0x7E, Some("asciitilde")),
            (0xE9, Some("é")),
            (0x0100_20AC, Some("€")),
            (0xFF0D, Some("Return")),
            (0xFFBE, Some("F1")),
            (0xFFC9, Some("F12")),
            (0xFFB7, Some("KP_7")),
            (0xFFFF, Some("Delete")),
            (0, None),
            (0x0100_D800, None),
            (0xFF00, None),
        ] {
            assert_eq!(keysym_name(keysym).as_deref(), name, "{keysym:#x}");
            if let Some(name) = name {
                assert_eq!(keysym_named(name), Some(keysym), "{name}");
            }
        }
    }

    #[test]
    fn key_names_ignore_case() {
        for (name, keysym) in [
            ("page_up", Some(0xFF55)),
            ("return", Some(0xFF0D)),
            ("f12", Some(0xFFC9)),
            ("A", Some(0x41)),
            ("F36", None),
            ("F0", None),
            ("nothing", None),
        ] {
            assert_eq!(keysym_named(name), keysym, "{name}");
        }
    }

    #[test]
    fn table_is_sorted_and_whole() {
        assert!(NAMED.is_sorted_by_key(|(keysym, _)| *keysym));
        assert_eq!(NAMED.len() + 1, TABLE.lines().count());
    }
}
