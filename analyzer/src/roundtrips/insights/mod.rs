//! Advice on round trips and bytes. Each kind of insight has a file: it observes the clients' replies and reports an action, its
//! reason and its saving.

mod bytes;
mod catalogue;
mod colours;
mod duplicates;
mod motion;
mod pieces;
mod polling;
mod serial;
mod slow;
mod synchronisation;
#[cfg(test)]
mod testing;

use std::collections::{BTreeMap, HashMap};

use x11prof_protocol::{Message, SequenceNumber, Symbol};
use x11prof_session::Session;
use x11prof_trace::ConnectionId;

use crate::forecast::changes::Changes;
use crate::pipeline::{MessageContext, Observation};
use crate::round_trips::{CompletedRequest, PendingRequest};
use crate::text::units::counted;

/// Maximum number of pairs of client and request with findings; further pairs have no findings.
const GROUPS: usize = 4096;
/// Maximum number of requests of a finding that are known individually; further requests are treated like these.
const REQUESTS: usize = 1 << 14;
/// Maximum number of names that a finding lists.
const LISTED: usize = 3;

/// The state at the time of a client's reply.
pub(super) struct Context<'a> {
    pub(super) session: &'a Session,
    /// True if the client is starting up.
    pub(super) starting: bool,
}

/// Advice about the round trips of one client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    /// The name of the kind of insight.
    pub(super) kind: &'static str,
    pub(super) client: ConnectionId,
    /// The main request that the advice is about.
    pub(super) request: Symbol,
    /// The number of requests that the advice is about.
    pub(super) count: u64,
    /// The advice as a sentence in the imperative.
    pub(super) action: String,
    /// The reason for the advice, as a sentence.
    pub(super) why: String,
    pub(super) saves: Saving,
}

/// The saving of one piece of advice.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Saving {
    pub(super) round_trips: u64,
    pub(super) bytes: u64,
    /// The nanoseconds that clients waited in the recording, without the time on an emulated link.
    pub(super) nanos: u64,
    /// The requests whose replies the client need not wait for, or not for as long. Empty if no client waited.
    pub(super) waits: Vec<SequenceNumber>,
    /// The bytes of requests that the client need not send.
    pub(super) not_sent: Vec<(SequenceNumber, u64)>,
    /// The bytes of replies that the server need not send.
    pub(super) not_returned: Vec<(SequenceNumber, u64)>,
}

/// Avoidable round trips.
#[derive(Debug, Clone, Default)]
struct AvoidableTrips {
    round_trips: u64,
    nanos: u64,
    requests: Vec<SequenceNumber>,
}

impl AvoidableTrips {
    fn add(&mut self, answer: &CompletedRequest<'_>) {
        if answer.how.is_round_trip() {
            self.round_trips += 1;
            self.nanos = self.nanos.saturating_add(answer.waited_locally());
            remember(&mut self.requests, [answer.question.sequence]);
        }
    }

    fn saving(&self, bytes: u64) -> Saving {
        Saving {
            round_trips: self.round_trips,
            bytes,
            nanos: self.nanos,
            waits: self.requests.clone(),
            ..Saving::default()
        }
    }
}

/// Adds requests to a finding's list, up to a limit.
fn remember(known: &mut Vec<SequenceNumber>, more: impl IntoIterator<Item = SequenceNumber>) {
    let room = REQUESTS.saturating_sub(known.len());
    known.extend(more.into_iter().take(room));
}

/// Insights that the recorder can apply for the program: kind of insight, request, and experiment of `record --try`.
pub const TRIED: [(&str, &str, &str); 3] = [
    ("duplicates", "QueryExtension", "answer-queries"),
    ("duplicates", "InternAtom", "answer-atoms"),
    ("slow", "RANDR:GetScreenResources", "current-resources"),
];

impl Finding {
    /// The changes of the program's behaviour that follow from the advice.
    pub(super) fn changes(&self) -> Changes {
        let mut changes = Changes::default();
        if self.saves.round_trips > 0 {
            changes.do_not_await(self.client, self.saves.waits.iter().copied());
        }
        let key = |(request, bytes): &(SequenceNumber, u64)| ((self.client, *request), *bytes);
        changes.not_sent.extend(self.saves.not_sent.iter().map(key));
        changes
            .not_returned
            .extend(self.saves.not_returned.iter().map(key));
        changes
    }

    /// The experiment of `record --try` that tests the advice; `None` if there is none.
    pub(super) fn fix(&self) -> Option<&'static str> {
        let of = |(kind, request, _): &&(&str, &str, _)| {
            *kind == self.kind && *request == self.request.as_str()
        };
        TRIED.iter().find(of).map(|(_, _, fix)| *fix)
    }
}

