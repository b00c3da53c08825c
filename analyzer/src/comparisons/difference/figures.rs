//! The figures of one recording that are compared with the figures of another recording.

use std::collections::BTreeMap;

use serde::Serialize;
use x11prof_cost_model::Network;

use crate::clients::{ClientChoice, Unmatched};
use crate::episodes::{EpisodeOptions, Episodes, EpisodesReport};
use crate::input::played::{Played, PlayedAction};
use crate::pipeline::Observation;
use crate::pipeline::start_up::StartUpReport;
use crate::profile::Profile;
use crate::profile::report::ProfileReport;
use crate::recording::trace_summary::TraceSummary;
use crate::resources::Resources;
use crate::resources::report::ResourceReport;
use crate::server_time::TimeSource;

/// The kind of a figure that two versions of a program are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The number of requests, by kind.
    Requests,
    /// The number of bytes of requests, by kind of request.
    RequestBytes,
    /// The number of requests whose reply the client waited for, by kind.
    RoundTrips,
    /// The number of events, by kind.
    Events,
    /// The number of bytes of replies, events and errors.
    #[serde(rename = "reply_bytes")]
    AnswerBytes,
    /// The number of created resources, by kind.
    ResourcesCreated,
    /// The number of resources that still existed when their client or the recording ended, by kind.
    ResourcesLeft,
    /// The server's time in milliseconds, by kind of request.
    ServerMs,
    /// The clients' CPU time in milliseconds, as the kernel measured it.
    ClientMs,
    /// The time from the first client's connection to the last activity of a client, in milliseconds.
    WallMs,
    /// The number of requests that the recorder changed (`record --try`), by experiment.
    #[serde(rename = "changed_requests")]
    Tried,
    /// The start-up of the recorded command, or of the slowest program, in milliseconds.
    StartUpMs,
    /// The number of replies that the program waited for during start-up.
    StartUpRoundTrips,
    /// The number of episodes: all, of 3 ms and more, of 100 ms and more.
    Episodes,
    /// The episodes' total latency, and its 75th and 98th percentiles, in milliseconds.
    EpisodeMs,
    /// The mean latency of a user action in milliseconds, by the kind of action and the class of the window; in
    /// recordings of `drive`, by the number and text of the action.
    ActionMs,
}

impl Quantity {
    /// True for quantities that are counts, false for measured times.
    pub fn is_count(self) -> bool {
        self.resolution() > 0.0
    }

    /// Returns the resolution of the quantity; 0 for times, which have a resolution of one nanosecond.
    pub(crate) fn resolution(self) -> f64 {
        match self {
            // Requests are padded to four bytes.
            Quantity::RequestBytes | Quantity::AnswerBytes => 4.0,
            Quantity::ServerMs
            | Quantity::ClientMs
            | Quantity::WallMs
            | Quantity::StartUpMs
            | Quantity::EpisodeMs
            | Quantity::ActionMs => 0.0,
            _ => 1.0,
        }
    }

    /// The quantity's name in text form.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Requests => "requests",
            Quantity::RequestBytes => "bytes sent",
            Quantity::RoundTrips => "round trips",
            Quantity::Events => "events",
            Quantity::AnswerBytes => "bytes received",
            Quantity::ResourcesCreated => "created",
            Quantity::ResourcesLeft => "held at the end",
            Quantity::ServerMs => "server CPU ms",
            Quantity::ClientMs => "client CPU ms",
            Quantity::WallMs => "wall clock ms",
            Quantity::Tried => "changed by --try",
            Quantity::StartUpMs => "start-up ms",
            Quantity::StartUpRoundTrips => "start-up round trips",
            Quantity::Episodes => "episodes",
            Quantity::EpisodeMs => "episode ms",
            Quantity::ActionMs => "ms an action",
        }
    }

    /// True if an absent quantity means zero; false if the run did not record it.
    pub(crate) fn is_zero_where_absent(self) -> bool {
        !matches!(
            self,
            Quantity::ClientMs
                | Quantity::WallMs
                | Quantity::StartUpMs
                | Quantity::StartUpRoundTrips
                | Quantity::EpisodeMs
                | Quantity::ActionMs
        )
    }
}

