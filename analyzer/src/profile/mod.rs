//! The execution profile: charges summed by name of request, with separate sums for transport.

mod copies;
pub(crate) mod cost_estimator;
mod extrapolation;
pub(crate) mod groups;
mod measuring;
pub(crate) mod partition;
pub(crate) mod report;
pub(crate) mod reporting;
pub(crate) mod scales;
pub(crate) mod stacks;
mod sums;
pub(crate) mod tally;
#[cfg(test)]
mod tests;
pub(crate) mod total;
pub(crate) mod transport;
#[cfg(test)]
mod what_if_tests;

use std::io;

use x11prof_cost_model::{
    Clock, Cost, Micros, Rescaled, ServerParameters, Substitutions, TransportEstimates,
};
use x11prof_protocol::{Message, Symbol};
use x11prof_server_model::{ClientId, TransportPart};
use x11prof_trace::{Reader, Timestamp, TraceError};

use crate::callers::code_stacks::StackNames;
use crate::clients::ClientChoice;
use crate::pipeline::{Observation, Pipeline};
use crate::recording::trace_summary::TraceSummary;
use crate::recording::warnings::Warnings;
use crate::server_time::{Rate, Share, TimeSource};
use cost_estimator::CostEstimator;
use extrapolation::ExtrapolationRatios;
use groups::{By, GroupKey, Groups};
use measuring::Measuring;
pub use measuring::TimeSourceOption;
use scales::Scales;
use stacks::{Stack, Stacks};
use sums::Sums;
use tally::Line;
pub use transport::TransportLine;
use transport::index;

/// The model from which network times are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkModel {
    /// The forecast that simulates the network.
    #[default]
    Simulated,
    /// Equation 7 of Xprof: bytes divided by the speed, plus a round trip for each request with a reply that blocks the
    /// client.
    Paper,
}

/// The profile of one trace on one server.
pub struct Profile {
    server: String,
    machine: Option<String>,
    brought: Option<Rescaled>,
    estimator: CostEstimator,
    measuring: Measuring,
    /// The ratios that extrapolate another server's measured times to this server's costs.
    carried: Option<ExtrapolationRatios>,
    sums: Sums,
}

impl Profile {
    /// Creates an empty profile for the server that `parameters` describe.
    pub fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> Profile {
        let transport = TransportEstimates::new(parameters);
        Profile {
            server: parameters.server.name.clone(),
            machine: parameters.host.cpu_model.clone(),
            brought: parameters.method.brought.clone(),
            estimator: CostEstimator::new(parameters, substitutions),
            measuring: Measuring::new(parameters.server.clone(), transport),
            carried: None,
            sums: Sums::default(),
        }
    }

    /// Sets the time source of the server times.
    pub fn on(mut self, basis: TimeSourceOption) -> Profile {
        self.measuring.set_basis(basis);
        self
    }

    /// Returns a new profile with these parameters, whose counts and times begin now.
    pub(crate) fn afresh(
        self,
        parameters: &ServerParameters,
        substitutions: &Substitutions,
    ) -> Profile {
        let mut sums = self.sums;
        sums.start_afresh();
        Profile {
            measuring: self.measuring.afresh(),
            sums,
            ..Profile::new(parameters, substitutions)
        }
    }

    /// Resets all counts and times. Clients, windows and caches are kept.
    pub fn start_afresh(&mut self) {
        self.measuring.start_afresh();
        self.sums.start_afresh();
    }

    /// Sets the factors of a hypothetical server (`--scale`).
    pub fn scaled(mut self, scales: Scales) -> Profile {
        self.sums.scales = scales;
        self
    }

    /// Counts only the requests, events and server time of these clients.
    pub fn of_clients(mut self, choice: ClientChoice) -> Profile {
        self.sums.choice = choice;
        self
    }

    /// The clients that the profile counts.
    pub fn choice(&self) -> &ClientChoice {
        &self.sums.choice
    }

