//! The meaning of the numbers in a message, independent of the numbers that a server or a client chose.
//!
//! An atom is compared by its name. An id that a client chose is compared by the request that created it and the
//! number of equal requests before. An id that the server chose (a root window, a visual, a CRTC) is paired with the
//! other display's id, if both displays report one at the same position.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashMap;
use x11prof_protocol::{NumberKind, Value};
use x11prof_session::{IdRange, ResourceChange, Session};
use x11prof_trace::ConnectionId;

/// Maximum number of ids with a meaning, because a malicious trace may have any number of ids. Further ids are not
/// compared.
const MOST_IDS: usize = 1 << 20;
/// The highest id that is a protocol constant: None, PointerRoot, CopyFromParent.
const CONSTANT_IDS: i128 = 1;

/// A number that the server chose. Atoms and ids are numbered separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ServerNumber {
    /// The id of a resource, a visual, a picture format, an output or a mode.
    Id(u32),
    /// An atom whose name is not in the recording.
    Atom(u32),
}

/// The meaning of a number in a message, as far as it can be compared between two displays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Meaning {
    /// The number is compared by its value.
    Number(i128),
    /// An atom or an id that is compared by a hash of its name.
    Named(u64),
    /// An id or an unnamed atom that the server chose; compared in pairs.
    Server(ServerNumber),
    /// The id of a resource that this request creates.
    Created,
    /// A number that differs from run to run, which is not compared: a time, or the opcode of an extension.
    Varies,
}

/// A message, reduced to a hash and the numbers that the server chose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Digest {
    /// A hash of the message's name and fields, with the ids replaced by their meanings.
    pub(super) hash: u64,
    /// The ids in the message that the server chose, in the order of the fields.
    pub(super) server_ids: Vec<ServerNumber>,
}

/// The meanings of the ids on one display.
#[derive(Debug, Default)]
pub(super) struct Meanings {
    ids: BTreeMap<u32, u64>,
    /// The number of equal requests that created ids so far, by client and digest.
    creations: BTreeMap<(ConnectionId, u64), u32>,
}

impl Meanings {
    /// The digest of a message of `connection`. A request assigns a meaning to the ids that it creates. `range` is the
    /// client's range of ids; `tail` has the bytes beyond `fields`.
    pub(super) fn digest(
        &mut self,
        connection: ConnectionId,
        session: &Session,
        range: Option<IdRange>,
        name: &str,
        (fields, tail): (&Value, &[u8]),
        is_request: bool,
    ) -> Digest {
        if is_request {
            for change in session.resource_changes() {
                if let ResourceChange::Created(resource) = change {
                    self.ids.remove(&resource.id);
                }
            }
        }
        let mut hasher = DefaultHasher::new();
        (name, tail).hash(&mut hasher);
        let (mut server_ids, mut created) = (Vec::new(), Vec::new());
        each_leaf(name, fields, &mut |kind, value| {
            let meaning = match value {
                Value::Number(number) => self.meaning(session, range, kind, *number),
                other => return hash_value(other, &mut hasher),
            };
            match (meaning, value.as_u32()) {
                (Meaning::Server(number), _) => {
                    server_ids.push(number);
                    "server".hash(&mut hasher);
                }
                (Meaning::Created, Some(id)) => {
                    created.push(id);
                    Meaning::Created.hash(&mut hasher);
                }
                (meaning, _) => meaning.hash(&mut hasher),
            }
        });
        let hash = hasher.finish();
        if is_request {
            self.create(connection, hash, &created);
        }
        Digest { hash, server_ids }
    }

    fn create(&mut self, connection: ConnectionId, hash: u64, created: &[u32]) {
        if created.is_empty() || self.ids.len() >= MOST_IDS || self.creations.len() >= MOST_IDS {
            return;
        }
        let count = self.creations.entry((connection, hash)).or_default();
        *count += 1;
        for (place, id) in created.iter().enumerate() {
            let mut hasher = DefaultHasher::new();
            (hash, *count, place).hash(&mut hasher);
            self.ids.insert(*id, hasher.finish());
        }
    }

    /// Drops the meanings of the ids in `range`, which an earlier client used.
    pub(super) fn new_client(&mut self, connection: ConnectionId, range: IdRange) {
        let ids = self.ids.range(range.first..=range.first | range.mask);
        let ids: Vec<u32> = ids.map(|(id, _)| *id).collect();
        for id in ids.into_iter().filter(|id| range.contains(*id)) {
            self.ids.remove(&id);
        }
        let of_client = (connection, 0)..=(connection, u64::MAX);
        let creations = self.creations.range(of_client);
        let creations: Vec<_> = creations.map(|(key, _)| *key).collect();
        for key in creations {
            self.creations.remove(&key);
        }
    }

