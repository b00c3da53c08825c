//! The names of atoms: the predefined ones, and those that the trace shows being interned or
//! named. Atoms are the server's, shared by all clients.

use std::collections::HashMap;

use x11prof_protocol::{Message, Request, SequenceNumber, Symbol};
use x11prof_session::predefined_atom;
use x11prof_trace::ConnectionId;

use crate::body::Body;
use crate::pipeline::Seen;

/// Questions about atoms kept until their answers come.
const MOST_PENDING: usize = 1 << 16;
/// Names kept at most.
const MOST_NAMES: usize = 1 << 16;

/// A question that is not answered yet.
#[derive(Debug)]
enum Asked {
    /// InternAtom of this name.
    Intern(Symbol),
    /// GetAtomName of this atom.
    Name(u32),
}

/// The atoms known so far.
#[derive(Debug, Default)]
pub(crate) struct Atoms {
    names: HashMap<u32, Symbol>,
    pending: HashMap<(ConnectionId, SequenceNumber), Asked>,
}

impl Atoms {
    /// Learns from the next message.
    pub(crate) fn observe(&mut self, seen: &Seen<'_>) {
        match seen.message {
            Message::Request(request) => {
                if let Some(asked) = asked(request)
                    && self.pending.len() < MOST_PENDING
                {
                    self.pending
                        .insert((seen.connection, request.sequence), asked);
                }
            }
            Message::Reply(reply) => {
                let Some(asked) = self.pending.remove(&(seen.connection, reply.sequence)) else {
                    return;
                };
                let learnt = match asked {
                    Asked::Intern(name) => reply.order.u32(reply.bytes, 8).map(|atom| (atom, name)),
                    Asked::Name(atom) => {
                        let len = reply.order.u16(reply.bytes, 8).unwrap_or(0);
                        let name = reply.bytes.get(32..32 + usize::from(len));
                        name.map(|name| (atom, Symbol::new(&String::from_utf8_lossy(name))))
                    }
                };
                // Atom 0 is None: only_if_exists found nothing.
                if let Some((atom, name)) = learnt
                    && atom != 0
                    && self.names.len() < MOST_NAMES
                {
                    self.names.insert(atom, name);
                }
            }
            Message::Error(error) => {
                self.pending.remove(&(seen.connection, error.sequence));
            }
            _ => {}
        }
    }

    /// The name of `atom`, or its number where the trace does not tell.
    pub(crate) fn name(&self, atom: u32) -> Symbol {
        let known = self.names.get(&atom).copied();
        known
            .or_else(|| predefined_atom(atom).map(Symbol::new))
            .unwrap_or_else(|| Symbol::new(&format!("atom {atom}")))
    }

    /// The property, selection or message type that `request` is about, or the name that it
    /// interns.
    pub(crate) fn of(&self, request: &Request<'_>) -> Option<Symbol> {
        let body = Body::of(request);
        let atom = match request.name.as_str() {
            "InternAtom" => return interned(&body),
            "GetAtomName" | "GetSelectionOwner" => body.u32(0),
            "ChangeProperty" | "DeleteProperty" | "GetProperty" | "SetSelectionOwner"
            | "ConvertSelection" => body.u32(4),
            "XFIXES:SelectSelectionInput" => body.u32(4),
            // The event begins at 8; ClientMessage is 33, and its type stands 8 bytes on.
            "SendEvent" if body.u8(8).map(|code| code & 0x7F) == Some(33) => body.u32(16),
            _ => None,
        };
        atom.map(|atom| self.name(atom))
    }
}

fn asked(request: &Request<'_>) -> Option<Asked> {
    let body = Body::of(request);
    match request.name.as_str() {
        "InternAtom" => interned(&body).map(Asked::Intern),
        "GetAtomName" => body.u32(0).map(Asked::Name),
        _ => None,
    }
}

fn interned(body: &Body<'_>) -> Option<Symbol> {
    let name = body.bytes(4, usize::from(body.u16(0)?))?;
    Some(Symbol::new(&String::from_utf8_lossy(name)))
}
