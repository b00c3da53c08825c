//! Finds the key of the display's keyboard that produces a keysym.

use std::collections::HashMap;

use x11rb::connection::Connection;
use x11rb::protocol::xproto::ConnectionExt as _;

use super::connection::BoundedConnection;
use crate::DriveError;

/// For each keysym, a keycode that produces it, and whether Shift is needed.
#[derive(Debug, Default)]
pub(super) struct Keyboard(HashMap<u32, (u8, bool)>);

impl Keyboard {
    pub(super) fn ask(x: &BoundedConnection) -> Result<Keyboard, DriveError> {
        let lost = |error: &dyn std::fmt::Display| {
            DriveError::Display(format!("does not report its keyboard map: {error}"))
        };
        let (first, last) = (x.setup().min_keycode, x.setup().max_keycode);
        let count = last.saturating_sub(first).saturating_add(1);
        let reply = x
            .get_keyboard_mapping(first, count)
            .map_err(|error| lost(&error))?;
        let reply = reply.reply().map_err(|error| lost(&error))?;
        Ok(Keyboard::of(
            first,
            reply.keysyms_per_keycode,
            &reply.keysyms,
        ))
    }

    fn of(first: u8, per_key: u8, keysyms: &[u32]) -> Keyboard {
        let mut keys = HashMap::new();
        for (code, of) in (first..=u8::MAX).zip(keysyms.chunks(usize::from(per_key).max(1))) {
            // Only the key's first group is used: its keysyms without modifiers and with Shift.
            for (keysym, shift) in of.iter().take(2).zip([false, true]) {
                if *keysym != 0 {
                    keys.entry(*keysym).or_insert((code, shift));
                }
            }
            // A letter with a single keysym also types its capital letter with Shift (protocol, section 5).
            if let [letter, rest @ ..] = of
                && matches!(*letter, 0x61..=0x7A | 0xE0..=0xFE)
                && rest.first().is_none_or(|second| *second == 0)
            {
                keys.entry(*letter - 0x20).or_insert((code, true));
            }
        }
        Keyboard(keys)
    }

    /// The keycode that produces this keysym, and whether Shift is needed; `None` if no key produces the keysym.
    pub(super) fn key(&self, keysym: u32) -> Option<(u8, bool)> {
        self.0.get(&keysym).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Keyboard;

    #[test]
    fn keys_are_found_with_and_without_shift() {
        let keyboard = Keyboard::of(8, 2, &[0x61, 0x41, 0x62, 0, 0x31, 0x21, 0xFFE1, 0]);
        assert_eq!(keyboard.key(0x61), Some((8, false)));
        assert_eq!(keyboard.key(0x41), Some((8, true)));
        assert_eq!(keyboard.key(0x42), Some((9, true)));
        assert_eq!(keyboard.key(0x21), Some((10, true)));
        assert_eq!(keyboard.key(0xFFE1), Some((11, false)));
        assert_eq!(keyboard.key(0x63), None);
    }
}
