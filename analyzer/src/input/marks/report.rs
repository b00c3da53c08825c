//! The episodes and stalls around each mark.

use super::{Mark, Marks};
use crate::episodes::{EpisodeReport, EpisodesReport, MarkReport, MarkedEpisode, MarkedStall};
use crate::recording::trace_summary::TraceSummary;
use crate::stalls::report::{StallLine, StallsReport};
use crate::text::units::nanos_ms;

/// Maximum number of episodes and stalls reported for each mark: the longest.
const TOLD: usize = 10;

impl Marks {
    /// Adds the marks to the episodes' report of a trace, each with the episodes and stalls around it.
    pub fn name_in(
        &self,
        report: &mut EpisodesReport,
        summary: &TraceSummary,
        stalls: &StallsReport,
    ) {
        report.marks = self.reports(&report.episodes, summary, stalls);
        report.marks_omitted = self.more;
    }

    fn reports(
        &self,
        episodes: &[EpisodeReport],
        summary: &TraceSummary,
        stalls: &StallsReport,
    ) -> Vec<MarkReport> {
        let first = summary.first().unwrap_or_default().as_nanos();
        // A mark may be from before the first record of clients.
        let since = |time: u64| nanos_ms(time.saturating_sub(first));
        let one = |mark: &Mark| {
            let (from_ms, to_ms) = (since(mark.from()), since(mark.to()));
            let is_around = |start: f64, length: f64| start <= to_ms && start + length >= from_ms;
            let near = episodes
                .iter()
                .filter(|one| one.led_to_by.is_none())
                .filter(|one| is_around(one.start_ms, one.latency_ms));
            let near = longest(near, |one| (one.start_ms, one.latency_ms));
            let held = stalls
                .stalls
                .iter()
                .filter(|one| is_around(one.since_ms, one.held_ms));
            let held = longest(held, |one| (one.since_ms, one.held_ms));
            MarkReport {
                at_ms: since(mark.time),
                text: mark.text.clone(),
                from_ms,
                to_ms,
                server_ms: self.switches.then(|| nanos_ms(mark.server)),
                requests: mark.requests,
                episodes: near.into_iter().map(episode).collect(),
                stalls: held.into_iter().map(stall).collect(),
            }
        };
        self.marks.iter().map(one).collect()
    }
}

fn episode(of: &EpisodeReport) -> MarkedEpisode {
    MarkedEpisode {
        client_name: of.client_name.clone(),
        landmark: of.landmark.clone(),
        start_ms: of.start_ms,
        latency_ms: of.latency_ms,
        culprit: of.culprit,
        mostly: of.mostly.as_ref().map(|at| at.location.clone()),
    }
}

fn stall(of: &StallLine) -> MarkedStall {
    MarkedStall {
        by: of.client.clone(),
        how: of.how.clone(),
        request: of.request.clone(),
        since_ms: of.since_ms,
        held_ms: of.held_ms,
        waiters: of.waited.len() as u64,
    }
}

/// The longest of `all`, by their begin and length, in the order of time.
fn longest<'a, T>(all: impl Iterator<Item = &'a T>, time: impl Fn(&T) -> (f64, f64)) -> Vec<&'a T> {
    let mut all: Vec<&T> = all.collect();
    all.sort_by(|a, b| time(b).1.total_cmp(&time(a).1));
    all.truncate(TOLD);
    all.sort_by(|a, b| time(a).0.total_cmp(&time(b).0));
    all
}
