//! When clients and server ran, from the context switches: how long at once, and how long clients
//! ran for events alone.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use x11prof_protocol::Message;
use x11prof_trace::{ConnectionId, Control, Direction, Switch, SwitchKind, Timestamp};

use crate::activity::since_reading::SinceReading;
use crate::activity::threads::{Step, Threads};
use crate::pipeline::Observation;

/// Switches are told in batches, some milliseconds late, and those of another processor may
/// come in the next batch: what is younger than this is put in order first.
const SETTLING: u64 = 100_000_000;
/// Entries that wait for that at most.
const WAITING_LIMIT: usize = 1 << 17;
/// Processes and connections followed at most.
const PROCESSES_LIMIT: usize = 1 << 14;

#[derive(Debug, Clone, Copy)]
enum Entry {
    Switch(Switch),
    /// Bytes came for a process: events alone, or others too.
    Delivery {
        pid: u32,
        events_alone: bool,
    },
    /// A process is not watched any more.
    Gone(u32),
    /// The kernel's clock of a process was read.
    Read(u32),
}

/// What a process is to do with what was delivered to it while it waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Task {
    #[default]
    None,
    /// Events came, and nothing else; it does not run yet.
    Events,
    /// It runs, woken by them.
    Handling,
}

#[derive(Debug, Clone, Copy, Default)]
struct Process {
    running: u32,
    /// It was preempted: it goes on with what it did.
    preempted: bool,
    task: Task,
}

impl Process {
    fn is_handling(&self) -> bool {
        self.task == Task::Handling && self.running > 0
    }
}

/// What the context switches told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivityFigures {
    /// How long a thread of any client ran.
    pub clients: Duration,
    /// How long the server ran.
    pub server: Duration,
    /// How often the server began to run after it had waited.
    pub server_wakeups: u64,
    /// How long both did.
    pub both: Duration,
    /// How often a client that waited was woken by events alone.
    pub event_wakeups: u64,
    /// How long clients ran from such a wakeup until they waited again.
    pub for_events: Duration,
}

/// Follows who runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Activity {
    waiting: BTreeMap<(u64, u64), Entry>,
    number: u64,
    newest: u64,
    server: Option<u32>,
    clients: HashMap<ConnectionId, u32>,
    threads: Threads,
    processes: HashMap<u32, Process>,
    /// How many of them run for events.
    handling: u32,
    since_reading: SinceReading,
    clients_running: u32,
    since: u64,
    figures: ActivityFigures,
    switches: u64,
    /// The current block: events in it, other messages in it.
    block: (bool, bool),
}