/// A figure's key: the quantity and the name of a request, event or other kind; `None` for the total.
pub(crate) type Subject = (Quantity, Option<String>);

/// The figures of one recording, for a comparison with other recordings.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The path of the trace, as the user specified it.
    pub path: String,
    /// The recorded command and its arguments; empty without a command.
    pub command: Vec<String>,
    /// The source of the server times in the figures.
    pub basis: TimeSource,
    /// The changes of the protocol that the recorder made (`record --try`), by name.
    pub fixes: Vec<String>,
    /// The emulated network; `None` without one.
    pub network: Option<String>,
    pub(crate) values: BTreeMap<Subject, f64>,
}

/// Collects the figures of one recording in a pass over it.
pub struct FiguresOfRun {
    summary: TraceSummary,
    profile: Profile,
    resources: Resources,
    played: Played,
    episodes: Episodes,
}

impl FiguresOfRun {
    /// Creates an empty collector. `profile` has the costs that attribute the server's time. With `client`, only clients
    /// count whose name contains this text.
    pub fn new(profile: Profile, client: Option<&str>) -> FiguresOfRun {
        let options = EpisodeOptions {
            client: client.map(str::to_owned),
            ..EpisodeOptions::default()
        };
        FiguresOfRun {
            summary: TraceSummary::default(),
            profile: profile.of_clients(ClientChoice::new(client)),
            resources: Resources::default(),
            played: Played::default(),
            episodes: Episodes::new(&options),
        }
    }

    /// Processes the next observation of a pass that emits context switches first.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.summary.observe(observation);
        self.profile.observe(observation);
        self.resources.observe(observation);
        self.played.observe(observation);
        self.episodes.observe(observation);
    }

    /// Ends the pass and returns its figures. `path` is the trace's path as given by the user.
    ///
    /// # Errors
    ///
    /// No client matches the filter.
    pub fn finish(mut self, path: &str) -> Result<Figures, Unmatched> {
        self.profile.end();
        let mut report = ProfileReport::new(path, &self.summary, &self.profile, &Network::NONE);
        let resources = ResourceReport::new(&self.resources, &self.summary);
        report.resources = Some(resources);
        report.start_up = self.summary.start_ups().to_vec();
        report.limit_to(self.profile.choice(), &self.summary);
        let findings = self.episodes.finish();
        if let Some(unmatched) = findings.unmatched() {
            return Err(unmatched);
        }
        let episodes = EpisodesReport::new(path, &self.summary, &findings);
        let mut figures = Figures {
            path: path.to_owned(),
            command: report.trace.command.clone(),
            basis: self.profile.basis(),
            fixes: self.summary.tried().map(|(fix, _)| fix.clone()).collect(),
            network: self.summary.emulated_network().map(|of| of.to_string()),
            values: BTreeMap::new(),
        };
        let first = self.summary.first().unwrap_or_default();
        let actions = self.played.actions(first, &episodes);
        figures.take_episodes(&episodes, &actions);
        let all = self.profile.choice().is_all();
        for (fix, requests) in self.summary.tried().filter(|_| all) {
            figures.add(Quantity::Tried, fix, *requests as f64);
        }
        figures.take_profile(&report);
        report
            .resources
            .iter()
            .for_each(|resources| figures.take_resources(resources));
        if let Some(drawn) = StartUpReport::first(&report.start_up) {
            figures.set(Quantity::StartUpMs, drawn.latency_ms);
            figures.set(Quantity::StartUpRoundTrips, Some(drawn.round_trips as f64));
        }
        Ok(figures)
    }
}

impl Figures {
    /// Adds `value` to the total of a quantity, and to the quantity's value for `name`.
    fn add(&mut self, quantity: Quantity, name: &str, value: f64) {
        *self.values.entry((quantity, None)).or_default() += value;
        *self.named(quantity, name) += value;
    }

    fn named(&mut self, quantity: Quantity, name: &str) -> &mut f64 {
        let subject = (quantity, Some(name.to_owned()));
        self.values.entry(subject).or_default()
    }

    fn set(&mut self, quantity: Quantity, value: Option<f64>) {
        if let Some(value) = value {
            self.values.insert((quantity, None), value);
        }
    }

