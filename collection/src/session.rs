//! A session: one recording with its version, user and date, and the counts of its latencies.

use std::collections::BTreeMap;

use crate::curve;
use crate::episode_row::EpisodeRow;
use crate::hive::Partition;

/// A session: one recording with its properties.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// A hash of the recording's start time, processor model and kernel. All copies of a recording have the same hash,
    /// and other recordings practically never have it.
    pub id: String,
    /// The path of the trace, as the user specified it.
    pub trace: String,
    /// The version of the program, the user, and the date.
    pub partition: Partition,
    /// The beginning of the recording, in nanoseconds since 1970, UTC.
    pub started: u64,
    /// The length of the recording, in nanoseconds.
    pub duration: u64,
    /// The number of episodes of all clients in the recording.
    pub episodes: u64,
    /// True if the recording ended properly.
    pub complete: bool,
}

/// The numbers of episodes of a session, by program, landmark, trigger and step of latency.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Latencies {
    counts: BTreeMap<(Option<String>, String, String, u64), u64>,
}

/// The maximum number of stored combinations of program, landmark, trigger and step in a session.
const KINDS_LIMIT: usize = 20_000;

impl Latencies {
    /// Adds the episode of a row to the counts.
    pub(crate) fn add(&mut self, row: &EpisodeRow) {
        let key = (
            row.program.clone(),
            row.landmark.clone(),
            row.trigger.clone(),
            curve::step(row.latency),
        );
        if self.counts.len() < KINDS_LIMIT || self.counts.contains_key(&key) {
            *self.counts.entry(key).or_default() += 1;
        }
    }

    /// The counts as rows: program, landmark, trigger, lower bound of the step in nanoseconds, and number of episodes.
    pub fn rows(&self) -> impl Iterator<Item = (Option<&str>, &str, &str, u64, u64)> {
        self.counts
            .iter()
            .map(|((program, landmark, trigger, step), count)| {
                (program.as_deref(), &**landmark, &**trigger, *step, *count)
            })
    }
}

/// A hash of the parts as hexadecimal text (64-bit FNV-1a; Fowler, Noll & Vo): the same on every machine and in every
/// version.
pub(crate) fn hash(parts: &[&[u8]]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
