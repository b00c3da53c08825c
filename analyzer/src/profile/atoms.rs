//! Which atom a request is about, by its name.

use x11prof_protocol::{Body, Request, Symbol};
use x11prof_session::Session;

/// The name of `atom`, or its number where the trace does not tell.
pub(crate) fn name(session: &Session, atom: u32) -> Symbol {
    match session.atom_name(atom) {
        Some(name) => Symbol::new(name),
        None => Symbol::new(&format!("atom {atom}")),
    }
}

/// The property, selection or message type that `request` is about, or the name that it interns.
pub(crate) fn of(session: &Session, request: &Request<'_>) -> Option<Symbol> {
    let body = Body::of(request);
    let atom = match request.name.as_str() {
        "InternAtom" => {
            let name = body.bytes(4, usize::from(body.u16(0)?))?;
            return Some(Symbol::new(&String::from_utf8_lossy(name)));
        }
        "GetAtomName" | "GetSelectionOwner" => body.u32(0),
        "ChangeProperty" | "DeleteProperty" | "GetProperty" | "SetSelectionOwner"
        | "ConvertSelection" => body.u32(4),
        "XFIXES:SelectSelectionInput" => body.u32(4),
        // The event begins at 8; ClientMessage is 33, and its type stands 8 bytes on.
        "SendEvent" if body.u8(8).map(|code| code & 0x7F) == Some(33) => body.u32(16),
        _ => None,
    };
    atom.map(|atom| name(session, atom))
}