    /// Adds a breakdown by the key `by`.
    pub fn grouped(mut self, by: By) -> Profile {
        self.sums.groups = Some(Groups::new(by));
        self
    }

    /// Adds a breakdown by client, by the key `by` (a window or a stack), and by request.
    pub fn stacked(mut self, by: By) -> Profile {
        self.sums.stacks = Some(Stacks::default());
        self.grouped(by)
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        let Profile {
            estimator,
            measuring,
            sums,
            ..
        } = self;
        if let Observation::Control(_, control) = observation {
            sums.choice.control(control);
        }
        if let Some(groups) = &mut sums.groups {
            groups.observe(observation);
        }
        let seen = match observation {
            Observation::Message(seen) => Some(seen),
            _ => None,
        };
        let event = seen.and_then(|seen| match seen.message {
            Message::Event(event) => Some(event.name),
            _ => None,
        });
        estimator.observe(observation, |charge| {
            let group = sums.groups.as_ref().map(Groups::current);
            measuring.charge(charge, seen, group);
            sums.charge(charge, event);
        });
        if let Some(seen) = seen
            && let Some(answer) = &seen.answer
            && answer.how.is_round_trip()
        {
            sums.blocks(seen.connection, answer.question.name);
        }
        measuring.observe(observation, |key, share| sums.credit(key, share));
        if let Observation::BlockEnd(block, _) = observation {
            sums.unclaimed_of(ClientId(block.connection.0));
        }
    }

    /// The estimated cost of the last request; zero without cost data.
    pub fn last_cost(&self) -> Micros {
        self.estimator.last_cost()
    }

    /// Attributes the server's runs up to `time`. All earlier observations must have been processed.
    pub(crate) fn until(&mut self, time: Timestamp) {
        let Profile {
            measuring, sums, ..
        } = self;
        measuring.settle(time.as_nanos(), |key, share| sums.credit(key, share));
    }

    /// Ends the trace, with or without a record of its end.
    pub fn end(&mut self) {
        let Profile {
            measuring, sums, ..
        } = self;
        measuring.end(|key, share| sums.credit(key, share));
    }

    /// Processes an observation after the end of the reported part.
    pub fn after(&mut self, observation: &Observation<'_>) {
        self.measuring.after(observation);
    }

    /// Runs `look` on the profile of a live recording, with pending runs attributed provisionally.
    pub(crate) fn now<R>(&mut self, look: impl FnOnce(&Profile) -> R) -> R {
        let (pending, runs) = (self.measuring.pending(), self.sums.runs);
        for (key, share) in &pending {
            self.sums.credit(*key, *share);
        }
        let seen = look(self);
        for (key, share) in pending {
            self.sums.credit(key, share.part(-1.0));
        }
        self.sums.runs = runs;
        seen
    }

    /// The time source of the server times.
    pub fn basis(&self) -> TimeSource {
        match (self.measuring.rate(), &self.carried) {
            (Some(_), _) if self.measuring.is_timed() => TimeSource::Timed,
            (Some(_), _) => TimeSource::Attributed,
            (None, Some(_)) => TimeSource::Extrapolated,
            (None, None) => TimeSource::Modelled,
        }
    }

    /// Extrapolates the times that `here` measured on the recorded server to this profile's server. Does nothing if
    /// this profile is itself measured or uses the model only, if its costs are not CPU time, or if `here` has no
    /// measured times. Call it at the end of the trace.
    pub fn carry(&mut self, here: &Profile) {
        let of_processor = self.knows_transport() && self.clock() == Some(Clock::Cpu);
        if self.measuring.carries() && of_processor {
            self.carried = here.carried_to(&self.sums);
        }
    }

    /// Returns the ratios that extrapolate this profile's measured times to another server, whose estimated sums are
    /// `there`; `None` without measured times.
    fn carried_to(&self, there: &Sums) -> Option<ExtrapolationRatios> {
        if !self.basis().is_measured() {
            return None;
        }
        let requests = self.lines().filter_map(|(name, line)| {
            let cost = self.sums.lines.get(name)?.with_cold().time;
            Some((name, (line.server.time, cost)))
        });
        let part = |part| {
            let cost = self.sums.transport[index(part)].server.time;
            (self.transport(part).server.time, cost)
        };
        Some(ExtrapolationRatios::new(requests, part, there))
    }