/// A kind of insight.
trait Insight: std::fmt::Debug {
    /// Processes an observation of the pass over the trace, about any client.
    fn observe(&mut self, _observation: &Observation<'_>) {}

    /// Processes a reply to one of the selected clients.
    fn answered(&mut self, answer: &CompletedRequest<'_>, context: &Context<'_>);

    /// The findings of the insight so far.
    fn findings(&self) -> Vec<Finding>;
}

/// The analyses that find advice, one for each kind of insight.
#[derive(Debug)]
pub(super) struct Insights(Vec<Box<dyn Insight>>);

impl Default for Insights {
    fn default() -> Insights {
        Insights(vec![
            Box::<serial::Serial>::default(),
            Box::<duplicates::Duplicates>::default(),
            Box::<synchronisation::Synchronisation>::default(),
            Box::<motion::Motion>::default(),
            Box::<polling::Polling>::default(),
            Box::<pieces::Pieces>::default(),
            Box::<colours::Colours>::default(),
            Box::<slow::SlowReplies>::default(),
            Box::<bytes::UnneededBytes>::default(),
        ])
    }
}

impl Insights {
    pub(super) fn observe(&mut self, observation: &Observation<'_>) {
        self.0.iter_mut().for_each(|one| one.observe(observation));
    }

    pub(super) fn answered(&mut self, answer: &CompletedRequest<'_>, context: &Context<'_>) {
        let all = self.0.iter_mut();
        all.for_each(|one| one.answered(answer, context));
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        self.0.iter().flat_map(|one| one.findings()).collect()
    }
}

/// Counts by client and another key, with a limit.
#[derive(Debug)]
struct Groups<K, V>(HashMap<(ConnectionId, K), V>);

impl<K, V> Default for Groups<K, V> {
    fn default() -> Groups<K, V> {
        Groups(HashMap::new())
    }
}

impl<K: std::hash::Hash + Eq + Ord + Copy, V: Default> Groups<K, V> {
    /// The group of a client and `key`; `None` if there are too many groups.
    fn of(&mut self, client: ConnectionId, key: K) -> Option<&mut V> {
        let key = (client, key);
        if self.0.len() >= GROUPS && !self.0.contains_key(&key) {
            return None;
        }
        Some(self.0.entry(key).or_default())
    }

    /// Returns the groups in an order that is the same in each run.
    fn all(&self) -> impl Iterator<Item = (ConnectionId, K, &V)> {
        let mut keys: Vec<_> = self.0.iter().collect();
        keys.sort_by_key(|(key, _)| **key);
        keys.into_iter()
            .map(|((client, key), value)| (*client, *key, value))
    }
}

/// Counts of names.
#[derive(Debug, Clone, Default)]
struct Names(BTreeMap<Symbol, u64>);

impl Names {
    fn add(&mut self, name: Symbol) {
        if self.0.len() < 64 || self.0.contains_key(&name) {
            *self.0.entry(name).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &Names) {
        for (name, count) in &other.0 {
            if self.0.len() < 64 || self.0.contains_key(name) {
                *self.0.entry(*name).or_default() += count;
            }
        }
    }

    /// The most frequent name and its count.
    fn first(&self) -> Option<(Symbol, u64)> {
        let most = self.0.iter().max_by_key(|(_, count)| **count);
        most.map(|(name, count)| (*name, *count))
    }

    /// Returns the names with their counts, for example `75 GetAtomName, 2 GetProperty and 3 others`.
    fn list(&self) -> String {
        let mut all: Vec<(Symbol, u64)> = self.0.iter().map(|(name, n)| (*name, *n)).collect();
        all.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let rest: u64 = all.iter().skip(LISTED).map(|(_, count)| count).sum();
        let named = all.iter().take(LISTED);
        let mut words: Vec<String> = named
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        if rest > 0 {
            words.push(counted(rest, "other"));
        }
        let last = words.pop().unwrap_or_default();
        match words.is_empty() {
            true => last,
            false => format!("{} and {last}", words.join(", ")),
        }
    }
}

/// Returns the name that a request contains: of an atom, a property or an extension; `None` if there is none.
fn topic(session: &Session, question: &PendingRequest) -> Option<Symbol> {
    let text = |at: usize| {
        let length = usize::from(question.u16(0)?);
        let name = question.body.get(at..at + length)?;
        Some(Symbol::new(&String::from_utf8_lossy(name)))
    };
    match question.name.as_str() {
        "InternAtom" | "QueryExtension" => text(4),
        "GetProperty" => question.u32(4).map(|atom| session.atom_label(atom)),
        "GetAtomName" | "GetSelectionOwner" => question.u32(0).map(|atom| session.atom_label(atom)),
        _ => None,
    }
}

/// True if a message reports a pointer motion to a client.
fn is_motion(seen: &MessageContext<'_>) -> bool {
    matches!(seen.message, Message::Event(event) if matches!(
        event.name.as_str(),
        "MotionNotify" | "XInputExtension:Motion" | "XInputExtension:RawMotion"
    ))
}
