//! The messages of the worst episodes, collected in a second pass over the time ranges of these episodes.

use std::io;

use x11prof_analyzer::{EpisodesReport, Observation};
use x11prof_trace::ConnectionId;

use crate::dump::{Dump, DumpFilter, DumpFormat, Names};

/// The maximum number of episodes with messages.
const MAX_EPISODES: usize = 50;
/// The maximum size of the messages of each episode, in bytes.
const MAX_BYTES: usize = 1 << 18;
/// The time before an episode, in seconds, from which messages are collected. A request of another client in this time
/// may have caused the episode.
const BEFORE: f64 = 0.000_1;

/// Collects the messages of a report's worst episodes.
pub struct Timeline {
    /// For each selected episode: its index in the report, its printer, and the printed text.
    of: Vec<(usize, Dump, Vec<u8>)>,
    names: Names,
    /// The maximum number of bytes of messages for each episode.
    bytes: usize,
}

impl Timeline {
    /// Creates a collector for the first episodes that `report` lists.
    pub fn new(report: &EpisodesReport) -> Timeline {
        let first = 0..report.episodes.len().min(MAX_EPISODES);
        Timeline::of(report, first, MAX_BYTES)
    }

    /// Creates a collector for the `count` longest episodes of `report`, with at most `bytes` bytes of text for each.
    pub fn of_longest(report: &EpisodesReport, count: usize, bytes: usize) -> Timeline {
        let counted = report.episodes.iter().enumerate();
        let counted = counted.filter(|(_, one)| one.led_to_by.is_none());
        let mut places: Vec<usize> = counted.map(|(place, _)| place).collect();
        let latency = |place: usize| report.episodes.get(place).map_or(0.0, |one| one.latency_ms);
        places.sort_by(|&a, &b| latency(b).total_cmp(&latency(a)));
        Timeline::of(report, places.into_iter().take(count), bytes)
    }

    fn of(report: &EpisodesReport, places: impl Iterator<Item = usize>, bytes: usize) -> Timeline {
        let of = places.filter_map(|place| {
            let episode = report.episodes.get(place)?;
            let seconds = episode.start_ms / 1000.0;
            let filter = DumpFilter {
                connection: Some(ConnectionId(episode.client)),
                from: Some(seconds - BEFORE),
                to: Some(seconds + (episode.recorded.1 - episode.recorded.0) as f64 / 1e9),
                ..DumpFilter::default()
            };
            Some((place, Dump::new(DumpFormat::Text, filter), Vec::new()))
        });
        Timeline {
            of: of.collect(),
            names: Names::default(),
            bytes,
        }
    }

    /// Processes the next observation of the second pass over the trace.
    pub fn observe(&mut self, observation: &Observation<'_>) -> io::Result<()> {
        if let Observation::Message(seen) = observation {
            self.names.observe(seen);
        }
        for (_, dump, text) in &mut self.of {
            if text.len() < self.bytes && !dump.is_over() {
                dump.write(observation, &self.names, text)?;
            }
        }
        Ok(())
    }

    /// True if no later observation adds a message.
    pub fn is_over(&self) -> bool {
        let mut of = self.of.iter();
        of.all(|(_, dump, text)| text.len() >= self.bytes || dump.is_over())
    }

    /// Stores the collected messages in the episodes of `report`.
    pub fn into_report(self, report: &mut EpisodesReport) {
        for (place, _, text) in self.of {
            let text = String::from_utf8_lossy(&text);
            if let Some(episode) = report.episodes.get_mut(place) {
                episode.messages = text.lines().map(str::to_owned).collect();
                if text.len() >= self.bytes {
                    let end = episode.start_ms + episode.latency_ms;
                    let [from, to] = [episode.start_ms, end].map(|ms| ms / 1000.0);
                    let more = format!("… more: x11prof dump --from {from:.3} --to {to:.3}");
                    episode.messages.push(more);
                }
            }
        }
    }
}
