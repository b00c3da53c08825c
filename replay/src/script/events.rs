//! Identifies events by kind and window, to pair recorded events with events of the display.

use x11prof_protocol::{ByteOrder, Extensions, Symbol};

/// Codes of events (protocol, appendix B).
const KEY_PRESS: u8 = 2;
const LEAVE_NOTIFY: u8 = 8;
const KEYMAP_NOTIFY: u8 = 11;
const PROPERTY_NOTIFY: u8 = 28;
const SELECTION_CLEAR: u8 = 29;
const SELECTION_NOTIFY: u8 = 31;
const MAPPING_NOTIFY: u8 = 34;
const GENERIC_EVENT: u8 = 35;
/// The first event code of extensions.
const FIRST_EXTENSION: u8 = 64;

/// Identifies an event: its kind, and the window or other resource that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EventKey {
    /// The major opcode of the event's extension; 0 for the core protocol.
    pub(crate) extension: u8,
    /// The core event's code, the event's number within its extension, or 256 plus the type of a generic event.
    pub(crate) code: u32,
    /// The id of the event's window or other resource; 0 if there is none.
    pub(crate) id: u32,
}

/// An event that the recorded client had received before a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AwaitedEvent {
    pub(crate) name: Symbol,
    pub(crate) key: EventKey,
    /// The server time in the event, in milliseconds; `None` if the event has none.
    pub(crate) time: Option<u32>,
}

/// Identifies an event; `bytes` has at least 32 bytes. `None` for an event of an unknown extension.
pub(crate) fn key(bytes: &[u8], order: ByteOrder, extensions: &Extensions) -> Option<EventKey> {
    let code = bytes.first()? & 0x7F;
    let id = |at| order.u32(bytes, at).unwrap_or(0);
    Some(match code {
        GENERIC_EVENT => EventKey {
            extension: *bytes.get(1)?,
            code: 256 + u32::from(order.u16(bytes, 8)?),
            id: 0,
        },
        FIRST_EXTENSION.. => {
            let of = extensions.by_event(code)?;
            EventKey {
                extension: of.major,
                code: u32::from(code - of.first_event),
                id: 0,
            }
        }
        _ => EventKey {
            extension: 0,
            code: code.into(),
            id: match code {
                KEY_PRESS..=LEAVE_NOTIFY => id(12),
                SELECTION_CLEAR..=SELECTION_NOTIFY => id(8),
                KEYMAP_NOTIFY | MAPPING_NOTIFY => 0,
                _ => id(4),
            },
        },
    })
}

/// Converts an extension event's code in the recording (with its SendEvent bit) to the display's code. `None` if the
/// extension is unknown or missing on the display. `recorded` and `here` are the extensions of the recording and of
/// the display.
pub(crate) fn event_code(code: u8, recorded: &Extensions, here: &Extensions) -> Option<u8> {
    let of = recorded.by_event(code & 0x7F)?;
    let first = here.by_name(of.name.as_str())?.first_event;
    Some((code - of.first_event).wrapping_add(first))
}

/// The server time of an event in milliseconds. `None` for events without a time, and for events of SendEvent requests.
pub(crate) fn time(bytes: &[u8], order: ByteOrder) -> Option<u32> {
    let code = *bytes.first()?;
    let at = match code {
        KEY_PRESS..=LEAVE_NOTIFY | SELECTION_CLEAR..=SELECTION_NOTIFY => 4,
        PROPERTY_NOTIFY | GENERIC_EVENT => 12,
        // SendEvent requests set the high bit of the code. Such an event contains the sender's time.
        _ => return None,
    };
    order.u32(bytes, at).filter(|time| *time != 0)
}

#[cfg(test)]
mod tests {
    use super::{EventKey, event_code, key, time};
    use x11prof_protocol::{ByteOrder, Extension, Extensions, Symbol};

    fn extensions(all: &[(&'static str, u8, u8)]) -> Extensions {
        let mut extensions = Extensions::new();
        for &(name, major, first_event) in all {
            extensions.insert(Extension {
                name: Symbol::new(name),
                major,
                first_event,
                first_error: 0,
            });
        }
        extensions
    }

    #[test]
    fn generic_events_may_have_any_type() {
        let mut event = [0; 32];
        event[..2].copy_from_slice(&[35, 131]);
        event[8..10].copy_from_slice(&[0xFF; 2]);
        let key = key(&event, ByteOrder::Little, &Extensions::new()).unwrap();
        assert_eq!((key.extension, key.code, key.id), (131, 65_791, 0));
    }

    #[test]
    fn extension_events_get_the_codes_of_the_display() {
        let recorded = extensions(&[
            ("SHAPE", 129, 64),
            ("MIT-SHM", 130, 65),
            ("DAMAGE", 143, 91),
        ]);
        let here = extensions(&[("MIT-SHM", 131, 66), ("SHAPE", 130, 65), ("XTEST", 132, 0)]);
        let code = |code| event_code(code, &recorded, &here);
        assert_eq!([code(65), code(65 | 0x80)], [Some(66), Some(66 | 0x80)]);
        assert_eq!([code(64), code(92)], [Some(65), None]);
    }

    #[test]
    fn events_are_distinguished_by_kind_and_window() {
        let extensions = extensions(&[("SHAPE", 129, 64), ("DAMAGE", 143, 91)]);
        let of = |bytes: &[u8; 32]| key(bytes, ByteOrder::Little, &extensions);
        let kind = |extension, code, id| {
            Some(EventKey {
                extension,
                code,
                id,
            })
        };
        let mut bytes = [0; 32];
        (bytes[0], bytes[4], bytes[8], bytes[12]) = (12, 7, 8, 9);
        assert_eq!(of(&bytes), kind(0, 12, 7));
        bytes[0] = 4 | 0x80;
        assert_eq!(of(&bytes), kind(0, 4, 9));
        bytes[0] = 31;
        assert_eq!(of(&bytes), kind(0, 31, 8));
        bytes[0] = 92;
        assert_eq!(of(&bytes), kind(143, 1, 0));
        (bytes[0], bytes[1]) = (35, 131);
        assert_eq!(of(&bytes), kind(131, 264, 0));
    }

    #[test]
    fn only_server_events_have_a_timestamp() {
        let mut bytes = [0; 32];
        (bytes[0], bytes[4], bytes[12]) = (28, 1, 2);
        assert_eq!(time(&bytes, ByteOrder::Little), Some(2));
        bytes[0] = 31;
        assert_eq!(time(&bytes, ByteOrder::Little), Some(1));
        bytes[0] = 31 | 0x80;
        assert_eq!(time(&bytes, ByteOrder::Little), None);
    }
}
