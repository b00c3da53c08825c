//! Names of keys by key code. They come from the keyboard map that the server sent to any client of the trace
//! (GetKeyboardMapping, XkbGetMap). Most clients request the map when they start.
//!
//! A key is named after its first group's keysym without modifiers, or with Shift if Shift is held. Other modifiers
//! precede the name, as in `Ctrl+O`. The last reply is used, also after a MappingNotify: clients that depend on the
//! keyboard request the map again then.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Body, Message, Reply, SequenceNumber, Symbol, keysym_name};
use x11prof_trace::ConnectionId;

use crate::pipeline::MessageContext;

/// Maximum number of GetKeyboardMapping requests whose reply is pending.
const MAX_PENDING: usize = 1024;
/// The length of the fixed part of XkbGetMap's reply, in bytes.
const MAP: usize = 40;
/// Bits of the field `present` of XkbGetMap's reply (XKB protocol, SETofMAPPART).
const KEY_TYPES: u16 = 1;
const KEY_SYMS: u16 = 2;
/// The bit of Shift among the held modifiers (protocol, SETofKEYMASK).
const SHIFT: u8 = 1;
/// The bits of Control, Mod1 and Mod4, with their names in the usual keyboard map. Other modifiers have no name here,
/// because they select another keysym.
const MODIFIERS: [(u8, &str); 3] = [(4, "Ctrl"), (8, "Alt"), (64, "Super")];

/// The names of keys, by key code.
#[derive(Debug, Default)]
pub(crate) struct Keyboard {
    /// The names of each key, without and with Shift.
    names: FxHashMap<u8, [Option<Symbol>; 2]>,
    /// The first key code that each pending GetKeyboardMapping requested.
    pending: FxHashMap<(ConnectionId, SequenceNumber), u8>,
}

impl Keyboard {
    /// Stores the keyboard map if the next message contains one.
    pub(crate) fn observe(&mut self, seen: &MessageContext<'_>) {
        match seen.message {
            Message::Request(request) if request.name.as_str() == "GetKeyboardMapping" => {
                if let Some(first) = Body::of(request).u8(0)
                    && self.pending.len() < MAX_PENDING
                {
                    let question = (seen.connection, request.sequence);
                    self.pending.insert(question, first);
                }
            }
            Message::Reply(reply) => match reply.request.map(|name| name.as_str()) {
                Some("GetKeyboardMapping") => {
                    let question = (seen.connection, reply.sequence);
                    if let Some(first) = self.pending.remove(&question) {
                        self.mapping(reply, first);
                    }
                }
                Some("XKEYBOARD:GetMap") => {
                    self.map(reply);
                }
                _ => {}
            },
            Message::Error(error) => {
                self.pending.remove(&(seen.connection, error.sequence));
            }
            _ => {}
        }
    }

    /// The name of the key with this code, without Shift or with Shift (`shifted`); `None` if the trace does not
    /// contain the name.
    pub(crate) fn key(&self, code: u32, shifted: bool) -> Option<Symbol> {
        let [alone, with_shift] = self.names.get(&u8::try_from(code).ok()?)?;
        with_shift.filter(|_| shifted).or(*alone)
    }

    /// Returns the name of the key with the held modifiers, such as `o`, `O` and `Ctrl+Shift+O`; the code of the key if
    /// the trace does not contain the name.
    pub(crate) fn pressed(&self, code: u32, held: u8) -> String {
        let [plain, shifted] = [false, true].map(|shifted| self.key(code, shifted));
        let unknown = || format!("keycode {code}");
        let plain = plain.map_or_else(unknown, |name| name.to_string());
        if self.is_modifier(code) {
            return plain;
        }
        let names = MODIFIERS.into_iter();
        let names = names.filter(|(bit, _)| held & bit != 0);
        let mut held_names: Vec<&str> = names.map(|(_, name)| name).collect();
        let is_shifted = held & SHIFT != 0;
        match shifted.filter(|name| held_names.is_empty() && name.as_str() != plain) {
            Some(name) if is_shifted => return name.to_string(),
            _ if is_shifted => held_names.push("Shift"),
            _ if held_names.is_empty() => return plain,
            _ => {}
        }
        // As on the key, and as in menus.
        let key = match plain.len() {
            1 => plain.to_ascii_uppercase(),
            _ => plain,
        };
        format!("{}+{key}", held_names.join("+"))
    }

