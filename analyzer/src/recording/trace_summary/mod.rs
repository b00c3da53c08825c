//! Facts about a trace: its connections, its length, the kernel's CPU times, and missing parts.

mod cpu_clocks;
mod missing;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use rustc_hash::FxHashMap;
use x11prof_cost_model::Network;
use x11prof_protocol::Message;
use x11prof_trace::{
    ConnectionId, Control, EmulatedNetwork, Joined, Link, Opened, Reader, Record, Server, Started,
    Timestamp, TraceError,
};

use crate::clients::ClientChoice;
use crate::networks;
use crate::pipeline::start_up::StartUpReport;
use crate::pipeline::{MessageContext, Observation};
use crate::recording::activity::{Activity, ActivityFigures};
use crate::recording::warnings::{Warning, WarningKind};
use crate::recording::x_errors::XErrors;
use crate::text::label::client_name;
use cpu_clocks::CpuClocks;
pub use cpu_clocks::CpuFigures;
pub use missing::MissingParts;

/// Maximum number of listed connections; later ones are only counted.
const MAX_CONNECTIONS: usize = 10_000;
/// Maximum number of listed `--try` changes; further ones are not listed.
const MAX_TRIED: usize = 100;

/// A client's connection in the trace.
#[derive(Debug, Clone, Default)]
pub struct ConnectionSummary {
    /// The number of the connection.
    pub id: ConnectionId,
    /// The id of the client's process; `None` if unknown.
    pub pid: Option<u32>,
    /// The name of the client's process; `None` if unknown.
    pub name: Option<String>,
    /// The command line of the client's process; empty if unknown.
    pub command: Vec<String>,
    /// The number of requests in the trace.
    pub requests: u64,
    /// The number of requests before the recorder joined the connection, which are missing from the trace.
    pub before: u64,
    /// The last sequence number that the server sent, extended from the 16 bits in replies, events and errors.
    pub last_sequence: u64,
    /// The number of replies whose requests are not in the trace.
    pub unpaired_replies: u64,
    /// The times of its first and its last activity; `None` without any.
    active: Option<(Timestamp, Timestamp)>,
    closed: bool,
}

/// Facts about a trace, collected in a pass over it.
#[derive(Debug, Clone, Default)]
pub struct TraceSummary {
    started: Option<Started>,
    server: Option<Server>,
    link: Option<Link>,
    /// The time of the first record, and of the first record of the analyzed part.
    begun: Option<Timestamp>,
    first: Option<Timestamp>,
    last: Timestamp,
    /// The analyzed part of the recording; `None` for the whole recording.
    part: Option<(Timestamp, Timestamp)>,
    records: u64,
    /// The clients' CPU time for unwinding stacks.
    stacks_took: Option<Duration>,
    connections: Vec<ConnectionSummary>,
    connected: u64,
    /// The index of each connection in the list, kept because connections made at the same time may open in any order.
    places: FxHashMap<ConnectionId, usize>,
    first_opened: Option<Timestamp>,
    last_activity: Timestamp,
    /// The number of clients that are connected.
    present: u64,
    cpu_clocks: CpuClocks,
    malformed: u64,
    errors: XErrors,
    lost_bytes: u64,
    missing: MissingParts,
    /// The tested changes of `--try`, with the number of changed requests.
    tried: BTreeMap<String, u64>,
    attached: bool,
    /// The link that the recorder emulated.
    network: Option<EmulatedNetwork>,
    not_timed: Option<String>,
    /// Connections that began before the recording.
    joined: u64,
    start_ups: Vec<StartUpReport>,
    activity: Activity,
}

impl TraceSummary {
    /// The start-ups of the clients, in the order of the connections.
    pub fn start_ups(&self) -> &[StartUpReport] {
        &self.start_ups
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.activity.observe(observation);
        self.errors.observe(observation);
        match observation {
            Observation::BlockStart(block) => {
                self.record(block.time);
                self.acted(block.time, block.connection);
            }
            Observation::Lost(block) => {
                self.record(block.time);
                self.lost_bytes = self.lost_bytes.saturating_add(u64::from(block.wire_len));
            }
            Observation::Message(seen) => self.message(seen),
            Observation::Control(time, control) => {
                self.record(*time);
                self.control(*time, control);
            }
            Observation::Switches(steps) => {
                if let Some(step) = steps.last() {
                    self.last = self.last.max(step.time());
                }
            }
            Observation::Started(one) => {
                let after = |other: &StartUpReport| other.connection < one.connection;
                let place = self.start_ups.partition_point(after);
                self.start_ups.insert(place, (*one).clone());
            }
            _ => {}
        }
    }

