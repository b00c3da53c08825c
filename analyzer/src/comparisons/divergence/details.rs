//! The fields of the few messages that differ, from a second pass over a recording.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rustc_hash::FxHashMap;
use x11prof_protocol::{NumberKind, Value};
use x11prof_session::ClientId;

use super::meaning::{Meaning, hash, is_compared, property_type};
use super::padding::{with_bytes, without_padding};
use super::streams::{DisplayStreams, Named, fields, tail};
use crate::Observation;
use crate::pipeline::MessageContext;

/// The position of a message: the index of the client, and the number of the message in the client's stream.
pub(super) type Place = (usize, u32);
/// Maximum number of fields kept for a message, and for all messages. Later fields of a message are kept only as a
/// checksum.
const MOST_FIELDS: usize = 2048;
const MOST_OF_ALL: usize = 400_000;
/// Maximum number of bytes of all kept texts and paths.
const MOST_TEXT: usize = 64 << 20;

/// The maximum length of a text that is kept, in bytes. A longer text is shortened, and has a checksum.
const LONGEST_TEXT: usize = 4096;

/// The value of a field of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) meaning: Meaning,
    /// The value of the field in text form.
    pub(super) text: String,
}

/// The fields of a message by their paths, in the order of the protocol.
pub(super) type Fields = Vec<(String, Field)>;

/// Collects the fields of chosen messages in a pass over a recording.
#[derive(Debug, Default)]
pub struct MessageDetails {
    wanted: FxHashMap<Place, ()>,
    streams: DisplayStreams,
    found: BTreeMap<Place, Fields>,
    /// The number of fields in `found`, and the bytes of their texts and paths.
    kept: (usize, usize),
}

impl MessageDetails {
    pub(super) fn new(wanted: impl IntoIterator<Item = Place>) -> MessageDetails {
        MessageDetails {
            wanted: wanted.into_iter().map(|place| (place, ())).collect(),
            streams: DisplayStreams::numbering(),
            ..MessageDetails::default()
        }
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        if self.is_complete() {
            self.streams = DisplayStreams::default();
            return;
        }
        self.streams.observe(observation);
        if let Observation::Message(seen) = observation
            && let Some(place) = self.streams.last_of(seen.connection)
            && self.wanted.remove(&place).is_some()
        {
            let fields = self.fields(seen);
            let text = fields
                .iter()
                .map(|(path, field)| path.len() + field.text.len());
            let kept = (
                self.kept.0 + fields.len(),
                self.kept.1 + text.sum::<usize>(),
            );
            if kept.0 <= MOST_OF_ALL && kept.1 <= MOST_TEXT {
                self.kept = kept;
                self.found.insert(place, fields);
            }
        }
    }

    /// True if all chosen messages were found.
    pub fn is_complete(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The fields of a message; `None` if the message is beyond the limit.
    pub(super) fn get(&self, place: Place) -> Option<&[(String, Field)]> {
        self.found.get(&place).map(Vec::as_slice)
    }

    fn fields(&self, seen: &MessageContext<'_>) -> Fields {
        let cleared = without_padding(seen, self.streams.is_plain_bitmap);
        let message = with_bytes(seen.message, cleared.as_deref());
        let seen = &MessageContext {
            message: &message,
            ..*seen
        };
        let mut collect = Collect {
            details: self,
            seen,
            name: Named::of(seen.message).map_or("", |named| named.name.as_str()),
            fields: Vec::new(),
            later: None,
        };
        let value = fields(seen);
        collect.value(String::new(), NumberKind::Plain, &value);
        collect.finish(tail(seen, &value))
    }
}

struct Collect<'a> {
    details: &'a MessageDetails,
    seen: &'a MessageContext<'a>,
    name: &'static str,
    fields: Fields,
    /// The path of the first field that is not kept, and a checksum of that field and all later ones.
    later: Option<(String, DefaultHasher)>,
}

