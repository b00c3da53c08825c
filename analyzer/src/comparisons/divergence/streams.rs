//! The messages that each client of a display sent and received, small enough to keep the whole recording.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use rustc_hash::FxHashMap;
use x11prof_protocol::{Message, Symbol, Value};
use x11prof_session::ClientId;
use x11prof_trace::{ConnectionId, Control, Timestamp};

use super::meaning::{Meanings, ServerNumber};
use super::padding::{with_bytes, without_padding};
use crate::Observation;
use crate::pipeline::MessageContext;

/// Maximum number of bytes of a message's fields in text form that are compared one by one; the rest is compared as
/// bytes.
const LONGEST: usize = 1 << 20;
/// The minimum number of bytes of a message that [`LONGEST`] bytes of text cover: no field has more than 40 characters
/// of text for each byte.
const COVERED: usize = LONGEST / 40;
/// The minimum length in bytes of a message whose list is compared as bytes, if it contains no ids.
const LONG: usize = 1024;
/// The maximum number of bytes of text of the fields before such a list.
const BEFORE_LIST: usize = 512;
/// Maximum number of kept messages of all clients and of server ids in them, which use about 100 MB. Further messages
/// are not compared.
const MOST_KEPT: usize = 1_500_000;

/// The core events of keyboard, pointer and focus: KeyPress to KeymapNotify (protocol, appendix "Encoding").
const DEVICE_EVENTS: RangeInclusive<u8> = 2..=11;

/// The maximum idle time at the end of a recording with which a client counts as active until the end.
const ACTIVE: Duration = Duration::from_millis(500);

/// The kind of a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Received {
    /// The server's reply to the connection setup.
    Setup,
    /// The reply to a request.
    Reply,
    /// The message is an event.
    Event,
    /// The message is an error.
    Error,
}

/// A message, reduced to a hash of its contents and its position.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The name of a request, event or error; for a reply, the name of its request.
    pub(super) name: Symbol,
    pub(super) hash: u64,
    pub(super) time: Timestamp,
    /// The position in [`ClientStream::ids`] of the ids in the message that the server chose.
    ids: Range<u32>,
    /// True for an event of a device, or from another client: a replay may lack its cause.
    pub(super) is_from_outside: bool,
    /// The number of the message in the client's stream, counted over both directions.
    pub(super) number: u32,
    /// The number of the client's requests before this message.
    pub(super) requests_before: u32,
}

/// The requests and the received messages of one client.
#[derive(Debug, Default)]
pub(super) struct ClientStream {
    pub(super) name: String,
    pub(super) requests: Vec<Entry>,
    /// For each request, true if the protocol defines a reply to it.
    pub(super) has_reply: Vec<bool>,
    pub(super) received: Vec<(Received, Entry)>,
    /// For each received message, the index of the request that it answers; `None` for events.
    answered: Vec<Option<u32>>,
    ids: Vec<ServerNumber>,
    /// The time at which the server closed the connection; `None` if it did not.
    pub(super) closed_by_server: Option<Timestamp>,
    /// The time at which the client closed the connection, or ended; `None` if it did not.
    closed_itself: Option<Timestamp>,
    first_sequence: Option<u64>,
    pub(super) messages: u32,
}

impl ClientStream {
    /// True if the client ended soon after its last request, so that it may not have received a message that arrived
    /// after this number of requests in the other recording.
    pub(super) fn ended_before(&self, requests_before: u32) -> bool {
        let ended = self.closed_itself.zip(self.requests.last());
        requests_before as usize >= self.requests.len()
            && ended.is_some_and(|(end, last)| end.since(last.time) <= ACTIVE)
    }

    /// The ids in a message that the server chose.
    pub(super) fn server_ids(&self, entry: &Entry) -> &[ServerNumber] {
        &self.ids[entry.ids.start as usize..entry.ids.end as usize]
    }

    /// The indices of the received replies and errors, in the order of their requests.
    pub(super) fn answers(&self) -> Vec<usize> {
        let all = 0..self.received.len();
        let mut answers: Vec<usize> = all.filter(|index| self.is_answer(*index)).collect();
        answers.sort_by_key(|index| self.answered[*index]);
        answers
    }

    /// True if the received message is a reply or an error that belongs to a known request.
    pub(super) fn is_answer(&self, index: usize) -> bool {
        self.answered[index].is_some()
    }

    /// The replies and errors of a request, from all [`answers`](Self::answers).
    pub(super) fn answers_to<'a>(&self, request: usize, answers: &'a [usize]) -> &'a [usize] {
        let of = |index: &usize| self.answered[*index].map(|of| of as usize);
        let rest = &answers[answers.partition_point(|index| of(index) < Some(request))..];
        let count = rest
            .iter()
            .take_while(|index| of(index) == Some(request))
            .count();
        &rest[..count]
    }
}