    fn record(&mut self, time: Timestamp) {
        self.records += 1;
        self.begun.get_or_insert(time);
        self.first.get_or_insert(time);
        self.last = self.last.max(time);
    }

    fn acted(&mut self, time: Timestamp, connection: ConnectionId) {
        self.first_opened.get_or_insert(time);
        self.last_activity = self.last_activity.max(time);
        let connection = self.places.get(&connection);
        if let Some(connection) = connection.and_then(|at| self.connections.get_mut(*at)) {
            let (_, last) = connection.active.get_or_insert((time, time));
            *last = time.max(*last);
        }
    }

    fn control(&mut self, time: Timestamp, control: &Control) {
        match control {
            Control::Started(started) => self.started = Some(started.clone()),
            Control::Server(server) => self.server = Some(server.clone()),
            Control::Link(link) => self.link = Some(link.clone()),
            Control::Moved { pid, .. } => self.cpu_clocks.is_client(*pid),
            Control::Opened(opened) => {
                self.opened(opened);
                self.acted(time, opened.connection);
            }
            Control::Joined(joined) => self.joined(joined),
            Control::Network(network) => self.network = Some(network.clone()),
            Control::Timing { why, .. } => self.not_timed.clone_from(why),
            Control::Attached {} => self.attached = true,
            Control::Closed { connection, .. } => {
                self.acted(time, *connection);
                let connection = self.places.get(connection);
                if let Some(connection) = connection.and_then(|at| self.connections.get_mut(*at)) {
                    connection.closed = true;
                }
                self.present = self.present.saturating_sub(1);
            }
            Control::CpuTime(reading) => self.cpu_clocks.read(reading),
            Control::RequestStacks { took_ns, .. } => {
                *self.stacks_took.get_or_insert_default() += Duration::from_nanos(*took_ns);
            }
            Control::Trouble { .. } | Control::Hole { .. } | Control::Ended { .. } => {
                self.missing.control(time, control);
            }
            Control::Tried { fix, requests } if self.tried.len() < MAX_TRIED => {
                let count = self.tried.entry(fix.clone()).or_default();
                *count = count.saturating_add(requests.unwrap_or(0));
            }
            _ => {}
        }
    }

    fn opened(&mut self, opened: &Opened) {
        self.connected += 1;
        self.present += 1;
        if let Some(pid) = opened.pid {
            self.cpu_clocks.is_client(pid);
        }
        if self.connections.len() < MAX_CONNECTIONS {
            self.places
                .insert(opened.connection, self.connections.len());
            self.connections.push(ConnectionSummary {
                id: opened.connection,
                pid: opened.pid,
                name: opened.name.clone(),
                command: opened.command.clone(),
                ..ConnectionSummary::default()
            });
        }
    }

    fn joined(&mut self, joined: &Joined) {
        let connection = self.places.get(&joined.connection);
        if let Some(connection) = connection.and_then(|at| self.connections.get_mut(*at)) {
            let first = connection.requests == 0 && connection.before == 0;
            self.joined += u64::from(first && joined.last_request > 0);
            connection.before = joined.last_request.saturating_sub(connection.requests);
            connection.last_sequence = connection.last_sequence.max(joined.last_request);
        }
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        let connection = self
            .places
            .get(&seen.connection)
            .and_then(|at| self.connections.get_mut(*at));
        if let Message::Malformed(_) = seen.message {
            self.malformed += 1;
        }
        let Some(connection) = connection else { return };
        let mentioned = match seen.message {
            Message::Request(_) => {
                connection.requests += seen.times;
                None
            }
            Message::Reply(reply) => {
                connection.unpaired_replies += u64::from(reply.request.is_none());
                reply.order.u16(reply.bytes, 2)
            }
            Message::Event(event) if event.sequence.is_some() => event.order.u16(event.bytes, 2),
            Message::Error(error) => error.order.u16(error.bytes, 2),
            _ => None,
        };
        if let Some(low) = mentioned {
            // A server's sequence numbers never decrease, so the step is the 16-bit difference. Request counts are
            // ignored here, because this number checks them.
            let step = low.wrapping_sub(connection.last_sequence as u16);
            connection.last_sequence = connection.last_sequence.saturating_add(u64::from(step));
        }
    }

    /// Resets times and counts. The connected clients and the counts that check each connection are kept.
    pub fn start_afresh(&mut self) {
        self.first = None;
        self.records = 0;
        self.stacks_took = self.stacks_took.map(|_| Duration::ZERO);
        self.first_opened = None;
        self.cpu_clocks
            .start_afresh(self.activity.since_reading(), self.last);
        self.malformed = 0;
        self.errors.start_afresh();
        self.lost_bytes = 0;
        self.activity.start_afresh();
    }

