//! The messages that open requests between clients, and the messages that reply to them.
//!
//! Offsets follow the encodings. Event offsets start at the first byte of the event, request offsets at the first byte
//! after the header. A sent event is at offset 8 of SendEvent.

use x11prof_protocol::{Body, Event, Message, Request, Symbol};
use x11prof_session::Session;
use x11prof_trace::{ConnectionId, Timestamp};

use super::{Key, MAX_OPEN, OpenKind, OpenRequests, OpenStep, Transfer, client_of};
use crate::pipeline::message_context::MessageContext;

/// Maximum number of property payloads of input methods that are kept; the latest are kept, because each is read soon.
const MAX_PAYLOADS: usize = 64;
/// The bits of a ConfigureWindow that change the geometry. A window manager has to reply to them (ICCCM 4.1.5).
const GEOMETRY: u16 = 0xF;

/// A message of a client to a window.
struct ClientMessage<'a> {
    window: u32,
    kind: &'a str,
    /// The format of the data: 8 or 32 bits.
    format: u8,
    data: [u32; 4],
    first_byte: u8,
}

impl ClientMessage<'_> {
    /// The name of the protocol of a WM_PROTOCOLS message.
    fn protocol<'a>(&self, session: &'a Session) -> Option<&'a str> {
        let is_protocol = self.kind == "WM_PROTOCOLS" || self.kind == "_NET_WM_PING";
        session.atom_name(self.data[0]).filter(|_| is_protocol)
    }
}

fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

fn key(kind: OpenKind, window: u32, detail: u64) -> Key {
    Key {
        kind,
        window,
        detail,
    }
}

/// The opcode of the reply to a message from a client to its input method (XIM, appendix D); `None` if the message has
/// no reply.
fn answer_of(opcode: u8) -> Option<u8> {
    match opcode {
        // XIM_FORWARD_EVENT and XIM_SYNC: XIM_SYNC_REPLY.
        60 | 61 => Some(62),
        // Requests whose reply has the next number: from XIM_CONNECT to XIM_RESET_IC.
        1 | 3 | 30 | 32 | 38 | 40 | 42 | 44 | 50 | 52 | 54 | 56 | 64 => Some(opcode + 1),
        _ => None,
    }
}

/// True if the input method's message `opcode` completes a message whose reply has the opcode `expected`.
fn answers(opcode: u8, expected: u8) -> bool {
    // XIM_ERROR; a key that is returned (XIM_FORWARD_EVENT) or becomes text (XIM_COMMIT).
    opcode == expected || opcode == 20 || expected == 62 && matches!(opcode, 60 | 63)
}

impl OpenRequests {
    /// Processes the next message of a pass, which may open a request or reply to one.
    pub(crate) fn message(&mut self, seen: &MessageContext<'_>) {
        match seen.message {
            Message::Request(request) => self.request(seen, request),
            Message::Event(event) => self.event(seen, event),
            _ => {}
        }
    }

