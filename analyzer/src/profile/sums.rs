//! Sums of charges, and of shares of the server's measured time.

use rustc_hash::FxHashMap;
use x11prof_cost_model::{Clock, Cost, Micros};
use x11prof_protocol::Symbol;
use x11prof_server_model::{Charge, ClientId, RepeatedRequests, TransportPart};
use x11prof_trace::ConnectionId;

use super::groups::Groups;
use super::measuring::Key;
use super::scales::Scales;
use super::stacks::Stacks;
use super::tally::Tally;
use super::transport::{TransportLine, index};
use crate::clients::ClientChoice;
use crate::recording::warnings::Warnings;
use crate::server_time::Share;

/// The sums over all charges of a profile.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) choice: ClientChoice,
    pub(super) lines: Tally<Symbol>,
    pub(super) groups: Option<Groups>,
    pub(super) stacks: Option<Stacks>,
    pub(super) events: FxHashMap<Symbol, TransportLine>,
    pub(super) transport: [TransportLine; 9],
    pub(super) scales: Scales,
    /// The client and the cost of a wakeup that an omitted request caused. The cost is charged to the next request of
    /// the batch, or to no request.
    pub(super) unclaimed: Option<(ClientId, Cost)>,
    pub(super) warnings: Warnings,
    pub(super) clocks: Clocks,
    /// The number of server runs that were attributed.
    pub(super) runs: u64,
}

/// The number of requests whose costs were measured by each of the two clocks.
#[derive(Default)]
pub(super) struct Clocks {
    pub(super) cpu: u64,
    pub(super) wall: u64,
}

impl Sums {
    /// Resets all sums to zero.
    pub(super) fn start_afresh(&mut self) {
        let mut before = std::mem::take(self);
        if let Some(groups) = &mut before.groups {
            groups.start_afresh();
        }
        if let Some(stacks) = &mut before.stacks {
            stacks.start_afresh();
        }
        before.scales.start_afresh();
        *self = Sums {
            choice: before.choice,
            groups: before.groups,
            stacks: before.stacks,
            scales: before.scales,
            ..Sums::default()
        };
    }

    /// Adds a share of the server's measured time to the sums that `key` belongs to.
    pub(super) fn credit(&mut self, key: Key, share: Share) {
        let is_chosen = |client: ClientId| self.choice.holds(ConnectionId(client.0));
        if !key.client.map_or(self.choice.is_all(), is_chosen) {
            return;
        }
        self.runs += u64::from(key.part == Some(TransportPart::Wakeup));
        let factor = key
            .request
            .map_or(1.0, |request| self.scales.factor(request));
        if factor == 0.0 {
            return;
        }
        if let Some(stacks) = &mut self.stacks {
            stacks.credit(key, share);
        }
        if let Some(part) = key.part {
            self.transport[index(part)].measured += share;
        }
        if let Some(name) = key.event {
            self.events.entry(name).or_default().measured += share;
        }
        let group = match (&mut self.groups, key.group) {
            (Some(groups), Some(group)) => Some(groups.line(group)),
            _ => None,
        };
        let line = key.request.map(|request| self.lines.line(request));
        for line in line.into_iter().chain(group) {
            match key.part {
                None => line.measured += share.part(factor),
                Some(_) => line.measured_transport += share,
            }
        }
    }

    /// Adds a charge; `event` is the name of the charged event, if any.
    #[inline]
    pub(super) fn charge(&mut self, charge: &Charge<'_>, event: Option<Symbol>) {
        if !self.choice.holds(ConnectionId(charge.client().0)) {
            return;
        }
        let request = request(charge);
        let factor = request.map_or(1.0, |request| self.scales.factor(request));
        if factor == 0.0 {
            self.left_out(charge);
            return;
        }
        match charge {
            Charge::RepeatedRequests(alike) => {
                let (request, times) = (alike.operation.request, alike.times);
                self.count_clock(alike.cost.clock, times);
                for doubt in &alike.cost.doubts {
                    self.warnings.doubt(request, doubt, times);
                }
                self.scales.count(request, times);
                self.transport[index(TransportPart::Read)].add_times(alike.read, times);
                if alike.cold.time > Micros::ZERO {
                    self.transport[index(TransportPart::Cold)].add_times(alike.cold, times);
                }
            }
            Charge::Request {
                client,
                operation,
                cost,
                ..
            } => {
                self.scales.count(operation.request, 1);
                self.count_clock(cost.clock, 1);
                for doubt in &cost.doubts {
                    self.warnings.doubt(operation.request, doubt, 1);
                }
                if let Some((_, server)) = self.unclaimed.take_if(|(of, _)| of == client) {
                    self.lines.line(operation.request).transport += server;
                }
            }
            Charge::Failed {
                request,
                correction: None,
                ..
            } => self.warnings.uncorrected(*request),
            Charge::Transport {
                part,
                bytes,
                server,
                ..
            } => {
                self.transport[index(*part)].add(*bytes, *server);
                if let (TransportPart::Event, Some(name)) = (part, event) {
                    self.events.entry(name).or_default().add(*bytes, *server);
                }
            }
            _ => {}
        }
        if let Some(request) = request {
            self.lines.line(request).add(charge, factor);
        }
        if let (Some(stacks), Some(groups)) = (&mut self.stacks, &self.groups) {
            stacks.charge(charge, event, groups.current());
        }
        // A wake-up's group is known when it is blamed on a request.
        if let Some(groups) = &mut self.groups
            && !charge.is_wakeup()
        {
            groups.add(charge, factor);
        }
    }

    fn count_clock(&mut self, clock: Option<Clock>, times: u64) {
        match clock {
            Some(Clock::Cpu) => self.clocks.cpu += times,
            Some(Clock::Wall) => self.clocks.wall += times,
            None => {}
        }
    }

    /// Charges the network's latency to a request of this client, which has this name.
    pub(super) fn blocks(&mut self, client: ConnectionId, request: Symbol) {
        if !self.choice.holds(client) || self.scales.factor(request) == 0.0 {
            return;
        }
        self.lines.line(request).blocking += 1;
        if let Some(groups) = &mut self.groups {
            groups.line(groups.current()).blocking += 1;
        }
    }

    /// Processes a charge of an omitted request: counts the request, and stores the cost of its wake-up.
    fn left_out(&mut self, charge: &Charge<'_>) {
        match charge {
            Charge::Request { operation, .. } => self.scales.count(operation.request, 1),
            Charge::RepeatedRequests(alike) => {
                self.scales.count(alike.operation.request, alike.times)
            }
            Charge::Blame { client, server, .. } => self.unclaimed = Some((*client, *server)),
            _ => {}
        }
    }

    /// Removes a wakeup that only omitted requests of `client` caused. Called at the end of a batch.
    pub(super) fn unclaimed_of(&mut self, client: ClientId) {
        if let Some((_, server)) = self.unclaimed.take_if(|(of, _)| *of == client) {
            let wakeups = &mut self.transport[index(TransportPart::Wakeup)];
            wakeups.count = wakeups.count.saturating_sub(1);
            wakeups.server = wakeups.server.without(server);
        }
    }
}

/// Returns the name of the request that a charge belongs to; `None` if it belongs to no request.
fn request(charge: &Charge<'_>) -> Option<Symbol> {
    match charge {
        Charge::Request { operation, .. }
        | Charge::RepeatedRequests(RepeatedRequests { operation, .. }) => Some(operation.request),
        Charge::Failed { request, .. } | Charge::Blame { request, .. } => Some(*request),
        Charge::Transport { request, .. } => *request,
    }
}
