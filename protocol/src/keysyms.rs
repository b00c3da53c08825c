//! Names of keysyms (X11 protocol, appendix A; keysymdef.h): the character of a printable keysym, the name of others.

/// X11's names of punctuation, from the space to the slash.
const PUNCTUATION: [(u32, &str); 33] = [
    (0x20, "space"),
    (0x21, "exclam"),
    (0x22, "quotedbl"),
    (0x23, "numbersign"),
    (0x24, "dollar"),
    (0x25, "percent"),
    (0x26, "ampersand"),
    (0x27, "apostrophe"),
    (0x28, "parenleft"),
    (0x29, "parenright"),
    (0x2A, "asterisk"),
    (0x2B, "plus"),
    (0x2C, "comma"),
    (0x2D, "minus"),
    (0x2E, "period"),
    (0x2F, "slash"),
    (0x3A, "colon"),
    (0x3B, "semicolon"),
    (0x3C, "less"),
    (0x3D, "equal"),
    (0x3E, "greater"),
    (0x3F, "question"),
    (0x40, "at"),
    (0x5B, "bracketleft"),
    (0x5C, "backslash"),
    (0x5D, "bracketright"),
    (0x5E, "asciicircum"),
    (0x5F, "underscore"),
    (0x60, "grave"),
    (0x7B, "braceleft"),
    (0x7C, "bar"),
    (0x7D, "braceright"),
    (0x7E, "asciitilde"),
];

/// Keys that produce no character.
const FUNCTIONS: [(u32, &str); 54] = [
    (0xFE03, "ISO_Level3_Shift"),
    (0xFE20, "ISO_Left_Tab"),
    (0xFF08, "BackSpace"),
    (0xFF09, "Tab"),
    (0xFF0D, "Return"),
    (0xFF13, "Pause"),
    (0xFF14, "Scroll_Lock"),
    (0xFF1B, "Escape"),
    (0xFF20, "Multi_key"),
    (0xFF50, "Home"),
    (0xFF51, "Left"),
    (0xFF52, "Up"),
    (0xFF53, "Right"),
    (0xFF54, "Down"),
    (0xFF55, "Prior"),
    (0xFF56, "Next"),
    (0xFF57, "End"),
    (0xFF61, "Print"),
    (0xFF63, "Insert"),
    (0xFF67, "Menu"),
    (0xFF69, "Cancel"),
    (0xFF6A, "Help"),
    (0xFF6B, "Break"),
    (0xFF7E, "Mode_switch"),
    (0xFF7F, "Num_Lock"),
    (0xFF8D, "KP_Enter"),
    (0xFF95, "KP_Home"),
    (0xFF96, "KP_Left"),
    (0xFF97, "KP_Up"),
    (0xFF98, "KP_Right"),
    (0xFF99, "KP_Down"),
    (0xFF9A, "KP_Prior"),
    (0xFF9B, "KP_Next"),
    (0xFF9C, "KP_End"),
    (0xFF9D, "KP_Begin"),
    (0xFF9E, "KP_Insert"),
    (0xFF9F, "KP_Delete"),
    (0xFFAA, "KP_Multiply"),
    (0xFFAB, "KP_Add"),
    (0xFFAD, "KP_Subtract"),
    (0xFFAE, "KP_Decimal"),
    (0xFFAF, "KP_Divide"),
    (0xFFE1, "Shift_L"),
    (0xFFE2, "Shift_R"),
    (0xFFE3, "Control_L"),
    (0xFFE4, "Control_R"),
    (0xFFE5, "Caps_Lock"),
    (0xFFE7, "Meta_L"),
    (0xFFE8, "Meta_R"),
    (0xFFE9, "Alt_L"),
    (0xFFEA, "Alt_R"),
    (0xFFEB, "Super_L"),
    (0xFFEC, "Super_R"),
    (0xFFFF, "Delete"),
];

/// Common key names that differ from X11's.
const OTHER_NAMES: [(u32, &str); 5] = [
    (0xFF0D, "Enter"),
    (0xFF1B, "Esc"),
    (0xFF55, "Page_Up"),
    (0xFF56, "Page_Down"),
    (0xFFE3, "Ctrl"),
];

/// The name of a keysym; `None` if it has no name in the table.
pub fn keysym_name(keysym: u32) -> Option<String> {
    let of = |names: &[(u32, &str)]| {
        let at = names.binary_search_by_key(&keysym, |(known, _)| *known);
        at.ok().map(|at| names[at].1.to_owned())
    };
    match keysym {
        0x30..=0x39 | 0x41..=0x5A | 0x61..=0x7A | 0xA1..=0xFF => {
            char::from_u32(keysym).map(String::from)
        }
        0x20..=0x7E => of(&PUNCTUATION),
        0xFFBE..=0xFFE0 => Some(format!("F{}", keysym - 0xFFBD)),
        0xFFB0..=0xFFB9 => Some(format!("KP_{}", keysym - 0xFFB0)),
        // Unicode characters without a separate keysym.
        0x0100_0100..=0x0110_FFFF => char::from_u32(keysym - 0x0100_0000)
            .filter(|character| !character.is_control() && !character.is_whitespace())
            .map(String::from),
        _ => of(&FUNCTIONS),
    }
}

/// The keysym of a name or of a single character. Case matters only if both cases are keysyms.
pub fn keysym_named(name: &str) -> Option<u32> {
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return keysym_of(character);
    }
    let is_name = |(_, known): &&(u32, &str)| known.eq_ignore_ascii_case(name);
    let mut known = PUNCTUATION.iter().chain(&FUNCTIONS).chain(&OTHER_NAMES);
    if let Some((keysym, _)) = known.find(is_name) {
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

/// The keysym that produces a character (protocol, "KEYSYM Encoding"). A line feed is Return.
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
    use super::{FUNCTIONS, PUNCTUATION, keysym_name, keysym_named};

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
    fn tables_are_sorted() {
        assert!(PUNCTUATION.is_sorted() && FUNCTIONS.is_sorted());
    }
}