    fn take_profile(&mut self, report: &ProfileReport) {
        let mut unattributed = report.transport.server_ms - report.transport.event_ms;
        for line in &report.requests {
            self.add(Quantity::Requests, &line.name, line.count as f64);
            self.add(Quantity::RequestBytes, &line.name, line.bytes as f64);
            self.add(Quantity::RoundTrips, &line.name, line.blocking as f64);
            let server_ms = line.server_ms + line.transport_ms;
            self.add(Quantity::ServerMs, &line.name, server_ms);
            unattributed -= line.transport_ms;
        }
        for line in &report.events {
            self.add(Quantity::Events, &line.name, line.count as f64);
        }
        // The names of `report`, which add up to the total.
        self.add(Quantity::ServerMs, "(events)", report.transport.event_ms);
        self.add(Quantity::ServerMs, "(unattributed)", unattributed);
        let answers = report.transport.reply_bytes + report.transport.event_bytes;
        self.set(Quantity::AnswerBytes, Some(answers as f64));
        self.set(Quantity::ClientMs, report.total.client_cpu_ms);
        self.set(Quantity::WallMs, Some(report.total.wall_ms));
    }

    fn take_resources(&mut self, report: &ResourceReport) {
        let clients = report.clients.iter().flat_map(|client| &client.kinds);
        let kinds = clients.map(|kind| (kind.kind.as_str(), kind.counts.created, kind.counts.held));
        let others = report.others.iter().flat_map(|others| &others.kinds);
        let others = others.map(|kind| (kind.kind.as_str(), kind.counts.created, kind.counts.held));
        for (kind, created, held) in kinds.chain(others) {
            self.add(Quantity::ResourcesCreated, kind, created as f64);
            self.add(Quantity::ResourcesLeft, kind, held as f64);
        }
    }

    fn take_episodes(&mut self, report: &EpisodesReport, actions: &[PlayedAction]) {
        let summary = &report.summary;
        self.set(Quantity::Episodes, Some(summary.count as f64));
        *self.named(Quantity::Episodes, "of 3 ms and more") = summary.from_3_ms as f64;
        *self.named(Quantity::Episodes, "of 100 ms and more") = summary.from_100_ms as f64;
        self.set(Quantity::EpisodeMs, Some(summary.latency_ms));
        let groups = report.groups.iter().filter(|of| of.trigger == "input");
        for group in groups.filter(|_| actions.is_empty()) {
            *self.named(Quantity::ActionMs, &group.landmark) = group.mean_ms;
        }
        for action in actions {
            if let Some((latency_ms, _)) = action.latency {
                let name = format!("{} {}", action.number, action.action);
                *self.named(Quantity::ActionMs, &name) = latency_ms;
            }
        }
        for (name, value) in [
            ("75th percentile", summary.p75_ms),
            ("98th percentile", summary.p98_ms),
        ] {
            if let Some(value) = value {
                *self.named(Quantity::EpisodeMs, name) = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Substitutions;

    use super::{FiguresOfRun, Quantity};
    use crate::pipeline::Pipeline;
    use crate::profile::Profile;
    use crate::testing::{poly_fill_rectangle, reply};
    use crate::testing_display::{Display, costs};

    #[test]
    fn user_action_reports_mean_latency() {
        let mut display = Display::new();
        for (at, takes) in [(1000.0, 5.0), (2000.0, 7.0)] {
            let mut press = reply(0);
            (press[0], press[1]) = (2, 38);
            display.gets(1, at, press);
            display.sends(1, at + takes, poly_fill_rectangle(1));
        }
        let profile = Profile::new(&costs(), &Substitutions::default());
        let mut figures = FiguresOfRun::new(profile, None);
        Pipeline::new().run_records(display.records, |seen| figures.observe(seen));
        let values = figures.finish("it").unwrap().values;
        let action = values.iter().find(|(of, _)| of.0 == Quantity::ActionMs);
        let ((_, name), mean) = action.expect("a row for what was typed");
        assert_eq!(name.as_deref(), Some("Typing"));
        assert!((6.0..6.1).contains(mean), "{mean}");
    }
}
