//! Episodes: the latency of each action of a user until its response was complete, and its causes.
//!
//! An episode is the handling of one stimulus by one client (LiLa; the thesis, chapter 4). The data take
//! this way: [`collect`] makes timeline events of the pipeline's observations; [`episode_tracker`] hands
//! each to the [`client_state`] of its client, which opens and closes episodes; [`server`] adds the time of
//! the last drawing; [`across`] joins episodes of several clients that led to each other; [`findings`] adds
//! finished ones up, in bounded memory.

mod across;
mod audience;
mod bursts;
mod cause;
mod client_state;
mod client_threads;
mod clock;
mod collect;
mod crossings;
mod cumulative;
mod episode;
mod episode_tracker;
mod findings;
mod interval_union;
mod keyboard;
mod kinds;
mod landmarks;
mod location;
mod long_episodes;
mod modal;
mod open_episode;
mod outline;
mod owner;
mod patterns;
mod present;
mod queue;
mod repeated;
mod report;
mod series;
mod server;
mod starting;
mod states;
mod stimulus;
#[cfg(test)]
mod tests;
mod thread;
mod thresholds;
mod timeline_event;
mod tree;
mod user;
mod windows;

use x11prof_cost_model::Network;
use x11prof_trace::{Control, Timestamp};

use crate::activity::delays::SILENCE;
use crate::pipeline::Observation;
use audience::Audience;
use client_state::Spans;
use collect::Collector;
use episode_tracker::EpisodeTracker;
use starting::Starting;

pub use cause::{Cause, ServerCause};
pub use episode::{Child, Episode, Owner, Parts, Trigger, Unsure};
pub use findings::{Findings, Unmatched};
pub(crate) use keyboard::Keyboard;
pub use repeated::{Figure, RepeatedLandmark, RepeatedReport};
pub use report::{
    ApartReport, BlameReport, Blamed, BurstReport, CausesReport, ChildReport, CumulativeReport,
    DurationReport, EpisodeReport, EpisodesReport, EventTypeReport, ExclusiveReport, HeldUpReport,
    LandmarkReport, LocationReport, MarkReport, MarkedEpisode, MarkedStall, ModalReport,
    OutliersReport, PartsReport, PathReport, PatternReport, PhasesReport, ResourceUse,
    SeriesReport, SummaryReport, ThinkReport, TriggerReport,
};
pub use thresholds::{ThresholdError, Thresholds};
pub use user::definition::{EventDefinition, EventDefinitions};
pub use user::file::EventFileError;
pub(crate) use windows::shows;

/// The user's choices.
#[derive(Debug, Clone)]
pub struct EpisodeOptions {
    /// The latency from which an episode is perceptible, by trigger.
    pub thresholds: Thresholds,
    /// The length of a frame, in milliseconds.
    pub frame_ms: f64,
    /// Only the clients whose name holds this, or whose number it is.
    pub client: Option<String>,
    /// Only the landmarks that hold this.
    pub landmark: Option<String>,
    /// Only those that begin N seconds after the recording's start or later.
    pub from_s: Option<f64>,
    /// Only those that begin N seconds after the recording's start or earlier.
    pub to_s: Option<f64>,
    /// List this many of the longest only.
    pub worst: Option<usize>,
    /// The network that the episodes are thought to take place over, besides what was recorded.
    pub net: Network,
    /// The user's own events; none where there is no file of them.
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
            worst: None,
            net: Network::NONE,
            events: EventDefinitions::default(),
        }
    }
}

impl EpisodeOptions {
    /// The length of a frame in nanoseconds.
    pub(crate) fn frame(&self) -> u64 {
        (self.frame_ms.clamp(0.1, 10_000.0) * 1e6) as u64
    }
}

/// Finds the episodes in what it observes.
#[derive(Debug)]
pub struct Episodes {
    collector: Collector,
    tracker: EpisodeTracker,
    starting: Starting,
    /// `None` where the user asks for a client or a landmark: then every episode of the client or landmark counts.
    audience: Option<Audience>,
    findings: Findings,
}

impl Episodes {
    /// An analysis that has observed nothing yet.
    pub fn new(options: &EpisodeOptions) -> Episodes {
        Episodes {
            collector: Collector::new(options.events.clone()),
            tracker: EpisodeTracker::new(Spans {
                frame: options.frame(),
                silence: SILENCE,
            }),
            starting: Starting::default(),
            audience: (options.client.is_none() && options.landmark.is_none())
                .then(Audience::default),
            findings: Findings::new(options),
        }
    }