    /// The meaning of `number` for the client with the ID range `range`.
    pub(super) fn meaning(
        &self,
        session: &Session,
        range: Option<IdRange>,
        kind: NumberKind,
        number: i128,
    ) -> Meaning {
        let id = u32::try_from(number).ok();
        match (kind, id) {
            (NumberKind::Time, _) if number != 0 => Meaning::Varies,
            (NumberKind::Opcode, _) => Meaning::Varies,
            (NumberKind::Atom, Some(atom)) if atom > 0 => match session.atom_name(atom) {
                Some(name) => Meaning::Named(hash(name)),
                None => Meaning::Server(ServerNumber::Atom(atom)),
            },
            (NumberKind::MaybeId, Some(id)) if number > CONSTANT_IDS => match self.ids.get(&id) {
                Some(name) => Meaning::Named(*name),
                // The number may be an id whose creation is not in the recording.
                None if session.id_range(id).is_some() => Meaning::Varies,
                None => Meaning::Number(number),
            },
            (NumberKind::Id, Some(id)) if number > CONSTANT_IDS => match self.ids.get(&id) {
                Some(name) => Meaning::Named(*name),
                None if range.is_some_and(|range| range.contains(id)) => Meaning::Created,
                // The number belongs to another client, from before the recording.
                None if session.id_range(id).is_some() => Meaning::Varies,
                None => Meaning::Server(ServerNumber::Id(id)),
            },
            _ => Meaning::Number(number),
        }
    }
}

/// Hashes a name.
pub(super) fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Hashes a value that is not a number.
fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Real(number) => number.to_bits().hash(hasher),
        Value::Bool(truth) => truth.hash(hasher),
        Value::Name(name) => name.hash(hasher),
        Value::Text(text) => text.hash(hasher),
        // The length of a list; its items follow individually.
        Value::List(list) => list.len().hash(hasher),
        Value::Number(_) | Value::Fields(_) | Value::Cut => {}
    }
}

/// Calls `on` for each value in the fields of the message `name`, with the kind of number that the field contains. For
/// a list, `on` gets the list itself, then each item.
fn each_leaf(name: &str, fields: &Value, on: &mut impl FnMut(NumberKind, &Value)) {
    fn value(name: &str, kind: NumberKind, of: &Value, on: &mut impl FnMut(NumberKind, &Value)) {
        match of {
            Value::List(list) => {
                on(kind, of);
                list.iter().for_each(|item| value(name, kind, item, on));
            }
            Value::Fields(_) => each_leaf(name, of, on),
            leaf => on(kind, leaf),
        }
    }
    match fields {
        Value::Fields(fields) => {
            let property_type = property_type(fields);
            for (field, of) in fields {
                if is_compared(name, field) {
                    value(
                        name,
                        NumberKind::of_field(name, field, property_type),
                        of,
                        on,
                    );
                }
            }
        }
        other => value(name, NumberKind::Plain, other, on),
    }
}

/// Returns false for fields that may differ between equal servers: a server's version, the client's own IDs, shared
/// memory, events that clients send, and the values of font properties, which are numbers or atoms without a type (protocol, section
/// "QueryFont").
pub(super) fn is_compared(message: &str, field: &str) -> bool {
    match message {
        "setup" => !matches!(
            field,
            "release_number" | "vendor" | "resource_id_base" | "resource_id_mask"
        ),
        "QueryFont" | "ListFontsWithInfo" => field != "value",
        // The kernel chose the number.
        "MIT-SHM:Attach" => field != "shmid",
        // The bytes of the event contain ids and times.
        "SendEvent" => field != "event",
        _ => true,
    }
}

/// The property type (an atom) in the field `type` of a message with these fields; `None` if there is no such field.
pub(super) fn property_type(fields: &[(compact_str::CompactString, Value)]) -> Option<u32> {
    let found = fields.iter().find(|(name, _)| name == "type");
    found.and_then(|(_, value)| value.as_u32())
}

/// The pairs of ids and atoms that the two servers chose for the same object.
#[derive(Debug, Default)]
pub(super) struct PairedIds {
    to_other: FxHashMap<ServerNumber, ServerNumber>,
    to_reference: FxHashMap<ServerNumber, ServerNumber>,
}

impl PairedIds {
    /// True if both numbers can have the same meaning. Pairs them if they can be paired.
    pub(super) fn pair(&mut self, reference: ServerNumber, other: ServerNumber) -> bool {
        let can = self.can_pair(reference, other);
        if can {
            self.to_other.insert(reference, other);
            self.to_reference.insert(other, reference);
        }
        can || reference == other
    }

    /// True if the two numbers can have the same meaning: they are equal, were paired before, or neither was paired.
    pub(super) fn can_be_same(&self, reference: ServerNumber, other: ServerNumber) -> bool {
        reference == other || self.can_pair(reference, other)
    }

    fn can_pair(&self, reference: ServerNumber, other: ServerNumber) -> bool {
        match (self.to_other.get(&reference), self.to_reference.get(&other)) {
            (Some(known), _) => *known == other,
            (None, known) => known.is_none(),
        }
    }
}
