//! The messages of the worst episodes: a second reading of the trace, for their time only.

use std::io;

use x11prof_analyzer::{EpisodesReport, Observation};
use x11prof_trace::ConnectionId;

use crate::dump::{Dump, DumpFilter, DumpFormat};

/// Episodes whose messages are shown at most.
const MOST_EPISODES: usize = 50;
/// Bytes of messages kept of one episode.
const MOST_BYTES: usize = 1 << 18;
/// Before an episode's beginning, in seconds: the request of another client that led to it.
const BEFORE: f64 = 0.000_1;

/// Collects the messages of the episodes of a report.
pub struct Timeline {
    of: Vec<(Dump, Vec<u8>)>,
}

impl Timeline {
    /// For the episodes that `report` lists, the first of them where they are many.
    pub fn new(report: &EpisodesReport) -> Timeline {
        let of = report.episodes.iter().take(MOST_EPISODES).map(|episode| {
            let seconds = episode.start_ms / 1000.0;
            let filter = DumpFilter {
                connection: Some(ConnectionId(episode.client)),
                from: Some(seconds - BEFORE),
                to: Some(seconds + episode.latency_ms / 1000.0),
                ..DumpFilter::default()
            };
            (Dump::new(DumpFormat::Text, filter), Vec::new())
        });
        Timeline { of: of.collect() }
    }

    /// Takes the next observation of the second pass.
    pub fn observe(&mut self, observation: &Observation<'_>) -> io::Result<()> {
        for (dump, text) in &mut self.of {
            if text.len() < MOST_BYTES {
                dump.observe(observation, text)?;
            }
        }
        Ok(())
    }

    /// Puts what was found into the report.
    pub fn into_report(self, report: &mut EpisodesReport) {
        for ((_, text), episode) in self.of.into_iter().zip(&mut report.episodes) {
            let text = String::from_utf8_lossy(&text);
            episode.messages = text.lines().map(str::to_owned).collect();
        }
    }
}