/// The messages of all clients of a recording, as [`crate::Divergence`] compares them.
#[derive(Debug, Default)]
pub struct DisplayStreams {
    pub(super) clients: Vec<ClientStream>,
    pub(super) start: Option<Timestamp>,
    pub(super) end: Timestamp,
    indices: FxHashMap<ConnectionId, usize>,
    /// The meanings of the ids that have been read so far.
    pub(super) meanings: Meanings,
    kept: usize,
    is_numbering: bool,
    /// True if the server's bits and bytes have the same order in bitmaps.
    pub(super) is_plain_bitmap: bool,
    /// The number of messages beyond the memory limit, which are not compared.
    pub(super) left_out: u64,
}

impl DisplayStreams {
    /// Creates a collection that numbers messages and stores the meanings of their ids, but does not keep the messages.
    pub(super) fn numbering() -> DisplayStreams {
        DisplayStreams {
            is_numbering: true,
            ..DisplayStreams::default()
        }
    }

    /// The names of clients that send input through XTEST; none if all clients do.
    pub(super) fn drivers(&self) -> BTreeSet<&str> {
        let is_input = |entry: &Entry| entry.name.as_str() == "XTEST:FakeInput";
        let is_named_driver = |client: &&ClientStream| {
            !client.name.is_empty() && client.requests.iter().any(is_input)
        };
        let names = self.clients.iter().filter(is_named_driver);
        let names: BTreeSet<&str> = names.map(|client| client.name.as_str()).collect();
        let is_driver = |client: &ClientStream| names.contains(client.name.as_str());
        match self.clients.iter().all(is_driver) {
            true => BTreeSet::new(),
            false => names,
        }
    }

    /// True if the recording has no client.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// True if the client sent requests until about the end of the recording.
    pub(super) fn is_active_at_end(&self, client: &ClientStream) -> bool {
        let last = client.requests.last();
        last.is_some_and(|last| self.end.since(last.time) <= ACTIVE)
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Control(time, _) = observation {
            self.start.get_or_insert(*time);
        }
        match observation {
            Observation::Control(_, Control::Opened(opened)) => {
                let name = opened.name.clone().unwrap_or_default();
                self.client(opened.connection).name = name;
            }
            Observation::Control(time, Control::Closed { connection, by, .. }) => {
                self.end = self.end.max(*time);
                let client = self.client(*connection);
                match by.as_str() {
                    "server" => client.closed_by_server = Some(*time),
                    _ => client.closed_itself = Some(*time),
                }
            }
            Observation::Message(seen) => self.message(seen),
            _ => {}
        }
    }

    fn client(&mut self, connection: ConnectionId) -> &mut ClientStream {
        let index = *self.indices.entry(connection).or_insert_with(|| {
            self.clients.push(ClientStream::default());
            self.clients.len() - 1
        });
        &mut self.clients[index]
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        self.start.get_or_insert(seen.time);
        self.end = self.end.max(seen.time);
        let range = seen.session.ids_of(ClientId(seen.connection.0));
        if let (Message::ServerSetup(setup), Some(range)) = (seen.message, range) {
            self.meanings.new_client(seen.connection, range);
            // image-byte-order and bitmap-format-bit-order.
            self.is_plain_bitmap = setup.bytes.get(30) == setup.bytes.get(31);
        }
        if self.kept >= MOST_KEPT {
            self.left_out += 1;
            return;
        }
        let Some(named) = Named::of(seen.message) else {
            return;
        };
        let cleared = without_padding(seen, self.is_plain_bitmap);
        let message = with_bytes(seen.message, cleared.as_deref());
        let seen = &MessageContext {
            message: &message,
            ..*seen
        };
        let (fields, tail) = list_as_bytes(seen).unwrap_or_else(|| {
            let fields = fields(seen);
            let tail = tail(seen, &fields);
            (fields, tail)
        });
        let digest = self.meanings.digest(
            seen.connection,
            seen.session,
            range,
            named.name.as_str(),
            (&fields, tail),
            named.received.is_none(),
        );
        self.kept += 1 + digest.server_ids.len();
        let is_numbering = self.is_numbering;
        let client = self.client(seen.connection);
        let number = client.messages;
        client.messages += 1;
        if is_numbering {
            return;
        }
        let request = named.sequence.and_then(|sequence| {
            let first = *client.first_sequence.get_or_insert(sequence);
            u32::try_from(sequence.checked_sub(first)?).ok()
        });
        // `MOST_KEPT` limits the number of ids.
        let start = client.ids.len() as u32;
        client.ids.extend(digest.server_ids);
        let entry = Entry {
            name: named.name,
            hash: digest.hash,
            time: seen.time,
            ids: start..client.ids.len() as u32,
            is_from_outside: is_from_outside(seen.message),
            number,
            requests_before: u32::try_from(client.requests.len()).unwrap_or(u32::MAX),
        };
        match (named.received, seen.message) {
            (Some(kind), _) => {
                client.received.push((kind, entry));
                client.answered.push(request);
            }
            (None, Message::Request(request)) => {
                client.requests.push(entry);
                client.has_reply.push(request.has_reply);
            }
            (None, _) => {}
        }
    }

