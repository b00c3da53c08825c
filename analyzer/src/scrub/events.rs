//! The parts of core events that are replaced, as delivered or inside SendEvent.

use x11prof_protocol::ByteOrder;
use x11prof_trace::ConnectionId;

use super::bytes::{from, split};
use super::keys::{KeyCodes, KeySource};

/// The event code of KeyPress (protocol, appendix "Encoding").
pub(super) const KEY_PRESS: u8 = 2;
/// The event code of KeyRelease.
pub(super) const KEY_RELEASE: u8 = 3;
const BUTTON_PRESS: u8 = 4;
const LEAVE_NOTIFY: u8 = 8;
pub(super) const KEYMAP_NOTIFY: u8 = 11;
const CLIENT_MESSAGE: u8 = 33;
pub(super) const LAST_CORE_EVENT: u8 = 34;

/// Replaces the key code or text in an event of 32 bytes to `client`, as delivered or inside SendEvent.
pub(super) fn core_event(
    keys: &mut KeyCodes,
    client: ConnectionId,
    source: KeySource,
    order: ByteOrder,
    bytes: &mut [u8],
) {
    match bytes.first().map(|code| code & 0x7F) {
        Some(code @ (KEY_PRESS | KEY_RELEASE)) => {
            key_event(keys, client, source, order, code == KEY_PRESS, bytes);
        }
        Some(BUTTON_PRESS..=LEAVE_NOTIFY) => without_modifiers(order, bytes),
        Some(KEYMAP_NOTIFY) => from(bytes, 1).fill(0),
        // Numeric data is kept, because window managers and programs need it to interact.
        Some(CLIENT_MESSAGE) if bytes.get(1) != Some(&32) => from(bytes, 12).fill(0),
        Some(4..=LAST_CORE_EVENT) => {}
        _ => without_contents(bytes),
    }
}

/// Zeroes an event except for its code and its sequence number. The byte between them may be a key code.
pub(super) fn without_contents(bytes: &mut [u8]) {
    split(from(bytes, 1), 1).0.fill(0);
    from(bytes, 4).fill(0);
}

/// Replaces the key code in a key event to `client`.
pub(super) fn key_event(
    keys: &mut KeyCodes,
    client: ConnectionId,
    source: KeySource,
    order: ByteOrder,
    is_press: bool,
    bytes: &mut [u8],
) {
    if let Some(key) = bytes.get_mut(1) {
        *key = keys.code(client, source, u32::from(*key), is_press);
    }
    without_modifiers(order, bytes);
}

/// Removes the modifiers and the keyboard's group from an event of a key, button or pointer. Buttons are kept.
pub(super) fn without_modifiers(order: ByteOrder, bytes: &mut [u8]) {
    modifiers(order, from(bytes, 28));
}

/// Removes modifiers and group from a mask.
pub(super) fn modifiers(order: ByteOrder, mask: &mut [u8]) {
    let Some([first, second]) = mask.first_chunk_mut() else {
        return;
    };
    let (low, high) = match order {
        ByteOrder::Little => (first, second),
        ByteOrder::Big => (second, first),
    };
    *low = 0;
    *high &= 0x1F;
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::ByteOrder;
    use x11prof_trace::ConnectionId;

    use super::{KeyCodes, KeySource, core_event};

    #[test]
    fn key_codes_in_sent_events_of_extensions_are_removed() {
        // DeviceKeyPress of key 38.
        let mut event = [7; 32];
        event[..4].copy_from_slice(&[67, 38, 1, 0]);
        let mut keys = KeyCodes::new(8);
        let (client, source) = (ConnectionId(1), KeySource::Sent);
        core_event(&mut keys, client, source, ByteOrder::Little, &mut event);
        assert_eq!(event[..4], [67, 0, 1, 0]);
        assert_eq!(event[4..], [0; 28]);
    }
}
