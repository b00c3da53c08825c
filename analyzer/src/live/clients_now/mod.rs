//! The current costs of each client: rates over the last seconds.
//!
//! Server time is the sum over the periods of the time window, each of which has separate sums. All other figures are
//! growing sums. Snapshots of the sums are kept for the length of the time window; a rate is the difference between the
//! oldest and the newest snapshot. So the rates of a live recording, a finished recording and a part of it are computed
//! in the same way.

pub(crate) mod report;
mod request_rates;
mod rows;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use x11prof_cost_model::{ServerParameters, Substitutions};

use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::episodes::{EpisodeOptions, Episodes};
use crate::pipeline::Observation;
use crate::profile::groups::By;
use crate::profile::{Profile, TimeSourceOption};
use crate::recording::trace_summary::TraceSummary;
use crate::resources::Resources;
use crate::stalls::Stalls;
use request_rates::RequestRates;
use snapshot::Snapshot;

/// The number of snapshots in a time window, enough to detect growth in each quarter of it.
const SNAPSHOTS: u64 = 8;
/// Maximum number of clients with round trips; beyond it, disconnected clients are dropped.
const CLIENTS: usize = 2048;

/// The settings of the time window.
#[derive(Debug, Clone, Copy)]
pub struct NowOptions {
    /// The length of the time window over which rates are computed, in seconds.
    pub seconds: f64,
    /// The time for which one client may occupy the server before it is listed as a stall, in milliseconds.
    pub frame_ms: f64,
    /// The source of the server times.
    pub basis: TimeSourceOption,
}

/// The current activity of a display's clients.
pub struct ClientsNow {
    window: u64,
    pub(crate) summary: TraceSummary,
    pub(crate) profile: Profile,
    pub(crate) resources: Resources,
    pub(crate) stalls: Stalls,
    questions: RequestRates,
    /// What clients wait for besides the server: other clients, and their own backlogs.
    episodes: Episodes,
    connected: BTreeSet<ConnectionId>,
    snapshots: VecDeque<Snapshot>,
    /// True once the time window has begun to move.
    begun: bool,
    now: u64,
}

impl ClientsNow {
    /// Creates the analysis. `parameters` has the costs of the server.
    pub fn new(
        parameters: &ServerParameters,
        substitutions: &Substitutions,
        options: &NowOptions,
    ) -> ClientsNow {
        let profile = Profile::new(parameters, substitutions);
        ClientsNow {
            window: (options.seconds.clamp(0.1, 86_400.0) * 1e9) as u64,
            summary: TraceSummary::default(),
            profile: profile.stacked(By::Window).on(options.basis),
            resources: Resources::default(),
            stalls: Stalls::new(parameters, substitutions, options.frame_ms),
            questions: RequestRates::default(),
            episodes: Episodes::new(&EpisodeOptions {
                worst: Some(1),
                ..EpisodeOptions::default()
            }),
            connected: BTreeSet::new(),
            snapshots: VecDeque::new(),
            begun: false,
            now: 0,
        }
    }

    /// Starts to count and to move the time window. Earlier observations only set up the state.
    pub fn begin(&mut self) {
        self.begun = true;
        self.profile.start_afresh();
    }

    /// Processes the next observation of a pass that emits context switches before the messages of their time.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::BlockStart(block) => self.until(block.time),
            Observation::Control(time, control) => {
                self.until(*time);
                match control {
                    Control::Opened(opened) => {
                        self.connected.insert(opened.connection);
                    }
                    Control::Closed { connection, .. } => {
                        self.connected.remove(connection);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        self.summary.observe(observation);
        self.profile.observe(observation);
        self.resources.observe(observation);
        let cost = self.profile.last_cost();
        self.stalls.observe_with_cost(observation, cost);
        self.questions.observe(observation);
        self.episodes.observe(observation);
    }

    /// Ends the recording, and counts all messages up to its end.
    pub fn end(&mut self) {
        self.profile.end();
    }

    /// Processes an observation after the end of the time window.
    pub fn after(&mut self, observation: &Observation<'_>) {
        self.profile.after(observation);
    }

    /// Notes that no record arrived before `time`, and advances the time window to it.
    pub fn until(&mut self, time: Timestamp) {
        self.now = self.now.max(time.as_nanos());
        let due = |last: &Snapshot| self.now.saturating_sub(last.time) >= self.window / SNAPSHOTS;
        if self.begun && self.snapshots.back().is_none_or(due) {
            if let Some(first) = self.snapshots.front() {
                self.profile.begin_period(first.period);
            }
            let snapshot = self.snapshot();
            self.snapshots.push_back(snapshot);
            // The oldest snapshot is at least as old as the time window.
            while self
                .snapshots
                .get(1)
                .is_some_and(|second| self.now.saturating_sub(second.time) >= self.window)
            {
                self.snapshots.pop_front();
            }
            if self.questions.client_waits().len() > CLIENTS {
                let connected = &self.connected;
                self.questions.retain(|client| connected.contains(&client));
            }
        }
    }

    /// Restarts the time window and all counts, with the costs of `parameters`.
    pub(crate) fn afresh(&mut self, parameters: &ServerParameters, substitutions: &Substitutions) {
        let empty = Profile::new(parameters, substitutions);
        let before = std::mem::replace(&mut self.profile, empty);
        self.profile = before.afresh(parameters, substitutions);
        self.summary.start_afresh();
        self.resources.start_afresh();
        self.stalls.start_afresh();
        self.snapshots.clear();
    }

    fn snapshot(&self) -> Snapshot {
        let clients = self.resources.clients.iter();
        let held = clients.filter(|(_, client)| client.closed.is_none());
        let held = held.map(|(id, client)| {
            let kinds = client.kinds.iter();
            let kinds = kinds.map(|(kind, of)| (*kind, (of.counts.held, of.counts.held_bytes)));
            (id, kinds.collect::<BTreeMap<_, _>>())
        });
        Snapshot {
            time: self.now,
            period: self.profile.period(),
            client_waits: self.questions.client_waits().clone(),
            held: held.collect(),
            own: self.profile.own_share(),
        }
    }
}
