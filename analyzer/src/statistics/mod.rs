//! The statistical distribution of the messages (the paper's Tables 4, 5 and 6): inter-arrival
//! times and sizes, for the four categories and for each kind of message.
//!
//! A message arrives when its last byte is read from the socket: messages of one read arrive together, with an
//! inter-arrival time of zero. The first message of each kind also counts with zero, so there are as many points as
//! messages.

pub(crate) mod distribution;
pub(crate) mod histogram;
pub(crate) mod report;

use rustc_hash::FxHashMap;
use x11prof_protocol::{Message, Symbol};
use x11prof_trace::Timestamp;

use crate::pipeline::{MessageContext, Observation};
use crate::text::pattern::matches;
use distribution::Distribution;

/// Maximum number of kinds of message, because names come from an untrusted trace. Further kinds count only in their
/// category.
const MAX_KINDS: usize = 4096;

/// A category of messages in the statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// The category of requests, which clients send.
    Requests,
    /// Replies, named after their requests.
    Replies,
    /// Events, named after their kind.
    Events,
    /// Errors, named after their kind.
    Errors,
}

impl Category {
    /// All categories, in the order of the paper.
    pub const ALL: [Category; 4] = [
        Category::Requests,
        Category::Replies,
        Category::Events,
        Category::Errors,
    ];

    /// The name of the category, such as `Requests`.
    pub fn name(self) -> &'static str {
        match self {
            Category::Requests => "Requests",
            Category::Replies => "Replies",
            Category::Events => "Events",
            Category::Errors => "Errors",
        }
    }
}

/// The distributions of one kind of message, or of one category.
#[derive(Debug, Clone, Default)]
pub struct MessageStatistics {
    /// The total number of bytes of the messages.
    pub total_bytes: u64,
    /// The nanoseconds from one message to the next.
    pub inter_arrival: Distribution,
    /// The number of bytes of each message.
    pub bytes: Distribution,
    /// The op-size of each request, rounded to whole units; empty for other messages.
    pub op_size: Distribution,
    last: Option<Timestamp>,
}

impl MessageStatistics {
    /// Adds equal messages that were read together.
    fn add(&mut self, times: u64, time: Timestamp, bytes: u64, op_size: Option<f64>) {
        let since = self.last.map_or(0, |last| time.since(last).as_nanos());
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.inter_arrival.add(since);
        self.inter_arrival.add_times(0, times - 1);
        let total = bytes.saturating_mul(times);
        self.total_bytes = self.total_bytes.saturating_add(total);
        self.bytes.add_times(bytes, times);
        if let Some(size) = op_size {
            // A saturating cast; sizes are never negative.
            self.op_size.add_times(size.round() as u64, times);
        }
    }
}

/// The message statistics of a trace.
#[derive(Debug, Default)]
pub struct Statistics {
    categories: [MessageStatistics; 4],
    kinds: FxHashMap<(Category, Symbol), MessageStatistics>,
    /// Patterns of the names whose distributions are reported; empty for all names.
    only: Vec<String>,
}

impl Statistics {
    /// Creates statistics of the kinds of messages whose name matches a pattern in `only`, or of all kinds if `only` is
    /// empty. In a pattern, `*` matches any characters, and `?` matches one.
    pub fn new(only: Vec<String>) -> Statistics {
        Statistics {
            only,
            ..Statistics::default()
        }
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Message(seen) = observation {
            self.message(seen);
        }
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        let (category, name, bytes) = match seen.message {
            Message::Request(request) => (Category::Requests, request.name, request.wire_len),
            Message::Reply(reply) => {
                let name = reply.request.unwrap_or_else(|| Symbol::new("(unpaired)"));
                (Category::Replies, name, reply.wire_len)
            }
            Message::Event(event) => (Category::Events, event.name, event.wire_len),
            Message::Error(error) => (Category::Errors, error.name, error.bytes.len() as u64),
            Message::ClientSetup(_) | Message::ServerSetup(_) | Message::Malformed(_) => return,
        };
        let op_size = seen.operation.map(|operation| operation.op_size);
        self.categories[category as usize].add(seen.times, seen.time, bytes, op_size);
        let key = (category, name);
        let room = self.kinds.len() < MAX_KINDS;
        match self.kinds.get_mut(&key) {
            Some(kind) => kind.add(seen.times, seen.time, bytes, op_size),
            None if room => {
                let kind = self.kinds.entry(key).or_default();
                kind.add(seen.times, seen.time, bytes, op_size);
            }
            None => {}
        }
    }

    /// The statistics over all messages of a category.
    pub fn category(&self, category: Category) -> &MessageStatistics {
        &self.categories[category as usize]
    }

    /// The statistics of the selected kinds of messages, by category and name.
    pub fn kinds(&self) -> Vec<(Category, Symbol, &MessageStatistics)> {
        let wanted = |name: Symbol| {
            self.only.is_empty() || self.only.iter().any(|only| matches(only, name.as_str()))
        };
        let mut kinds: Vec<_> = self
            .kinds
            .iter()
            .filter(|((_, name), _)| wanted(*name))
            .map(|((category, name), kind)| (*category, *name, kind))
            .collect();
        kinds.sort_by_key(|(category, name, _)| (*category, *name));
        kinds
    }

    /// All kinds of messages in a category: name, number of bytes, number of messages.
    pub fn bytes(&self, category: Category) -> Vec<(Symbol, u64, u64)> {
        let mut bytes: Vec<_> = self
            .kinds
            .iter()
            .filter(|((of, _), _)| *of == category)
            .map(|((_, name), kind)| (*name, kind.total_bytes, kind.bytes.number()))
            .collect();
        bytes.sort_by_key(|(name, bytes, _)| (std::cmp::Reverse(*bytes), *name));
        bytes
    }

    /// The selected patterns that match no message.
    pub fn missing(&self) -> Vec<&str> {
        let seen = |only: &String| {
            let mut kinds = self.kinds.keys();
            kinds.any(|(_, name)| matches(only, name.as_str()))
        };
        self.only
            .iter()
            .filter(|only| !seen(only))
            .map(String::as_str)
            .collect()
    }
}