    fn request(&mut self, seen: &MessageContext<'_>, request: &Request<'_>) {
        let (time, client) = (seen.time, seen.connection);
        let body = Body::of(request);
        let word = |at| body.u32(at).unwrap_or(0);
        let window = word(0);
        // The core's opcodes: protocol, appendix B.
        match request.major {
            // MapWindow or ConfigureWindow of another client's window: the window manager does what the client
            // requested.
            8 | 12 => {
                let kinds = [OpenKind::Map, OpenKind::Configure];
                let kind = kinds[usize::from(request.major == 12)];
                self.managed(time, client, kind, window);
                if self.changed.len() < MAX_OPEN || self.changed.contains_key(&window) {
                    self.changed.insert(window, client);
                }
            }
            18 => self.property(seen, request, window, word(4), &body),
            19 => self.deleted(seen, window, word(4)),
            20 if request.minor != 0 => self.deleted(seen, window, word(4)),
            22 if self.owners.len() < MAX_OPEN => {
                self.owners.insert(word(4), window);
            }
            24 => {
                let selection = word(4);
                let owner = self.owners.get(&selection).copied().unwrap_or(0);
                let piece = key(OpenKind::SelectionPiece, window, word(12).into());
                let key = key(OpenKind::Selection, window, pair(selection, word(8)));
                let party = client_of(seen.session, owner);
                let subject = Some(seen.session.atom_label(selection));
                // A client that asks for another target in the same property has given up the first one.
                if self.asked.len() >= MAX_OPEN {
                    self.asked.clear();
                }
                let before = self.asked.insert((window, word(12)), key);
                self.transfers.remove(&(window, word(12)));
                self.close(time, OpenStep::Abandoned, |(known, _)| {
                    Some(*known) == before || *known == piece
                });
                self.opens(time, key, client, party, subject);
            }
            25 => self.sends(seen, window, &body),
            128.. => match request.name.as_str() {
                "Present:NotifyMSC" => {
                    let key = key(OpenKind::ScreenClock, window, word(4).into());
                    self.opens(time, key, client, None, None);
                }
                "SYNC:SetCounter" => {
                    if let Some(of) = self.counters.get(&window) {
                        self.answered(time, key(OpenKind::Resize, *of, 0));
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Notes that the window manager has executed a request that another client had sent to the server.
    fn managed(&mut self, time: Timestamp, by: ConnectionId, kind: OpenKind, window: u32) {
        let key = key(kind, window, 0);
        let mut open = self.open.iter();
        if open.any(|(known, one)| *known == key && one.party == Some(by)) {
            self.answered(time, key);
        }
    }

    /// Processes a ChangeProperty request, whose `body` has window, property, type, format, length and value.
    fn property(
        &mut self,
        seen: &MessageContext<'_>,
        request: &Request<'_>,
        window: u32,
        property: u32,
        body: &Body<'_>,
    ) {
        let (time, client) = (seen.time, seen.connection);
        let owner = client_of(seen.session, window);
        let of_other = owner.is_some_and(|owner| owner != client);
        let name = seen.session.atom_name(property);
        match name {
            Some("_NET_FRAME_EXTENTS") if of_other => {
                self.answered(time, key(OpenKind::FrameExtents, window, 0));
            }
            Some("_NET_WM_SYNC_REQUEST_COUNTER") => {
                let counters = body.list(20, 4).filter_map(|counter| counter.u32(0));
                let room = MAX_OPEN.saturating_sub(self.counters.len());
                let counters = counters.take(room.min(2));
                self.counters
                    .extend(counters.map(|counter| (counter, window)));
            }
            _ => {}
        }
        if !self.composing.is_empty()
            && let Some(first) = body.u8(20)
            && body.u8(12) == Some(8)
            && request.wire_len < 4096
        {
            if self.payloads.len() == MAX_PAYLOADS {
                self.payloads.pop_front();
            }
            self.payloads.push_back(((window, property), first));
        }
        if !of_other {
            return;
        }
        let begins = body.u32(8).and_then(|atom| seen.session.atom_name(atom)) == Some("INCR");
        if begins && self.transfers.len() < MAX_OPEN {
            let selection = self.selection_of(window);
            let owner = client;
            self.transfers
                .insert((window, property), Transfer { owner, selection });
        }
        let Some(transfer) = self.transfers.get(&(window, property)) else {
            return;
        };
        let (subject, ended) = (transfer.selection, body.u32(16) == Some(0) && !begins);
        match ended {
            true => drop(self.transfers.remove(&(window, property))),
            false => {
                let taken = key(OpenKind::PieceTaken, window, property.into());
                self.opens(time, taken, client, owner, subject);
            }
        }
    }

    /// Returns the selection that a window has requested.
    fn selection_of(&self, window: u32) -> Option<Symbol> {
        let mut open = self.open.iter();
        let of_window = |key: &Key| (key.kind, key.window) == (OpenKind::Selection, window);
        open.find(|(key, _)| of_window(key))
            .and_then(|(_, request)| request.subject)
    }

    /// Notes that a client deletes a property: the requestor of a selection has read a piece.
    fn deleted(&mut self, seen: &MessageContext<'_>, window: u32, property: u32) {
        if let Some(transfer) = self.transfers.get(&(window, property)) {
            let (owner, subject) = (transfer.owner, transfer.selection);
            let next = key(OpenKind::SelectionPiece, window, property.into());
            self.opens(seen.time, next, seen.connection, Some(owner), subject);
        }
    }

    /// Processes an event that a client sends to another client.
    fn sends(&mut self, seen: &MessageContext<'_>, destination: u32, body: &Body<'_>) {
        let (time, client, session) = (seen.time, seen.connection, seen.session);
        let word = |at: usize| body.u32(8 + at).unwrap_or(0);
        match body.u8(8).map(|code| code & 0x7F) {
            // ConfigureNotify: the window manager does not move the window (ICCCM 4.1.5).
            Some(22) => return self.managed(time, client, OpenKind::Configure, word(8)),
            Some(33) => {}
            _ => return,
        }
        let Some(kind) = session.atom_name(word(8)) else {
            return;
        };
        let message = ClientMessage {
            window: word(4),
            kind,
            format: body.u8(9).unwrap_or(0),
            data: [word(12), word(16), word(20), word(24)],
            first_byte: body.u8(20).unwrap_or(0),
        };
        let party = client_of(session, destination);
        match (kind, message.protocol(session)) {
            ("XdndPosition", _) => {
                let key = key(OpenKind::DragPosition, message.data[0], 0);
                self.opens(time, key, client, party, None);
            }
            ("XdndDrop", _) => {
                let key = key(OpenKind::Drop, message.data[0], 0);
                self.opens(time, key, client, party, None);
            }
            ("XdndLeave", _) => {
                let source = message.data[0];
                self.close(time, OpenStep::Abandoned, |(key, _)| {
                    key.window == source && key.kind == OpenKind::DragPosition
                });
            }
            // The input method replies with a message of the same type.
            ("_XIM_XCONNECT", _) if !party.is_some_and(|party| self.composing.contains(&party)) => {
                if self.composing.len() < MAX_OPEN && !self.composing.contains(&client) {
                    self.composing.push(client);
                }
                let key = key(OpenKind::InputMethod, client.0, u64::from(u8::MAX));
                self.opens(time, key, client, party, None);
            }
            ("_XIM_PROTOCOL", _) if self.composing.contains(&client) => {
                let opcode = self.opcode(&message, destination);
                if let Some(answer) = opcode.and_then(answer_of) {
                    let key = key(OpenKind::InputMethod, client.0, answer.into());
                    self.opens(time, key, client, party, None);
                }
            }
            // A message to the root window is the reply.
            (_, Some("_NET_WM_PING")) if party.is_some() => {
                let key = key(OpenKind::Ping, message.data[2], 0);
                self.opens(time, key, client, party, None);
            }
            (_, Some("_NET_WM_SYNC_REQUEST")) => {
                let key = key(OpenKind::Resize, message.window, 0);
                self.opens(time, key, client, party, None);
            }
            ("_NET_REQUEST_FRAME_EXTENTS", _) => {
                let key = key(OpenKind::FrameExtents, message.window, 0);
                let party = self.window_manager;
                self.opens(time, key, client, party, None);
            }
            _ => {}
        }
    }

    /// The opcode of a message of the input method's protocol: its first byte, or the first byte of the property that it
    /// names.
    fn opcode(&self, message: &ClientMessage<'_>, window: u32) -> Option<u8> {
        if message.format == 8 {
            return Some(message.first_byte);
        }
        let property = message.data[1];
        let mut known = self.payloads.iter().rev();
        known
            .find(|(of, _)| *of == (window, property))
            .map(|(_, first)| *first)
    }

    fn event(&mut self, seen: &MessageContext<'_>, event: &Event<'_>) {
        let (time, client) = (seen.time, seen.connection);
        let word = |at: usize| event.order.u32(event.bytes, at).unwrap_or(0);
        match (event.code, event.sent) {
            // MapRequest: parent, window.
            (20, false) => self.redirected(seen, OpenKind::Map, word(8)),
            // ConfigureRequest: parent, window, sibling, geometry, mask.
            (23, false) => {
                let mask = event.order.u16(event.bytes, 26).unwrap_or(0);
                if mask & GEOMETRY != 0 {
                    self.redirected(seen, OpenKind::Configure, word(8));
                }
            }
            _ if self.open.is_empty() => {}
            // PropertyNotify: window, atom, time, state.
            (28, false) => {
                let kinds = [OpenKind::SelectionPiece, OpenKind::PieceTaken];
                let is_deleted = event.bytes.get(16).is_some_and(|state| *state != 0);
                let key = key(kinds[usize::from(is_deleted)], word(4), word(8).into());
                self.returned(time, client, key);
            }
            // SelectionRequest: time, owner, requestor, selection, target.
            (30, _) => {
                let key = key(OpenKind::Selection, word(12), pair(word(16), word(20)));
                self.reached(time, key, client);
            }
            // SelectionNotify: time, requestor, selection, target.
            (31, _) => {
                let key = key(OpenKind::Selection, word(8), pair(word(12), word(16)));
                self.answered(time, key);
            }
            (33, _) => self.message_came(seen, event),
            // Present:CompleteNotify: event id, window, serial.
            (35, _) if event.name.as_str() == "Present:CompleteNotify" => {
                self.answered(time, key(OpenKind::ScreenClock, word(16), word(20).into()));
            }
            _ => {}
        }
    }

    /// Notes that `client` received a message, which is a reply only if the client waits for it. Other clients receive
    /// the same message.
    fn returned(&mut self, time: Timestamp, client: ConnectionId, key: Key) {
        let mut open = self.open.iter();
        if open.any(|(known, one)| *known == key && one.client == client) {
            self.answered(time, key);
        }
    }

    /// Notes that the server redirects a client's request to the window manager.
    fn redirected(&mut self, seen: &MessageContext<'_>, kind: OpenKind, window: u32) {
        self.window_manager = Some(seen.connection);
        let owner = client_of(seen.session, window);
        // Other clients, such as taskbars, change the window, too.
        if let Some(client) = owner.filter(|owner| self.changed.get(&window) == Some(owner)) {
            let key = key(kind, window, 0);
            self.opens(seen.time, key, client, Some(seen.connection), None);
        }
    }

    /// Processes a message that arrived from another client.
    fn message_came(&mut self, seen: &MessageContext<'_>, event: &Event<'_>) {
        let (time, client, session) = (seen.time, seen.connection, seen.session);
        let word = |at: usize| event.order.u32(event.bytes, at).unwrap_or(0);
        let Some(kind) = session.atom_name(word(8)) else {
            return;
        };
        let message = ClientMessage {
            window: word(4),
            kind,
            format: event.bytes.get(1).copied().unwrap_or(0),
            data: [word(12), word(16), word(20), word(24)],
            first_byte: event.bytes.get(12).copied().unwrap_or(0),
        };
        match (kind, message.protocol(session)) {
            ("XdndStatus", _) => {
                self.answered(time, key(OpenKind::DragPosition, message.window, 0))
            }
            ("XdndFinished", _) => self.answered(time, key(OpenKind::Drop, message.window, 0)),
            ("_XIM_XCONNECT", _) => {
                let key = key(OpenKind::InputMethod, client.0, u64::from(u8::MAX));
                self.answered(time, key);
            }
            ("_XIM_PROTOCOL", _) => {
                let opcode = self.opcode(&message, message.window);
                let is_answered = |key: &Key| {
                    let expected = u8::try_from(key.detail).unwrap_or(u8::MAX);
                    (key.kind, key.window) == (OpenKind::InputMethod, client.0)
                        && opcode.is_none_or(|opcode| answers(opcode, expected))
                };
                let known = self.open.iter().map(|(key, _)| *key);
                if let Some(key) = known.into_iter().find(is_answered) {
                    self.answered(time, key);
                }
            }
            (_, Some("_NET_WM_PING")) => {
                self.returned(time, client, key(OpenKind::Ping, message.data[2], 0));
            }
            _ => {}
        }
    }
}