    /// The name of the server in its parameter file.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The machine of the cost table, and the rescaling of its costs; `None` if unknown or not rescaled.
    pub(crate) fn machine(&self) -> (Option<String>, Option<Rescaled>) {
        (self.machine.clone(), self.brought.clone())
    }

    /// The clock that measured the costs; if there are two, the clock of most requests. `None` if no request has a
    /// cost.
    pub fn clock(&self) -> Option<Clock> {
        match (self.sums.clocks.cpu, self.sums.clocks.wall) {
            (0, 0) => None,
            (cpu, wall) if cpu >= wall => Some(Clock::Cpu),
            _ => Some(Clock::Wall),
        }
    }

    /// The number of requests whose costs were measured by the less frequent of two clocks.
    pub fn on_other_clock(&self) -> u64 {
        self.sums.clocks.cpu.min(self.sums.clocks.wall)
    }

    /// True if the server's transport costs are known; otherwise transport counts as zero time.
    pub fn knows_transport(&self) -> bool {
        self.estimator.knows_transport()
    }

    /// The sums of each kind of request, in no particular order.
    pub fn lines(&self) -> impl Iterator<Item = (Symbol, Line)> {
        let lines = self.sums.lines.iter();
        lines.map(|(name, line)| (name, self.timed(name, line)))
    }

    /// The sums of the requests with this name; `None` if there are none.
    pub fn line(&self, request: Symbol) -> Option<Line> {
        let line = self.sums.lines.get(request)?;
        Some(self.timed(request, line))
    }

    /// Returns `line` with measured or extrapolated times if there are any; otherwise unchanged.
    fn timed(&self, name: Symbol, line: &Line) -> Line {
        match (self.measuring.rate(), &self.carried) {
            (None, Some(carried)) => carried.line(name, line),
            (rate, _) => line.at(rate),
        }
    }

    /// Sets the names of the stacks: functions, lines or whole stacks. Call it before a report.
    pub fn name_stacks(&mut self, names: StackNames) {
        if let Some(groups) = &mut self.sums.groups {
            groups.name_stacks(names);
        }
    }

    /// The groups of the breakdown; `None` without a breakdown.
    pub(crate) fn groups(&self) -> Option<&Groups> {
        self.sums.groups.as_ref()
    }

    /// The groups of the breakdown with their sums, in no particular order.
    pub(crate) fn group_lines(&self) -> impl Iterator<Item = (GroupKey, Line)> {
        let (rate, carried) = (self.measuring.rate(), self.carried.as_ref());
        let timed = move |line: Line| match (rate, carried) {
            (None, Some(carried)) => carried.group(&line),
            (rate, _) => line.at(rate),
        };
        let groups = self.sums.groups.iter();
        groups.flat_map(move |groups| groups.lines().map(move |(key, line)| (key, timed(line))))
    }

    /// The sums over each client's requests on each window, ordered by name; empty unless the profile is `stacked`.
    /// Their times add up to the server's total in a report.
    pub fn stacks(&self, summary: &TraceSummary) -> Vec<Stack> {
        let (Some(stacks), Some(groups)) = (&self.sums.stacks, &self.sums.groups) else {
            return Vec::new();
        };
        let unblamed = match self.measuring.rate() {
            None => self.transport(TransportPart::Wakeup).server.time,
            Some(_) => Micros::ZERO,
        };
        let own = match self.measuring.rate() {
            Some(_) => self.transport(TransportPart::Own).server.time,
            None => Micros::ZERO,
        };
        stacks.named(groups, summary, self.measuring.rate(), (unblamed, own))
    }

    /// The sums by client, window or stack, and request; `None` unless the profile is `stacked`.
    pub(crate) fn stack_sums(&self) -> Option<&Stacks> {
        self.sums.stacks.as_ref()
    }

