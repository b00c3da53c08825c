//! Episodes: the latency of each action of a user until its response was complete, and its causes.
//!
//! An episode is the handling of one stimulus by one client (LiLa; the thesis, chapter 4). [`collect`] converts the
//! pipeline's observations to timeline events. [`episode_tracker`] passes each event to the [`client_state`] of its
//! client, which opens and closes episodes. [`server`] adds the time of the last drawing, [`cross_client`] links
//! episodes of several clients that caused each other, and [`findings`] sums finished episodes in bounded memory.

mod awaited;
mod bursts;
mod cause;
mod client_state;
mod client_threads;
mod clock;
mod collect;
mod cross_client;
mod crossings;
mod episode;
mod episode_tracker;
mod findings;
mod interval_union;
mod keyboard;
mod kinds;
mod landmarks;
mod latency_component;
mod location;
mod long_episodes;
mod modal;
mod obstacles;
mod open_episode;
mod outline;
mod patterns;
mod present;
mod queue;
mod report;
mod series;
mod server;
mod starting;
mod states;
pub(crate) mod stimulus;
#[cfg(test)]
mod tests;
mod thread;
mod thresholds;
mod timeline_event;
mod together;
mod tree;
mod user;
mod visible_clients;
mod windows;

use std::sync::Arc;

use x11prof_trace::{Control, Timestamp};

use crate::forecast::ForecastTimes;

use crate::pipeline::Observation;
use crate::threads::delays::SILENCE;
use client_state::Spans;
use collect::Collector;
use episode_tracker::EpisodeTracker;
use starting::Starting;
use visible_clients::VisibleClients;

pub use awaited::{AwaitedOutcome, AwaitedRequest};
pub use cause::{Cause, ServerCause};
pub use episode::{Child, Episode, LatencyBreakdown, LatencyComponent, Trigger, Unsure};
pub use findings::Findings;
pub(crate) use keyboard::Keyboard;
pub use location::component_name;
pub use report::{
    ApartReport, AwaitedReport, BacklogReport, BlameReport, Blamed, BurstReport, CausesReport,
    ChildReport, CumulativeReport, DurationReport, EpisodeReport, EpisodesReport, EventTypeReport,
    ExclusiveReport, HeldUpReport, LandmarkReport, LocationReport, LoopReport, MarkReport,
    MarkedEpisode, MarkedStall, ModalReport, OutliersReport, PartsReport, PathReport,
    PatternReport, PhasesReport, ResourceUse, SeriesReport, SummaryReport, ThinkReport,
    TriggerReport,
};
pub use thresholds::{ThresholdError, Thresholds};
pub use user::definition::{EventDefinition, EventDefinitions};
pub use user::file::EventFileError;
pub(crate) use windows::shows;

/// A client's present wait for an open request is listed from this length on, in milliseconds.
const SHORT_MS: f64 = 100.0;

/// The options of an analysis of episodes.
#[derive(Debug, Clone)]
pub struct EpisodeOptions {
    /// The latencies from which episodes are perceptible, by trigger.
    pub thresholds: Thresholds,
    /// The length of a frame of the screen, in milliseconds.
    pub frame_ms: f64,
    /// Selects clients whose name contains this text, or the client with this number; `None` selects all clients.
    pub client: Option<String>,
    /// Selects landmarks that contain this text; `None` selects all landmarks.
    pub landmark: Option<String>,
    /// Selects episodes that begin this many seconds after the recording's start, or later; `None` for no limit.
    pub from_s: Option<f64>,
    /// Selects episodes that begin this many seconds after the recording's start, or earlier; `None` for no limit.
    pub to_s: Option<f64>,
    /// If true, selects only the episode that begins at `from_s` and ends at `to_s`.
    pub single: bool,
    /// The number of longest episodes to list; `None` lists all episodes.
    pub worst: Option<usize>,
    /// The times over another link, which replace the recorded times; `None` keeps the recorded times.
    pub link: Option<Arc<ForecastTimes>>,
    /// The user-defined events; empty without an event file.
    pub events: EventDefinitions,
}

impl Default for EpisodeOptions {
    fn default() -> EpisodeOptions {
        EpisodeOptions {
            thresholds: Thresholds::default(),
            frame_ms: 1000.0 / 60.0,
            client: None,
            landmark: None,
            from_s: None,
            to_s: None,
            single: false,
            worst: None,
            link: None,
            events: EventDefinitions::default(),
        }
    }
}

impl EpisodeOptions {
    /// The length of a frame of the screen in nanoseconds.
    pub(crate) fn frame(&self) -> u64 {
        (self.frame_ms.clamp(0.1, 10_000.0) * 1e6) as u64
    }
}

/// Finds the episodes in a recording, from the observations of a pass.
#[derive(Debug)]
pub struct Episodes {
    collector: Collector,
    tracker: EpisodeTracker,
    starting: Starting,
    /// `None` with a client or landmark filter: then every matching episode counts.
    audience: Option<VisibleClients>,
    findings: Findings,
    finished: Vec<Episode>,
}

