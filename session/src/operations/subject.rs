//! The subject of a message: the atom that a request names, and the window of an event.
//!
//! Offsets are from the first byte after the header, as in the protocol's and the extensions' encodings.

use x11prof_protocol::{Body, Event, Request, Symbol};

use crate::resources::atoms::Atoms;

/// The name of `atom`; its number as text if the recording does not contain the name.
pub(crate) fn label(atoms: &Atoms, atom: u32) -> Symbol {
    match atoms.name(atom) {
        Some(name) => Symbol::new(name),
        None => Symbol::new(&format!("atom {atom}")),
    }
}

/// The property, selection or message type that `request` names, or the atom name that it interns; `None` for other
/// requests.
pub(crate) fn atom(atoms: &Atoms, request: &Request<'_>) -> Option<Symbol> {
    /// The code of ClientMessage. The event is at offset 8 of SendEvent's body, and its type atom is at offset 8 of the
    /// event.
    const CLIENT_MESSAGE: u8 = 33;
    let body = Body::of(request);
    let atom = match request.name.as_str() {
        "InternAtom" => {
            let name = body.bytes(4, usize::from(body.u16(0)?))?;
            return Some(Symbol::new(&String::from_utf8_lossy(name)));
        }
        "GetAtomName" | "GetSelectionOwner" => body.u32(0),
        "ChangeProperty"
        | "DeleteProperty"
        | "GetProperty"
        | "SetSelectionOwner"
        | "ConvertSelection"
        | "XFIXES:SelectSelectionInput" => body.u32(4),
        "SendEvent" if body.u8(8).map(|code| code & 0x7F) == Some(CLIENT_MESSAGE) => body.u32(16),
        _ => None,
    };
    atom.map(|atom| label(atoms, atom))
}

/// The window that a core event was sent to; `None` for events without a window and for extension events.
pub fn event_window(event: &Event<'_>) -> Option<u32> {
    // Protocol, encoding of events: the window is the first word of the event. In selection events it follows the
    // time, in pointer and keyboard events the time and the root.
    let at = match event.code {
        2..=8 => 12,
        9..=10 | 12..=28 | 32..=33 => 4,
        29..=31 => 8,
        _ => return None,
    };
    event.order.u32(event.bytes, at)
}
