//! Names of keys for marks: `F12`, `Pause`, `ctrl+alt+m`.

use std::str::FromStr;

use thiserror::Error;

/// A key with modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkKey {
    pub(super) keysym: u32,
    pub(super) modifiers: u16,
    text: String,
}

/// A text that names no key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is no key: F1 to F35, Pause, Print, Scroll_Lock, Menu, Insert, Home, End, Page_Up, Page_Down, a letter or a \
     digit, after ctrl+, alt+, shift+ or super+ where wanted"
)]
pub struct MarkKeyError(String);

/// Keys that are no characters, with their keysyms (protocol, appendix "KEYSYM Encoding").
const NAMED: [(&str, u32); 9] = [
    ("pause", 0xff13),
    ("print", 0xff61),
    ("scroll_lock", 0xff14),
    ("menu", 0xff67),
    ("insert", 0xff63),
    ("home", 0xff50),
    ("end", 0xff57),
    ("page_up", 0xff55),
    ("page_down", 0xff56),
];
/// The keysym of F1.
const F1: u32 = 0xffbe;
/// Bits of the modifiers (protocol, SETofKEYMASK); Alt and Super as servers have them by default.
const MODIFIERS: [(&str, u16); 4] = [("shift", 1), ("ctrl", 4), ("alt", 8), ("super", 64)];

impl FromStr for MarkKey {
    type Err = MarkKeyError;

    fn from_str(text: &str) -> Result<MarkKey, MarkKeyError> {
        let no = || MarkKeyError(text.to_owned());
        let lower = text.to_ascii_lowercase();
        let mut words: Vec<&str> = lower.split('+').collect();
        let key = words.pop().ok_or_else(no)?;
        let mut modifiers = 0;
        for word in words {
            let known = MODIFIERS.iter().find(|(name, _)| *name == word);
            modifiers |= known.ok_or_else(no)?.1;
        }
        Ok(MarkKey {
            keysym: keysym(key).ok_or_else(no)?,
            modifiers,
            text: text.to_owned(),
        })
    }
}

impl std::fmt::Display for MarkKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

fn keysym(key: &str) -> Option<u32> {
    if let [byte @ (b'a'..=b'z' | b'0'..=b'9')] = key.as_bytes() {
        return Some(u32::from(*byte));
    }
    let number = key.strip_prefix('f').and_then(|n| n.parse::<u32>().ok());
    if let Some(number) = number {
        return (1..=35).contains(&number).then(|| F1 + number - 1);
    }
    let named = NAMED.iter().find(|(name, _)| *name == key);
    named.map(|(_, keysym)| *keysym)
}

#[cfg(test)]
mod tests {
    use super::MarkKey;

    #[test]
    fn keys_have_names_and_modifiers() {
        let key = |text: &str| {
            let key = text.parse::<MarkKey>().ok()?;
            Some((key.keysym, key.modifiers))
        };
        assert_eq!(key("F12"), Some((0xffc9, 0)));
        assert_eq!(key("Pause"), Some((0xff13, 0)));
        assert_eq!(key("Ctrl+Alt+m"), Some((0x6d, 12)));
        for wrong in ["", "F36", "F0", "hyper+m", "ctrl+", "é"] {
            assert_eq!(key(wrong), None, "{wrong}");
        }
    }
}