    /// True if the key with this code is a modifier key.
    pub(crate) fn is_modifier(&self, code: u32) -> bool {
        let name = self.key(code, false).map_or("", Symbol::as_str);
        let sided = name.strip_suffix("_L").or(name.strip_suffix("_R"));
        matches!(
            sided,
            Some("Shift" | "Control" | "Alt" | "Meta" | "Super" | "Hyper")
        ) || matches!(name, "ISO_Level3_Shift" | "Mode_switch")
    }

    /// Stores the keysyms in a reply to GetKeyboardMapping: the same number for each key from `first` on.
    fn mapping(&mut self, reply: &Reply<'_>, first: u8) {
        let per_key = reply.bytes.get(1).copied().map_or(0, usize::from);
        let keysyms = reply.bytes.get(32..).unwrap_or(&[]);
        if per_key > 0 {
            for (code, key) in (first..=u8::MAX).zip(keysyms.chunks_exact(4 * per_key)) {
                self.learn(code, [0, 4].map(|at| reply.order.u32(key, at)));
            }
        }
    }

    /// Stores the keysyms in a reply to XkbGetMap, which has the key types, then the keysyms of each key (XKB protocol,
    /// XkbGetMap).
    fn map(&mut self, reply: &Reply<'_>) -> Option<()> {
        let byte = |at: usize| reply.bytes.get(at).copied().map(usize::from);
        let short = |at| reply.order.u16(reply.bytes, at);
        let present = short(12)?;
        let (types, first, keys) = (byte(15)?, reply.bytes.get(17)?, byte(20)?);
        if present & KEY_SYMS == 0 {
            return None;
        }
        let mut at = MAP;
        if present & KEY_TYPES != 0 {
            for _ in 0..types {
                // Entries of 8 bytes, and 4 more for each if modifiers are preserved.
                let (entries, preserves) = (byte(at + 5)?, byte(at + 6)? != 0);
                at += 8 + entries * if preserves { 12 } else { 8 };
            }
        }
        for code in (*first..=u8::MAX).take(keys) {
            let count = usize::from(short(at + 6)?);
            let keysym = |n: usize| {
                let known = n < count;
                known.then(|| reply.order.u32(reply.bytes, at + 8 + 4 * n))
            };
            self.learn(code, [0, 1].map(|n| keysym(n).flatten()));
            at += 8 + 4 * count;
        }
        Some(())
    }

    /// Stores the first two keysyms of a key. A missing keysym, or NoSymbol, has no name.
    fn learn(&mut self, code: u8, keysyms: [Option<u32>; 2]) {
        let names = keysyms.map(|keysym| Some(Symbol::new(&keysym.and_then(keysym_name)?)));
        self.names.insert(code, names);
    }
}

#[cfg(test)]
mod tests {
    use super::Keyboard;

    #[test]
    fn modifiers_precede_the_key() {
        let mut keyboard = Keyboard::default();
        let (shift, control, mod1, num_lock, mod4) = (1, 4, 8, 16, 64);
        for (code, keysyms) in [
            (32, [0x6F, 0x4F]),
            (113, [0xFF51, 0xFF51]),
            (23, [0xFF09, 0xFE20]),
            (37, [0xFFE3, 0xFFE3]),
        ] {
            keyboard.learn(code, keysyms.map(Some));
        }
        for (code, held, name) in [
            (32, 0, "o"),
            (32, shift, "O"),
            (32, num_lock, "o"),
            (32, control | num_lock, "Ctrl+O"),
            (32, control | mod1 | shift, "Ctrl+Alt+Shift+O"),
            (32, mod4, "Super+O"),
            (113, shift, "Shift+Left"),
            (23, shift, "ISO_Left_Tab"),
            (23, control | shift, "Ctrl+Shift+Tab"),
            (37, control, "Control_L"),
            (99, control, "Ctrl+keycode 99"),
        ] {
            assert_eq!(keyboard.pressed(code, held), name);
        }
    }
}