    /// Begins a period of the stacks, and drops the periods before `oldest`.
    pub(crate) fn begin_period(&mut self, oldest: u32) {
        if let Some(stacks) = &mut self.sums.stacks {
            self.measuring.period = stacks.begin_period(oldest);
        }
    }

    /// The number of the current period of the stacks.
    pub(crate) fn period(&self) -> u32 {
        self.measuring.period
    }

    /// The label of the window of call stacks (`StackKey`). A pixmap has the label of the window that it is copied to. The
    /// label is empty if the profile has no breakdown.
    pub(crate) fn window_label(&self, window: GroupKey, summary: &TraceSummary) -> String {
        let Some(groups) = &self.sums.groups else {
            return String::new();
        };
        let window = match groups.ends_in(window) {
            GroupKey::Pixmap(_) => GroupKey::None,
            window => window,
        };
        groups.label(window, |id| summary.client_name(id))
    }

    /// Returns the factor that converts measured shares to times; `None` if nothing is measured.
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.measuring.rate()
    }

    /// The unattributed server time so far; zero if the server's runs are not measured.
    pub(crate) fn own_share(&self) -> Share {
        let own = self.measuring.own();
        own.map_or_else(Share::default, |(unattributed, threads)| {
            unattributed.share + threads
        })
    }

    /// The sums by kind of event, in no particular order.
    pub fn events(&self) -> impl Iterator<Item = (Symbol, TransportLine)> {
        let (rate, carried) = (self.measuring.rate(), self.carried.as_ref());
        let events = self.sums.events.iter();
        events.map(move |(name, line)| match (rate, carried) {
            (None, Some(carried)) => (*name, carried.part(TransportPart::Event, *line)),
            (rate, _) => (*name, line.at(rate)),
        })
    }

    /// The sums of one part of transport over the trace.
    pub fn transport(&self, part: TransportPart) -> TransportLine {
        let line = self.sums.transport[index(part)];
        let Some(rate) = self.measuring.rate() else {
            let carried = self.carried.as_ref();
            return carried.map_or(line, |carried| carried.part(part, line));
        };
        match (part, self.measuring.own()) {
            (TransportPart::Own, Some((unattributed, threads))) if self.choice().is_all() => {
                TransportLine {
                    count: unattributed.runs,
                    server: Cost::exact(rate.time(unattributed.share + threads)),
                    ..line
                }
            }
            // The extra cost of cold caches is included in the requests.
            (TransportPart::Cold, _) => TransportLine::default(),
            // The runs are the wakeups.
            (TransportPart::Wakeup, Some(_)) => TransportLine {
                count: self.sums.runs,
                ..line.at(Some(rate))
            },
            _ => line.at(Some(rate)),
        }
    }

    /// The what-if factors, with the number of requests that they matched.
    pub fn scales(&self) -> &Scales {
        &self.sums.scales
    }

    /// Returns the server's CPU time in microseconds over the same interval, first by context switches, then by its
    /// clock; `None` if the two agree.
    pub(crate) fn doubt(&self) -> Option<(Micros, Micros)> {
        self.measuring.doubt()
    }

    /// The warnings about the cost estimates.
    pub fn warnings(&self) -> &Warnings {
        &self.sums.warnings
    }
}

/// Runs all `profiles` over the records of `reader` in one pass, and returns a summary of the trace. On an error, the
/// profiles contain everything before the error.
pub fn profile_trace<R: io::Read>(
    reader: &mut Reader<R>,
    profiles: &mut [Profile],
) -> Result<TraceSummary, TraceError> {
    let mut summary = TraceSummary::default();
    let mut pipeline = Pipeline::new();
    pipeline.take_together();
    let read = pipeline.run(reader, |observation| {
        summary.observe(observation);
        for profile in profiles.iter_mut() {
            profile.observe(observation);
        }
    });
    profiles.iter_mut().for_each(Profile::end);
    read.map(|()| summary)
}