impl Activity {
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Switches(switches) => {
                for switch in *switches {
                    self.switches += 1;
                    self.put(switch.time, Entry::Switch(*switch));
                }
            }
            Observation::BlockStart(_) => self.block = (false, false),
            Observation::Message(seen) => match seen.message {
                Message::Event(_) => self.block.0 = true,
                _ => self.block.1 = true,
            },
            Observation::BlockEnd(block) if block.direction == Direction::ToClient => {
                if let Some(pid) = self.clients.get(&block.connection).copied() {
                    let events_alone = self.block.0 && !self.block.1;
                    self.put(block.time, Entry::Delivery { pid, events_alone });
                }
            }
            Observation::Control(time, Control::Server(server)) => {
                self.server = server.pid;
                self.newest = self.newest.max(time.as_nanos());
            }
            Observation::Control(_, Control::Opened(opened)) => {
                if let Some(pid) = opened.pid
                    && self.clients.len() < PROCESSES_LIMIT
                {
                    self.clients.insert(opened.connection, pid);
                }
            }
            Observation::Control(time, Control::Closed { connection, .. }) => {
                if let Some(pid) = self.clients.remove(connection)
                    && !self.clients.values().any(|other| *other == pid)
                {
                    self.put(*time, Entry::Gone(pid));
                }
            }
            Observation::Control(time, Control::CpuTime(reading)) => {
                self.put(*time, Entry::Read(reading.pid));
            }
            _ => {}
        }
    }

    /// What was told so far; `None` where no switches are in the trace.
    pub(crate) fn figures(&self) -> Option<ActivityFigures> {
        Some(self.settled()?.figures)
    }

    /// How long each process ran since its clock was last read; `None` where no switches are in the trace.
    pub(crate) fn since_reading(&self) -> Option<SinceReading> {
        Some(self.settled()?.since_reading)
    }

    fn settled(&self) -> Option<Activity> {
        if self.switches == 0 {
            return None;
        }
        let mut settled = self.clone();
        settled.settle(u64::MAX);
        Some(settled)
    }

    /// Forgets the figures, and knows still who runs.
    pub(crate) fn start_afresh(&mut self) {
        self.settle(u64::MAX);
        self.figures = ActivityFigures::default();
    }

    fn put(&mut self, time: Timestamp, entry: Entry) {
        let nanos = time.as_nanos();
        self.number += 1;
        self.waiting.insert((nanos, self.number), entry);
        self.newest = self.newest.max(nanos);
        if self.waiting.len() > WAITING_LIMIT {
            self.settle(u64::MAX);
        } else if self.number.is_multiple_of(1024) {
            self.settle(self.newest.saturating_sub(SETTLING));
        }
    }

    /// Deals with what happened before `until`.
    fn settle(&mut self, until: u64) {
        while let Some(first) = self.waiting.first_entry() {
            let (time, _) = *first.key();
            if time >= until {
                return;
            }
            let entry = first.remove();
            self.pass(time);
            match entry {
                Entry::Switch(switch) => self.switch(&switch),
                Entry::Delivery { pid, events_alone } => self.delivery(pid, events_alone),
                Entry::Read(pid) => self.since_reading.read(pid, time),
                Entry::Gone(pid) => {
                    for step in self.threads.end_process(pid, time) {
                        self.step(&step);
                    }
                    if let Some(gone) = self.processes.remove(&pid) {
                        self.handling -= u32::from(gone.is_handling());
                    }
                }
            }
        }
    }

    /// Time passes until `time` with those running that run.
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
        if clients {
            let handled = passed.saturating_mul(self.handling);
            add(&mut self.figures.for_events, true, handled);
        }
    }

    /// Whether there is room for a process, or it has it already.
    fn follows(&self, pid: u32) -> bool {
        self.processes.len() < PROCESSES_LIMIT || self.processes.contains_key(&pid)
    }

    /// Changes what a process does, and counts those that run for events.
    fn change<T>(&mut self, pid: u32, change: impl FnOnce(&mut Process) -> T) -> T {
        let process = self.processes.entry(pid).or_default();
        let before = u32::from(process.is_handling());
        let changed = change(process);
        self.handling = self.handling + u32::from(process.is_handling()) - before;
        changed
    }

    fn switch(&mut self, switch: &Switch) {
        for step in self.threads.switch(switch) {
            self.step(&step);
        }
        if switch.kind == SwitchKind::In || !self.follows(switch.pid) {
            return;
        }
        self.change(switch.pid, |process| {
            process.preempted = switch.kind == SwitchKind::Preempted;
            // Preempted, it goes on with what it did.
            if switch.kind == SwitchKind::Blocked
                && process.running == 0
                && process.task == Task::Handling
            {
                process.task = Task::None;
            }
        });
    }

    /// A thread began to run, or stopped.
    fn step(&mut self, step: &Step) {
        if let Some(stretch) = step.ran() {
            self.since_reading.add(step.pid, stretch);
            if self.processes.contains_key(&step.pid) {
                self.change(step.pid, |process| {
                    process.running = process.running.saturating_sub(1);
                });
            }
            if Some(step.pid) != self.server {
                self.clients_running = self.clients_running.saturating_sub(1);
            }
        } else if step.starts() && self.follows(step.pid) {
            self.start(step.pid);
        }
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
        } else {
            self.clients_running += 1;
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
                    // Preempted in the middle of it.
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

    use x11prof_trace::{Record, Switch, SwitchKind, Timestamp};

    use crate::pipeline::Pipeline;
    use crate::testing::*;
    use crate::trace_summary::TraceSummary;

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
    fn who_ran_when_and_for_events() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut trace = Synthetic::new();
        trace.wait(100).server_sends(&[expose(0)]);
        trace.wait(400).client_sends(&[get_input_focus()]);
        trace.wait(100).server_sends(&[reply(1)]);
        // Told late, and out of order between batches.
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
        for record in &trace.records {
            pipeline.feed(record, |observation| summary.observe(observation));
        }
        let figures = summary.activity().unwrap();
        let micros = Duration::from_micros;
        assert_eq!(figures.clients, micros(30 + 40 + 30));
        assert_eq!(figures.server, micros(80));
        assert_eq!(figures.both, micros(10));
        // The reply's wakeup is not one by events alone.
        assert_eq!(figures.event_wakeups, 1);
        assert_eq!(figures.for_events, micros(30 + 40));
    }

    #[test]
    fn a_thread_that_ended_does_not_run_for_ever() {
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
        for record in &trace.records {
            pipeline.feed(record, |observation| summary.observe(observation));
        }
        let figures = summary.activity().unwrap();
        assert_eq!(figures.clients, Duration::from_micros(40));
        assert_eq!(figures.both, Duration::ZERO);
    }
}