    /// Takes the next observation of a pass.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.observe_both(observation, |_| {}, |_| {});
    }

    /// Observes like `observe`, but hands out each episode at its end, before its effects on other clients are known.
    pub fn observe_early(&mut self, observation: &Observation<'_>, early: impl FnMut(&Episode)) {
        self.observe_both(observation, early, |_| {});
    }

    /// Observes like `observe`; `early` takes each episode at its end, `on` once its effects on other clients are
    /// known.
    pub fn observe_both(
        &mut self,
        observation: &Observation<'_>,
        mut early: impl FnMut(&Episode),
        mut on: impl FnMut(&Episode),
    ) {
        let Episodes {
            collector,
            tracker,
            starting,
            audience,
            findings,
        } = self;
        findings.modal.observe(observation);
        findings.user.observe(observation);
        if let Observation::BlockStart(block) = observation {
            findings.last_act = block.time;
        }
        if let Observation::Control(time, control) = observation {
            findings.first.get_or_insert(*time);
            match control {
                Control::Server(server) => {
                    tracker.set_server(server.pid);
                    findings.set_server(server.pid);
                }
                Control::Network(_) => tracker.emulated_link(),
                Control::Ended { .. } => findings.recorded_until(*time),
                Control::Ending {} => findings.ending = Some(*time),
                Control::Attached {} => tracker.attached(),
                Control::Hole { .. } => tracker.hole(),
                Control::Opened(opened) => {
                    findings.first_act.get_or_insert(*time);
                    findings.last_act = *time;
                    findings.opened(*time, opened);
                    starting.opened(opened.connection);
                }
                Control::Closed { connection, .. } => {
                    findings.last_act = *time;
                    findings.closed(*time, *connection);
                }
                _ => {}
            }
        }
        if let Observation::Switches(steps) = observation {
            steps.iter().for_each(|step| findings.step(step));
        }
        let first = findings.first.unwrap_or_default();
        let mut add = |episode: Episode| {
            if !findings.is_of_end(&episode) {
                on(&episode);
                findings.add(&episode);
            }
        };
        match observation {
            Observation::Started(one) => {
                starting.told(one, first, &mut |episode| pass(audience, episode, &mut add));
            }
            Observation::Control(_, Control::Joined(joined)) if !joined.setup => {
                let id = joined.connection;
                starting.joined(id, &mut |episode| pass(audience, episode, &mut add));
            }
            _ => {}
        }
        collector.observe(observation, |time, timeline_event| {
            if let Some(audience) = audience.as_mut() {
                audience.happened(&timeline_event, &mut add);
            }
            starting.until(time, &mut |episode| pass(audience, episode, &mut add));
            tracker.happened(time, &timeline_event, &mut early, &mut |episode| {
                starting.take(episode, &mut |episode| pass(audience, episode, &mut add));
            });
        });
    }

    /// The trace has ended: what was found.
    pub fn finish(self) -> Findings {
        self.finish_with(|_| {})
    }

    /// Finishes like `finish`, and hands out each episode that ends with the trace.
    pub fn finish_with(mut self, mut on: impl FnMut(&Episode)) -> Findings {
        let Episodes {
            collector,
            tracker,
            starting,
            audience,
            findings,
        } = &mut self;
        findings.user.observed();
        let mut add = |episode: Episode| {
            if !findings.is_of_end(&episode) {
                on(&episode);
                findings.add(&episode);
            }
        };
        let end = collector.newest();
        tracker.finish(end, &mut |episode| {
            starting.take(episode, &mut |episode| pass(audience, episode, &mut add));
        });
        starting.finish(&mut |episode| pass(audience, episode, &mut add));
        let left_out = audience
            .take()
            .map(|mut audience| audience.finish(&mut add));
        findings.left_out = left_out.unwrap_or(0);
        findings.ended(Timestamp::from_nanos(end));
        self.findings
    }
}

/// An episode goes to those who wait for it, where that is asked.
fn pass(audience: &mut Option<Audience>, episode: Episode, add: &mut impl FnMut(Episode)) {
    match audience {
        Some(audience) => audience.take(episode, add),
        None => add(episode),
    }
}