    /// The clients' CPU time for unwinding the stacks of requests; `None` if no client reported it.
    pub fn stacks_took(&self) -> Option<Duration> {
        self.stacks_took
    }

    /// The sums over the context switches; `None` if the trace has none.
    pub fn activity(&self) -> Option<ActivityFigures> {
        self.activity.figures()
    }

    /// The contents of the trace's first record; `None` before it.
    pub fn started(&self) -> Option<&Started> {
        self.started.as_ref()
    }

    /// The recorded display server; `None` if the trace does not name it.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// The reason why the server did not time its handlers although x11prof requested it; otherwise `None`.
    pub fn not_timed(&self) -> Option<&str> {
        self.not_timed.as_deref()
    }

    /// The time of the trace's first record; `None` before it.
    pub fn first(&self) -> Option<Timestamp> {
        self.first
    }

    /// The time of the latest record.
    pub fn last(&self) -> Timestamp {
        self.last
    }

    /// The emulated network of the recording; `None` without one.
    pub(crate) fn emulated_network(&self) -> Option<Network> {
        self.network.as_ref().map(networks::network)
    }

    /// Limits all figures, including durations, to the time between these two times.
    pub fn limit(&mut self, part: (Timestamp, Timestamp)) {
        self.part = Some(part);
    }

    /// The time from the first record to the last record, or the length of the analyzed part.
    pub fn duration(&self) -> Duration {
        if let Some((from, to)) = self.part {
            return to.since(from);
        }
        self.first
            .map_or(Duration::ZERO, |first| self.last.since(first))
    }

    /// The time from the first client's connection to the last client activity, or to the end of the trace if a client
    /// is still connected. If only a part is analyzed, the length of the part.
    pub fn wall(&self) -> Duration {
        if let Some((from, to)) = self.part {
            return to.since(from);
        }
        let end = match self.present {
            0 => self.last_activity,
            _ => self.last,
        };
        match self.first_opened {
            Some(first) if first < end => end.since(first),
            // A ring buffer may contain clients without any activity.
            Some(_) => self.duration(),
            None => Duration::ZERO,
        }
    }

    /// The time from the first connection of the chosen clients to their last activity, or to the end of the trace if
    /// one of them is still connected. If only a part is analyzed, the length of the part.
    pub fn wall_of(&self, choice: &ClientChoice) -> Duration {
        if choice.is_all() || self.part.is_some() {
            return self.wall();
        }
        let chosen = self.connections.iter().filter(|one| choice.holds(one.id));
        let spans = chosen.filter_map(|one| {
            let (from, to) = one.active?;
            Some((from, if one.closed { to } else { self.last }))
        });
        let whole = spans.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        whole.map_or(Duration::ZERO, |(from, to)| to.since(from))
    }

    /// The number of records in the trace, without context switches.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// True if the recording ended normally.
    pub fn is_complete(&self) -> bool {
        self.missing.is_ended()
    }

    /// The connections in opening order, at most the first 10,000.
    pub fn connections(&self) -> &[ConnectionSummary] {
        &self.connections
    }

    /// The connection with this number; `None` if the trace does not have it.
    pub(crate) fn connection(&self, id: ConnectionId) -> Option<&ConnectionSummary> {
        self.connections.get(*self.places.get(&id)?)
    }

    /// A client's name in text form: the name of its process, and the number of its connection.
    pub fn client_name(&self, id: ConnectionId) -> String {
        let connection = self.connection(id);
        client_name(connection.and_then(|one| one.name.as_deref()), id)
    }

    /// The number of connections in the trace.
    pub fn connected(&self) -> u64 {
        self.connected
    }

    /// The number of replies whose requests are not in the trace.
    pub fn unpaired_replies(&self) -> u64 {
        self.connections
            .iter()
            .map(|connection| connection.unpaired_replies)
            .sum()
    }

    /// The CPU time of the server and of the selected clients, as the kernel measured it.
    pub fn cpu(&self, choice: &ClientChoice) -> CpuFigures {
        let server = self.server.as_ref().and_then(|server| server.pid);
        let since = self.activity.since_reading();
        self.cpu_clocks.figures(server, since, self.last, |pid| {
            let mut connections = self.connections.iter();
            choice.is_all() || connections.any(|one| one.pid == Some(pid) && choice.holds(one.id))
        })
    }

