//! A key with modifiers, such as `F12` or `ctrl+alt+m`.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

use crate::keysyms::{keysym_name, keysym_named};

/// A key, and the modifiers that are pressed at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    /// The keysym of the key.
    pub keysym: u32,
    /// The mask of the modifiers (protocol, SETofKEYMASK). Alt is Mod1 and Super is Mod4, as servers define by default.
    pub modifiers: u16,
}

/// The error for a text that does not name a key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is no key: F1 to F35, Pause, Page_Up, Return, another name of X11, or a character, after ctrl+, alt+, shift+ or \
     super+ where wanted"
)]
pub struct ChordError(String);

impl Chord {
    /// The modifiers by name, in the order in which they are written, each with its bit and the keysym of the left key.
    pub const MODIFIERS: [(&str, u16, u32); 4] = [
        ("ctrl", 4, 0xFFE3),
        ("alt", 8, 0xFFE9),
        ("super", 64, 0xFFEB),
        ("shift", 1, 0xFFE1),
    ];

    /// Keysyms of keys that write no text: from BackSpace to Escape, the cursor keys, F1 to F35 and Delete (the protocol,
    /// appendix A). Modifiers are no such keys: Shift is a part of the text.
    const COMMANDS: [RangeInclusive<u32>; 4] = [
        0xFF08..=0xFF1B,
        0xFF50..=0xFF6B,
        0xFFBE..=0xFFE0,
        0xFFFF..=0xFFFF,
    ];
    /// The modifiers of shortcuts: Ctrl, Alt and Super (the protocol, SETofKEYMASK).
    const SHORTCUT: u16 = 4 | 8 | 64;

    /// Returns true for the name of a shortcut, or of a key such as Return, F5 or Left; false for a key that writes text
    /// and for an unknown name.
    pub fn is_command(name: &str) -> bool {
        name.parse().is_ok_and(|Chord { keysym, modifiers }| {
            let mut commands = Chord::COMMANDS.iter();
            modifiers & Chord::SHORTCUT != 0 || commands.any(|keys| keys.contains(&keysym))
        })
    }

    /// Splits a text such as `ctrl+shift+1` into the mask of its modifiers and the name of the key.
    ///
    /// # Errors
    /// Fails if a word is not a modifier.
    pub fn split(text: &str) -> Result<(u16, &str), ChordError> {
        let mut modifiers = 0;
        let mut rest = text;
        // The last `+` may be the key itself.
        while let Some((word, after)) = rest
            .split_once('+')
            .filter(|(word, after)| !word.is_empty() && !after.is_empty())
        {
            let mut known = Chord::MODIFIERS.iter();
            let known = known.find(|(name, ..)| name.eq_ignore_ascii_case(word));
            modifiers |= known.ok_or_else(|| ChordError(text.to_owned()))?.1;
            rest = after;
        }
        Ok((modifiers, rest))
    }

    /// The names of the modifiers in a mask, each followed by `+`.
    pub fn prefix(modifiers: u16) -> String {
        let held = Chord::MODIFIERS
            .iter()
            .filter(|(_, bit, _)| modifiers & bit != 0);
        held.map(|(name, ..)| format!("{name}+")).collect()
    }
}

impl FromStr for Chord {
    type Err = ChordError;

    fn from_str(text: &str) -> Result<Chord, ChordError> {
        let (modifiers, key) = Chord::split(text)?;
        let keysym = keysym_named(key).ok_or_else(|| ChordError(text.to_owned()))?;
        Ok(Chord { keysym, modifiers })
    }
}

impl Display for Chord {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let key = keysym_name(self.keysym).unwrap_or_else(|| format!("{:#x}", self.keysym));
        write!(f, "{}{key}", Chord::prefix(self.modifiers))
    }
}

#[cfg(test)]
mod tests {
    use super::Chord;

    #[test]
    fn key_names_and_modifiers_are_parsed() {
        let key = |text: &str| {
            let key = text.parse::<Chord>().ok()?;
            Some((key.keysym, key.modifiers, key.to_string()))
        };
        let is = |keysym, modifiers, text: &str| Some((keysym, modifiers, text.to_owned()));
        assert_eq!(key("F12"), is(0xFFC9, 0, "F12"));
        assert_eq!(key("pause"), is(0xFF13, 0, "Pause"));
        assert_eq!(key("Alt+Ctrl+m"), is(0x6D, 12, "ctrl+alt+m"));
        assert_eq!(key("ctrl++"), is(0x2B, 4, "ctrl+plus"));
        for wrong in ["", "F36", "F0", "hyper+m", "ctrl+", "no key"] {
            assert_eq!(key(wrong), None, "{wrong}");
        }
    }
}