impl Collect<'_> {
    fn value(&mut self, path: String, kind: NumberKind, value: &Value) {
        match value {
            Value::Fields(fields) => {
                let property_type = property_type(fields);
                let compared = |field: &str| is_compared(self.name, field);
                for (field, value) in fields.iter().filter(|(field, _)| compared(field)) {
                    let kind = NumberKind::of_field(self.name, field, property_type);
                    let below = match path.as_str() {
                        "" => field.to_string(),
                        path => format!("{path}.{field}"),
                    };
                    self.value(below, kind, value);
                }
            }
            Value::List(list) => {
                let text = match list.as_slice() {
                    [Value::Cut] => "not recorded".to_owned(),
                    [.., Value::Cut] => format!("at least {} items", list.len() - 1),
                    [_] => "1 item".to_owned(),
                    list => format!("{} items", list.len()),
                };
                let meaning = Meaning::Number(list.len() as i128);
                self.push(format!("{path}[]"), Field { meaning, text });
                for (index, item) in list.iter().enumerate() {
                    self.value(format!("{path}[{index}]"), kind, item);
                }
            }
            Value::Cut => {}
            leaf => {
                let field = self.leaf(kind, leaf);
                self.push(path, field);
            }
        }
    }

    fn push(&mut self, path: String, field: Field) {
        if self.fields.len() < MOST_FIELDS {
            return self.fields.push((path, field));
        }
        let later = || (format!("{path} and later"), DefaultHasher::new());
        let (_, later) = self.later.get_or_insert_with(later);
        match field.meaning {
            Meaning::Server(_) => {}
            meaning => meaning.hash(later),
        }
    }

    /// Returns the fields, and a checksum of all that follows them. `tail` has the bytes of the message that were not
    /// decoded.
    fn finish(mut self, tail: &[u8]) -> Fields {
        if !tail.is_empty() {
            let later = || ("later bytes".to_owned(), DefaultHasher::new());
            tail.hash(&mut self.later.get_or_insert_with(later).1);
        }
        if let Some((path, later)) = self.later {
            let later = later.finish();
            let (meaning, text) = (Meaning::Named(later), checksum(later));
            self.fields.push((path, Field { meaning, text }));
        }
        self.fields
    }

    fn leaf(&self, kind: NumberKind, leaf: &Value) -> Field {
        let text = |text: String| Field {
            meaning: Meaning::Named(hash(&text)),
            text,
        };
        match leaf {
            Value::Number(number) => Field {
                meaning: self.details.streams.meanings.meaning(
                    self.seen.session,
                    self.seen.session.ids_of(ClientId(self.seen.connection.0)),
                    kind,
                    *number,
                ),
                text: self.number(kind, *number),
            },
            Value::Real(number) => text(number.to_string()),
            Value::Bool(truth) => text(truth.to_string()),
            Value::Name(name) => text(name.replace(" | ", "|")),
            Value::Text(quoted) if quoted.len() <= LONGEST_TEXT => text(format!("{quoted:?}")),
            Value::Text(quoted) => {
                let first: String = quoted.chars().take(LONGEST_TEXT / 2).collect();
                text(format!("{first:?}…, {}", checksum(hash(quoted))))
            }
            Value::List(_) | Value::Fields(_) | Value::Cut => text(String::new()),
        }
    }

    fn number(&self, kind: NumberKind, number: i128) -> String {
        let id = u32::try_from(number).ok();
        match (kind, id) {
            (NumberKind::Atom, Some(atom)) => match self.seen.session.atom_name(atom) {
                Some(name) => name.to_owned(),
                None => number.to_string(),
            },
            (NumberKind::Id, Some(id)) if id > 0 => match self.seen.session.resource(id) {
                Some(resource) => format!("{id:#x}({})", resource.kind.name()),
                None => format!("{id:#x}"),
            },
            _ => number.to_string(),
        }
    }
}

fn checksum(hash: u64) -> String {
    format!("checksum {:08x}", hash >> 32)
}