    /// The measurements of the connection to the display; `None` without `record --link`.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// The experiments of `record --try`, each with the number of requests that it changed.
    pub fn tried(&self) -> impl Iterator<Item = (&String, &u64)> {
        let tried = self.tried.iter();
        // An emulated network hides MIT-SHM without --try.
        tried.filter(|(fix, _)| self.network.is_none() || *fix != "no-sharing")
    }

    /// Warnings about missing and unusual parts of the trace; X errors only of the chosen clients.
    pub fn warnings(&self, choice: &ClientChoice) -> Vec<Warning> {
        let missing = self
            .connections
            .iter()
            .map(|connection| {
                let known = connection.before.saturating_add(connection.requests);
                connection.last_sequence.saturating_sub(known)
            })
            .fold(0, u64::saturating_add);
        let counts = [
            (WarningKind::UnpairedReply, self.unpaired_replies()),
            (WarningKind::MissingRequest, missing),
            (WarningKind::Malformed, self.malformed),
            (WarningKind::LostBytes, self.lost_bytes),
            (WarningKind::Attached, u64::from(self.attached)),
            (WarningKind::Joined, self.joined),
            (WarningKind::Incomplete, u64::from(self.missing.lacks_end())),
        ];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let tried = self
            .tried()
            .map(|(fix, count)| Warning::general(WarningKind::Tried, Some(fix.clone()), *count));
        let network = self.emulated_network().map(|network| {
            Warning::general(WarningKind::EmulatedNetwork, Some(network.to_string()), 1)
        });
        let count = self.errors.count(choice);
        let errors = (count > 0).then(|| {
            let start = self.begun.unwrap_or_default();
            let text = self
                .errors
                .describe(choice, start, |client| self.client_name(client));
            Warning::general(WarningKind::Errors, Some(text), count)
        });
        let troubles = self.missing.sentences(usize::MAX).map(Some);
        counts
            .map(|(kind, count)| Warning::general(kind, None, count))
            .chain(network)
            .chain(tried)
            .chain(errors)
            .chain(troubles.map(|what| Warning::general(WarningKind::Trouble, what, 1)))
            .collect()
    }
}

/// True if the records before the first messages show that the server's handlers are timed.
pub fn is_timed<R: io::Read>(reader: &mut Reader<R>) -> Result<bool, TraceError> {
    while let Some(Record::Control(_, control)) = reader.next()? {
        if matches!(control, Control::Timing { why: None, .. }) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The display server of a trace, from the records before the first messages; `None` if they do not name it. Reads no
/// further than necessary.
pub fn identity<R: io::Read>(reader: &mut Reader<R>) -> Result<Option<Server>, TraceError> {
    while let Some(record) = reader.next()? {
        match record {
            Record::Control(_, Control::Server(server)) => return Ok(Some(server)),
            Record::Block(_) => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use x11prof_trace::{ConnectionId, Control, EmulatedNetwork, Record};

    use super::TraceSummary;
    use crate::pipeline::Pipeline;
    use crate::testing::*;

    #[test]
    fn recording_without_client_activity_has_a_duration() {
        let mut trace = Synthetic::new();
        trace.wait(600_000).end();
        let records = trace.records.into_iter();
        let records = records.filter(|record| matches!(record, Record::Control(..)));
        let mut summary = TraceSummary::default();
        Pipeline::new().run_records(records, |observation| summary.observe(observation));
        assert_eq!(summary.wall(), Duration::from_millis(600));
    }

    #[test]
    fn no_sharing_with_emulated_network_is_no_experiment() {
        let tried = |emulated: bool| {
            let mut trace = Synthetic::new();
            if emulated {
                trace.control(Control::Network(EmulatedNetwork::default()));
            }
            let (fix, requests) = ("no-sharing".to_owned(), Some(3));
            trace.control(Control::Tried { fix, requests }).end();
            let mut summary = TraceSummary::default();
            Pipeline::new().run_records(trace.records, |one| summary.observe(one));
            summary.tried().count()
        };
        assert_eq!((tried(false), tried(true)), (1, 0));
    }

    #[test]
    fn wall_time_includes_silence_of_connected_clients() {
        let wall = |closed: bool| {
            let mut trace = Synthetic::new();
            trace.wait(1000).client_sends(&[no_operation(1)]);
            if closed {
                trace.control(Control::Closed {
                    connection: ConnectionId(1),
                    by: "client".to_owned(),
                    why: None,
                });
            }
            trace.wait(4000);
            trace.control(Control::Ended { exit_status: None });
            let mut summary = TraceSummary::default();
            Pipeline::new().run_records(trace.records, |one| summary.observe(one));
            summary.wall()
        };
        assert_eq!(wall(true), Duration::from_micros(1000));
        assert_eq!(wall(false), Duration::from_micros(5000));
    }
}