    /// The position of the connection's last message: the index of the client, and the number of the message.
    pub(super) fn last_of(&self, connection: ConnectionId) -> Option<(usize, u32)> {
        let index = *self.indices.get(&connection)?;
        Some((index, self.clients[index].messages.checked_sub(1)?))
    }
}

/// The fields of a message that are compared; none if the message cannot be decoded.
pub(super) fn fields(seen: &MessageContext<'_>) -> Value {
    let fields = seen.message.first_fields(seen.extensions, LONGEST);
    fields.unwrap_or_else(|_| Value::Fields(Vec::new()))
}

/// Returns the fields before the list of a long message, and the bytes of the list; `None` if the list may contain ids.
fn list_as_bytes<'a>(seen: &MessageContext<'a>) -> Option<(Value, &'a [u8])> {
    let bytes = bytes(seen);
    if bytes.len() < LONG {
        return None;
    }
    let at = seen.message.list_without_ids(seen.extensions)?;
    let fields = seen.message.first_fields(seen.extensions, BEFORE_LIST);
    let Ok(Value::Fields(mut fields)) = fields else {
        return None;
    };
    let (_, Value::List(_) | Value::Text(_)) = fields.pop()? else {
        return None;
    };
    let format = fields.iter().find(|(name, _)| name == "format");
    let end = match format.and_then(|(_, format)| format.as_u32()) {
        None => bytes.len(),
        // Unused bytes follow the data of a property. The number of items is the last field before the data.
        Some(bits @ (8 | 16)) => at + fields.last()?.1.as_u32()? as usize * bits as usize / 8,
        Some(_) => return None,
    };
    Some((Value::Fields(fields), bytes.get(at..end)?))
}

fn is_from_outside(message: &Message<'_>) -> bool {
    let Message::Event(event) = message else {
        return false;
    };
    let extension = event.name.as_str().split_once(':');
    let is_of_devices = match extension {
        Some((extension, _)) => matches!(extension, "XInputExtension" | "XKEYBOARD"),
        None => DEVICE_EVENTS.contains(&event.code),
    };
    event.sent || is_of_devices
}

fn bytes<'a>(seen: &MessageContext<'a>) -> &'a [u8] {
    match seen.message {
        Message::Request(request) => request.bytes,
        Message::Reply(reply) => reply.bytes,
        Message::Event(event) => event.bytes,
        _ => &[],
    }
}

/// Returns the bytes of a message that its `fields` may not cover; empty unless the fields were cut off. The rest of
/// such a long message contains no ids.
pub(super) fn tail<'a>(seen: &MessageContext<'a>, fields: &Value) -> &'a [u8] {
    let bytes = bytes(seen);
    // The end of a text is not marked. Six characters are enough for a byte: `255, `, and the names.
    match fields.is_cut_off() || bytes.len() > LONGEST / 6 {
        true => bytes.get(COVERED..).unwrap_or_default(),
        false => &[],
    }
}

/// The name, the direction and the position of a message.
pub(super) struct Named {
    pub(super) name: Symbol,
    received: Option<Received>,
    sequence: Option<u64>,
}

impl Named {
    /// The name of a message; `None` for the client's setup and for bytes that are no message.
    pub(super) fn of(message: &Message<'_>) -> Option<Named> {
        let (name, received, sequence) = match message {
            Message::Request(request) => (request.name, None, Some(request.sequence.0)),
            Message::Reply(reply) => (
                reply.request.unwrap_or_else(|| Symbol::new("unpaired")),
                Some(Received::Reply),
                Some(reply.sequence.0),
            ),
            Message::Event(event) => (event.name, Some(Received::Event), None),
            Message::Error(error) => (error.name, Some(Received::Error), Some(error.sequence.0)),
            Message::ServerSetup(_) => (Symbol::new("setup"), Some(Received::Setup), None),
            Message::ClientSetup(_) | Message::Malformed(_) => return None,
        };
        Some(Named {
            name,
            received,
            sequence,
        })
    }
}
