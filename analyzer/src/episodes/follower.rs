//! All clients of a trace at once: happenings go to the state machines that they concern.

use std::collections::HashMap;

use x11prof_cost_model::FastMap;
use x11prof_trace::{ConnectionId, Switch};

use super::clock::ServerTime;
use super::episode::Episode;
use super::happening::Happening;
use super::machine::{Machine, Spans};
use super::server::ServerActivity;

/// Connections followed at once, at most.
const MOST_CLIENTS: usize = 4096;
/// Processes whose capture is known, at most.
const MOST_PROCESSES: usize = 1 << 14;

/// The state machines.
#[derive(Debug)]
pub(crate) struct Follower {
    spans: Spans,
    machines: FastMap<ConnectionId, Machine>,
    captured: HashMap<u32, bool>,
    server: ServerActivity,
    clock: ServerTime,
    /// Who has grabbed the server.
    grabbed_by: Option<ConnectionId>,
}

impl Follower {
    pub(crate) fn new(spans: Spans) -> Follower {
        Follower {
            spans,
            machines: FastMap::default(),
            captured: HashMap::new(),
            server: ServerActivity::default(),
            clock: ServerTime::default(),
            grabbed_by: None,
        }
    }

    /// The server's process.
    pub(crate) fn set_server(&mut self, pid: Option<u32>) {
        self.server.pid = pid;
    }

    /// Takes the next happening and hands out the episodes that are complete with it.
    pub(crate) fn happened(
        &mut self,
        time: u64,
        happening: &Happening,
        on: &mut impl FnMut(Episode),
    ) {
        let server = &mut self.server;
        let mut done = |episode, end| server.finish(episode, end);
        match happening {
            Happening::Opened { client, pid } => {
                if self.machines.len() < MOST_CLIENTS {
                    let mut machine = Machine::new(*client, *pid, time, self.spans);
                    if pid.is_some_and(|pid| self.captured.get(&pid) == Some(&true)) {
                        machine.captured();
                    }
                    self.machines.insert(*client, machine);
                }
            }
            Happening::Closed(client) => {
                if let Some(mut machine) = self.machines.remove(client) {
                    machine.pass(time, false);
                    machine.closed(&mut done);
                }
                self.grabbed_by.take_if(|by| by == client);
            }
            Happening::Captured { pid, switches } => {
                if self.captured.len() < MOST_PROCESSES {
                    self.captured.insert(*pid, *switches);
                }
                for machine in self.machines.values_mut() {
                    if machine.pid == Some(*pid) && *switches {
                        machine.captured();
                    }
                }
            }
            Happening::Waits { tid, since, wait } => {
                for machine in self.machines.values_mut() {
                    if machine.speaks(*tid) {
                        machine.waits(*since, *wait);
                    }
                }
            }
            Happening::Switch(switch) => {
                if Some(switch.pid) == server.pid {
                    server.switch(switch);
                } else {
                    self.client_switch(time, switch);
                }
            }
            Happening::Delivered(client, delivery) => {
                let grabbed = self.grabbed_by.is_some_and(|by| by != *client);
                if let Some(machine) = self.machines.get_mut(client) {
                    machine.pass(time, grabbed);
                    machine.delivered(time, delivery, &mut self.clock, &mut done);
                }
            }
            Happening::Sent(client, sent) => {
                let grabbed = self.grabbed_by.is_some_and(|by| by != *client);
                if let Some(machine) = self.machines.get_mut(client) {
                    machine.pass(time, grabbed);
                    machine.sent(time, sent, &mut done);
                }
                if let Some(grabs) = sent.grabs {
                    // Until now the others were not kept waiting.
                    for machine in self.machines.values_mut() {
                        machine.pass(time, self.grabbed_by.is_some());
                    }
                    self.grabbed_by = grabs.then_some(*client);
                }
            }
        }
        self.server.settle(time, on);
    }

    fn client_switch(&mut self, time: u64, switch: &Switch) {
        let grabbed_by = self.grabbed_by;
        let server = &mut self.server;
        let mut done = |episode, end| server.finish(episode, end);
        for (client, machine) in &mut self.machines {
            if machine.speaks(switch.tid) {
                machine.pass(time, grabbed_by.is_some_and(|by| by != *client));
                machine.switch(switch, &mut done);
            }
        }
    }

    /// The trace ends at `time`: what is open ends with it.
    pub(crate) fn finish(&mut self, time: u64, on: &mut impl FnMut(Episode)) {
        let server = &mut self.server;
        let mut done = |episode, end| server.finish(episode, end);
        for machine in self.machines.values_mut() {
            machine.pass(time, false);
            machine.closed(&mut done);
        }
        self.server.settle(u64::MAX, on);
    }
}
