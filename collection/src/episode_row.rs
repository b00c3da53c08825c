//! An episode as a row: what it was, when, and what its time is made of. No key, text or title is in it.

use x11prof_analyzer::{Episode, Parts, Thresholds, blame};
use x11prof_trace::Timestamp;

/// The parts of an episode's latency, as columns: in the order of [`Parts::OWNERS`].
pub const PART_NAMES: [&str; 12] = [
    "waiting_ns",
    "client_ns",
    "processor_ns",
    "sleeping_ns",
    "lock_ns",
    "file_ns",
    "poll_ns",
    "elsewhere_ns",
    "reply_ns",
    "grabbed_ns",
    "drawing_ns",
    "network_ns",
];

/// One episode. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpisodeRow {
    /// The program of its client.
    pub program: Option<String>,
    /// The number of its client's connection.
    pub client: u32,
    /// The kind of action and the class of the window.
    pub landmark: String,
    /// `input`, `output`, `asynchronous`.
    pub trigger: String,
    /// The tree of its intervals, without their times.
    pub pattern: String,
    /// Where most of its time went: a request's round trips, or a wait.
    pub blame: String,
    /// When it began, since the session's first record.
    pub start: u64,
    /// How long it took.
    pub latency: u64,
    /// From what latency on it is perceptible.
    pub threshold: u64,
    /// Its parts, which add up to the latency.
    pub parts: [u64; 12],
    /// How often the client waited for a reply.
    pub round_trips: u64,
    /// Requests sent.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Why it may have ended elsewhere.
    pub unsure: Option<String>,
}

impl EpisodeRow {
    /// The row of `episode`, in a session whose first record is of the time `first`.
    pub(crate) fn of(
        episode: &Episode,
        program: Option<&str>,
        first: Timestamp,
        thresholds: &Thresholds,
    ) -> EpisodeRow {
        let threshold = thresholds.of(episode.trigger, episode.landmark.as_str());
        EpisodeRow {
            program: program.map(str::to_owned),
            client: episode.client.0,
            landmark: episode.group.to_string(),
            trigger: episode.trigger.name().to_owned(),
            pattern: episode.shape(),
            blame: blame(episode).unwrap_or_default(),
            start: episode.start.as_nanos().saturating_sub(first.as_nanos()),
            latency: episode.latency(),
            threshold: (threshold * 1e6).round() as u64,
            parts: Parts::OWNERS.map(|owner| episode.parts.of(owner)),
            round_trips: episode.round_trips,
            requests: episode.requests,
            bytes: episode.bytes,
            unsure: episode.unsure.map(|why| why.why().to_owned()),
        }
    }
}