impl Episodes {
    /// Creates an analysis that has observed nothing.
    pub fn new(options: &EpisodeOptions) -> Episodes {
        Episodes {
            collector: Collector::new(options.events.clone()),
            tracker: EpisodeTracker::new(Spans {
                frame: options.frame(),
                silence: SILENCE,
            }),
            starting: Starting::default(),
            audience: (options.client.is_none() && options.landmark.is_none())
                .then(VisibleClients::default),
            findings: Findings::new(options),
            finished: Vec::new(),
        }
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.finished.clear();
        self.findings.observe(observation);
        if let Observation::Control(time, control) = observation {
            self.control(*time, control);
        }
        if let Observation::Started(start_up) = observation {
            let first = self.findings.first.unwrap_or_default();
            self.starting.started(start_up, first);
        }
        self.pass_on();
        for (time, timeline_event) in self.collector.observe(observation) {
            if let Some(audience) = &mut self.audience {
                audience.happened(&timeline_event);
            }
            self.starting.until(time);
            self.tracker.happened(time, &timeline_event);
            self.pass_on();
        }
    }

    fn control(&mut self, time: Timestamp, control: &Control) {
        match control {
            Control::Asleep { .. } => self.tracker.asleep(time.as_nanos()),
            Control::BlockedStack { .. } => self.findings.has_blocked_stacks = true,
            Control::RunStack { .. } => self.findings.has_cpu_stacks = true,
            Control::Server(server) => self.tracker.set_server(server.pid),
            Control::Network(_) => self.tracker.emulated_link(),
            Control::Link(link) if link.is_remote() => self.tracker.emulated_link(),
            Control::Attached {} => self.tracker.attached(),
            Control::Hole { .. } => self.tracker.hole(),
            Control::Opened(opened) => self.starting.opened(opened.connection),
            Control::Joined(joined) if !joined.setup => self.starting.joined(joined.connection),
            // A client that sends nothing is not joined.
            Control::Existing(existing) => {
                let clients = existing.clients.iter();
                clients.for_each(|one| self.tracker.joined(one.connection));
            }
            _ => {}
        }
    }

    /// The episodes that the last observation completed. Each is returned in two states ([`Episode::settled`]): first
    /// when the client has ended the episode, and again, if it counts, when its effects on other clients are known.
    pub fn finished(&self) -> &[Episode] {
        &self.finished
    }

    /// The settled episodes among [`Episodes::finished`].
    pub fn settled(&self) -> impl Iterator<Item = &Episode> {
        self.finished.iter().filter(|episode| episode.settled)
    }

    /// The waits for open requests that clients have at `now` (nanoseconds), without short waits, which are usual. `first`
    /// is the time of the trace's first record.
    pub(crate) fn waits_at(&self, now: u64, first: Timestamp) -> Vec<AwaitedReport> {
        let waits = self.tracker.waits_at(Timestamp::from_nanos(now));
        let mut waits = AwaitedReport::all(&waits, &self.findings, first);
        waits.retain(|one| one.ms >= SHORT_MS);
        waits
    }

    /// The loops with a step at `since` or later (nanoseconds).
    pub(crate) fn loops_since(&self, since: u64, first: Timestamp) -> Vec<LoopReport> {
        let all = self.tracker.loops.list().into_iter();
        LoopReport::all(all.filter(|one| one.last >= since), &self.findings, first)
    }

    /// The backlogs of pointer motion that clients have at `now` (nanoseconds).
    pub(crate) fn backlogs_at(&self, now: u64, first: Timestamp) -> Vec<BacklogReport> {
        let all = self.tracker.states().filter_map(|one| one.backlog_at(now));
        BacklogReport::all(all.collect(), &self.findings, first)
    }

    /// Passes complete episodes from each stage to the next.
    fn pass_on(&mut self) {
        for episode in self.tracker.finished.drain(..) {
            match episode.settled {
                true => self.starting.take(episode),
                false => self.finished.push(episode),
            }
        }
        let complete = match &mut self.audience {
            Some(audience) => {
                for episode in self.starting.ready.drain(..) {
                    audience.take(episode);
                }
                &mut audience.ready
            }
            None => &mut self.starting.ready,
        };
        for episode in complete.drain(..) {
            if !self.findings.is_of_end(&episode) {
                self.findings.add(&episode);
                self.finished.push(episode);
            }
        }
    }

    /// Ends the trace; [`Episodes::finished`] returns the episodes that end with it.
    pub fn end(&mut self) {
        self.finished.clear();
        let end = self.collector.newest();
        self.tracker.finish(end);
        self.pass_on();
        self.starting.finish();
        self.pass_on();
        if let Some(audience) = &mut self.audience {
            self.findings.left_out = audience.finish();
            self.pass_on();
        }
        self.findings.backlogs = self.tracker.take_backlogs();
        self.findings.loops = std::mem::take(&mut self.tracker.loops);
        self.findings.obstacles = self.tracker.take_obstacles();
        self.findings.ended(Timestamp::from_nanos(end));
    }

    /// Ends the trace, and returns the findings.
    pub fn finish(mut self) -> Findings {
        self.end();
        self.findings
    }
}
