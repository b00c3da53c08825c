//! Figures of the runs of clients and server, from the context switches: how long both ran at the same time, and how
//! long clients ran because of events alone.

use std::time::Duration;

use rustc_hash::FxHashMap;
use x11prof_protocol::Message;
use x11prof_trace::{ConnectionId, Control, Direction, Timestamp};

use crate::pipeline::Observation;
use crate::threads::since_reading::SinceReading;
use crate::threads::thread_states::{State, Step};

/// Maximum number of tracked processes. The times of further processes are not counted.
const PROCESSES_LIMIT: usize = 1 << 14;

/// The work of a process with the data delivered while it waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Task {
    #[default]
    None,
    /// Only events have arrived, and the process has not run since.
    Events,
    /// The process runs, woken by events.
    Handling,
}

#[derive(Debug, Clone, Copy, Default)]
struct Process {
    running: u32,
    /// True if the process was preempted, so it continues with its work when it next runs.
    preempted: bool,
    task: Task,
}

impl Process {
    fn is_handling(&self) -> bool {
        self.task == Task::Handling && self.running > 0
    }

    /// Returns true if the process could run, but has no processor.
    fn is_ready(&self) -> bool {
        self.preempted && self.running == 0
    }
}

/// The sums over a recording's context switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivityFigures {
    /// Time in which a thread of any client ran. For a process that started during the recording, this includes its CPU
    /// time before it connected, from its CPU clock.
    pub clients: Duration,
    /// The time in which the server ran.
    pub server: Duration,
    /// The number of times that the server woke up from a wait.
    pub server_wakeups: u64,
    /// The time in which clients and the server ran at the same time.
    pub both: Duration,
    /// Time in which neither ran because a client or the server, which could run, had no processor.
    pub run_queue: Duration,
    /// The number of wakeups of waiting clients that only events caused.
    pub event_wakeups: u64,
    /// The time of clients from a wakeup by events alone to their next wait.
    pub for_events: Duration,
}

/// Sums the runs of clients and the server, from the context switches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Activity {
    server: Option<u32>,
    clients: FxHashMap<ConnectionId, u32>,
    /// The number of connections of each client's process.
    pids: FxHashMap<u32, u64>,
    processes: FxHashMap<u32, Process>,
    /// The number of processes that run for events.
    handling: u32,
    /// The number of processes that could run, and have no processor.
    ready: u32,
    /// For each process that started during the recording and whose clock was not read yet: the time from its start
    /// to its first connection.
    started: FxHashMap<u32, Duration>,
    first: Option<Timestamp>,
    since_reading: SinceReading,
    clients_running: u32,
    since: u64,
    figures: ActivityFigures,
    switches: bool,
    /// For the current block: true if it contains events, and true if it contains other messages.
    block: (bool, bool),
}

impl Activity {
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Control(time, _) = observation {
            self.first.get_or_insert(*time);
        }
        match observation {
            Observation::Switches(steps) => {
                self.switches = true;
                for step in *steps {
                    self.pass(step.time);
                    self.step(step);
                }
            }
            Observation::BlockStart(_) => self.block = (false, false),
            Observation::Message(seen) => match seen.message {
                Message::Event(_) => self.block.0 = true,
                _ => self.block.1 = true,
            },
            Observation::BlockEnd(block, _) if block.direction == Direction::ToClient => {
                if let Some(pid) = self.clients.get(&block.connection).copied() {
                    let events_alone = self.block.0 && !self.block.1;
                    self.pass(block.time.as_nanos());
                    self.delivery(pid, events_alone);
                }
            }
            Observation::Control(_, Control::Server(server)) => self.server = server.pid,
            Observation::Control(time, control @ (Control::Opened(_) | Control::Moved { .. })) => {
                if let Some((connection, pid)) = control.connected_process()
                    && self.clients.len() < PROCESSES_LIMIT
                {
                    self.pass(time.as_nanos());
                    if let Some(before) = self.clients.remove(&connection) {
                        self.disconnected(before, time.as_nanos());
                    }
                    self.since_reading.connected(pid, time.as_nanos());
                    let known = self.is_client(pid);
                    let first = self.first.map_or(0, Timestamp::as_nanos);
                    let started = match control {
                        Control::Opened(opened) => opened.started_ns,
                        _ => None,
                    };
                    if !known && let Some(start) = started.filter(|at| *at >= first) {
                        let before = time.as_nanos().saturating_sub(start);
                        self.started.insert(pid, Duration::from_nanos(before));
                    }
                    self.clients.insert(connection, pid);
                    *self.pids.entry(pid).or_default() += 1;
                    if !known && self.is_client(pid) {
                        let process = self.processes.get(&pid);
                        self.clients_running += process.map_or(0, |process| process.running);
                    }
                }
            }
            Observation::Control(time, Control::Closed { connection, .. }) => {
                if let Some(pid) = self.clients.remove(connection) {
                    self.pass(time.as_nanos());
                    self.disconnected(pid, time.as_nanos());
                }
            }
            Observation::Control(time, Control::CpuTime(reading)) => {
                self.since_reading.read(reading.pid, time.as_nanos());
                if let Some(before) = self.started.remove(&reading.pid) {
                    // Several threads may have run at once.
                    let ran = Duration::from_nanos(reading.cpu_ns).min(before);
                    self.figures.clients = self.figures.clients.saturating_add(ran);
                }
            }
            _ => {}
        }
    }

    /// True if a process counts as a client.
    fn is_client(&self, pid: u32) -> bool {
        self.pids.contains_key(&pid) && Some(pid) != self.server
    }

    /// Notes that a connection of a process ended at `time` (nanoseconds).
    fn disconnected(&mut self, pid: u32, time: u64) {
        let is_client = self.is_client(pid);
        let Some(connections) = self.pids.get_mut(&pid) else {
            return;
        };
        *connections -= 1;
        if *connections > 0 {
            return;
        }
        self.pids.remove(&pid);
        self.started.remove(&pid);
        self.since_reading.disconnected(pid, time);
        if let Some(gone) = self.processes.remove(&pid) {
            self.handling -= u32::from(gone.is_handling());
            self.ready -= u32::from(gone.is_ready());
            if is_client {
                self.clients_running = self.clients_running.saturating_sub(gone.running);
            }
        }
    }

    /// The sums so far; `None` if the trace has no context switches.
    pub(crate) fn figures(&self) -> Option<ActivityFigures> {
        self.switches.then_some(self.figures)
    }

    /// The CPU times of processes since the last reading of each process's clock; `None` if the trace has no context
    /// switches.
    pub(crate) fn since_reading(&self) -> Option<&SinceReading> {
        self.switches.then_some(&self.since_reading)
    }

    /// Resets the sums, but keeps the state of running processes.
    pub(crate) fn start_afresh(&mut self) {
        self.figures = ActivityFigures::default();
    }

    /// Adds the time until `time` to the running processes.
    fn pass(&mut self, time: u64) {
        let passed = Duration::from_nanos(time.saturating_sub(self.since));
        self.since = self.since.max(time);
        let server = self.server.and_then(|pid| self.processes.get(&pid));
        let server = server.is_some_and(|server| server.running > 0);
        let clients = self.clients_running > 0;
        let add = |to: &mut Duration, when: bool, time: Duration| {
            if when {
                *to = to.saturating_add(time);
            }
        };
        add(&mut self.figures.clients, clients, passed);
        add(&mut self.figures.server, server, passed);
        add(&mut self.figures.both, clients && server, passed);
        let is_ready = self.ready > 0 && !clients && !server;
        add(&mut self.figures.run_queue, is_ready, passed);
        if clients {
            let handled = passed.saturating_mul(self.handling);
            add(&mut self.figures.for_events, true, handled);
        }
    }

    /// Returns true if the process is tracked, or if one more process can be tracked.
    fn follows(&self, pid: u32) -> bool {
        self.processes.len() < PROCESSES_LIMIT || self.processes.contains_key(&pid)
    }

    /// Changes the state of a process, and updates the times of processes that run because of events.
    fn change<T>(&mut self, pid: u32, change: impl FnOnce(&mut Process) -> T) -> T {
        let is_client = self.is_client(pid);
        let process = self.processes.entry(pid).or_default();
        let (handling, running) = (u32::from(process.is_handling()), process.running);
        let ready = u32::from(process.is_ready());
        let changed = change(process);
        self.ready = self.ready + u32::from(process.is_ready()) - ready;
        self.handling = self.handling + u32::from(process.is_handling()) - handling;
        if is_client {
            // A trace may declare another process as the server later.
            self.clients_running = (self.clients_running + process.running).saturating_sub(running);
        }
        changed
    }

    /// Processes a change of state of a thread.
    fn step(&mut self, step: &Step) {
        self.since_reading.step(step);
        if step.ran().is_some() {
            if self.processes.contains_key(&step.pid) {
                self.change(step.pid, |process| {
                    process.running = process.running.saturating_sub(1);
                });
            }
        } else if step.starts() && self.follows(step.pid) {
            self.start(step.pid);
        }
        if !matches!(step.now, State::Ready | State::Waiting) || !self.follows(step.pid) {
            return;
        }
        self.change(step.pid, |process| {
            process.preempted = step.now == State::Ready;
            // After a preemption, the process continues its work.
            if step.now == State::Waiting && process.running == 0 && process.task == Task::Handling
            {
                process.task = Task::None;
            }
        });
    }

    fn start(&mut self, pid: u32) {
        let (woken, preempted) = self.change(pid, |process| {
            process.running += 1;
            let woken = process.task == Task::Events;
            if woken {
                process.task = Task::Handling;
            }
            (woken, process.preempted)
        });
        self.figures.event_wakeups += u64::from(woken);
        if Some(pid) == self.server {
            self.figures.server_wakeups += u64::from(!preempted);
        }
    }

    fn delivery(&mut self, pid: u32, events_alone: bool) {
        if !self.follows(pid) {
            return;
        }
        self.change(pid, |process| {
            if process.running == 0 {
                process.task = match (process.task, events_alone) {
                    (Task::None | Task::Events, true) => Task::Events,
                    // The process was preempted while handling events.
                    (Task::Handling, _) => Task::Handling,
                    (_, false) => Task::None,
                };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use x11prof_trace::{ConnectionId, Control, Opened, Record, Switch, SwitchKind, Timestamp};

    use crate::pipeline::Pipeline;
    use crate::recording::trace_summary::TraceSummary;
    use crate::testing::*;

    /// Microseconds after the trace's beginning.
    fn switch(pid: u32, micros: u64, kind: SwitchKind) -> Switch {
        Switch {
            time: Timestamp::from_nanos(1_000_000_000 + micros * 1000),
            pid,
            tid: pid,
            cpu: u16::from(pid == CLIENT_PID),
            kind,
        }
    }

    #[test]
    fn run_times_add_up_including_event_handling() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut trace = Synthetic::new();
        trace.wait(100).server_sends(&[expose(0)]);
        trace.wait(400).client_sends(&[get_input_focus()]);
        trace.wait(100).server_sends(&[reply(1)]);
        // Switches arrive late, and out of order between batches.
        trace.records.push(Record::Schedule(vec![
            switch(SERVER_PID, 50, In),
            switch(CLIENT_PID, 120, In),
            switch(CLIENT_PID, 150, Preempted),
            switch(CLIENT_PID, 620, In),
            switch(CLIENT_PID, 650, Blocked),
        ]));
        trace.records.push(Record::Schedule(vec![
            switch(SERVER_PID, 130, Blocked),
            switch(CLIENT_PID, 160, In),
            switch(CLIENT_PID, 200, Blocked),
        ]));
        let (mut summary, mut pipeline) = (TraceSummary::default(), Pipeline::new());
        pipeline.run_records(trace.records, |observation| summary.observe(observation));
        let figures = summary.activity().unwrap();
        let micros = Duration::from_micros;
        assert_eq!(figures.clients, micros(30 + 40 + 30));
        assert_eq!(figures.server, micros(80));
        assert_eq!(figures.both, micros(10));
        // The reply's wake-up is not by events alone.
        assert_eq!(figures.event_wakeups, 1);
        assert_eq!(figures.for_events, micros(30 + 40));
    }

    /// Microseconds that clients ran, of a client whose process started 500 µs before it connected, and the recording
    /// `later_us` after the process. The clock at its connection is 200 µs.
    fn ran_with_start(later_us: u64) -> u128 {
        let mut trace = Synthetic::new();
        trace.wait(500 - later_us).control(Control::Opened(Opened {
            connection: ConnectionId(2),
            transport: "unix".to_owned(),
            pid: Some(77),
            name: None,
            command: Vec::new(),
            started_ns: Some(1_000_000_000 - later_us * 1000),
        }));
        trace.cpu_time(77, 200);
        let switches = [(600, SwitchKind::In), (630, SwitchKind::Blocked)];
        let switches = switches.map(|(at, kind)| switch(77, at, kind));
        trace.records.push(Record::Schedule(switches.to_vec()));
        trace.wait(200).cpu_time(77, 230);
        let (mut summary, mut pipeline) = (TraceSummary::default(), Pipeline::new());
        pipeline.run_records(trace.records, |observation| summary.observe(observation));
        summary.activity().unwrap().clients.as_micros()
    }

    #[test]
    fn cpu_time_before_connection_counts_if_process_started_in_recording() {
        assert_eq!(ran_with_start(0), 230);
        assert_eq!(ran_with_start(1), 30);
    }

    #[test]
    fn exited_client_ran_until_its_connection_closed() {
        use SwitchKind::{Blocked, In};
        let mut trace = Synthetic::new();
        trace.records.push(Record::Schedule(vec![
            switch(CLIENT_PID, 10, In),
            // The process exits: the kernel reports no further switch, only an earlier interruption.
            switch(CLIENT_PID, 60, In),
            switch(SERVER_PID, 900, In),
            switch(SERVER_PID, 950, Blocked),
        ]));
        trace.wait(50).control(Control::Closed {
            connection: ConnectionId(1),
            by: "client".to_owned(),
            why: None,
        });
        trace
            .wait(5000)
            .control(Control::Ended { exit_status: None });
        let (mut summary, mut pipeline) = (TraceSummary::default(), Pipeline::new());
        pipeline.run_records(trace.records, |observation| summary.observe(observation));
        assert_eq!(
            summary.activity().unwrap().clients,
            Duration::from_micros(40)
        );
    }

    #[test]
    fn ended_thread_does_not_run_forever() {
        use SwitchKind::{Blocked, In};
        let mut trace = Synthetic::new();
        let ended = Switch {
            tid: 21,
            ..switch(CLIENT_PID, 10, In)
        };
        trace.records.push(Record::Schedule(vec![
            ended,
            switch(CLIENT_PID, 30, In),
            switch(CLIENT_PID, 50, Blocked),
            switch(SERVER_PID, 60, In),
            switch(SERVER_PID, 90, Blocked),
        ]));
        let (mut summary, mut pipeline) = (TraceSummary::default(), Pipeline::new());
        pipeline.run_records(trace.records, |observation| summary.observe(observation));
        let figures = summary.activity().unwrap();
        assert_eq!(figures.clients, Duration::from_micros(40));
        assert_eq!(figures.both, Duration::ZERO);
    }
}
