//! The share that each charge has in the CPU time of the recorded server's runs.

use x11prof_cost_model::{Micros, ServerIdentity, TransportEstimates};
use x11prof_protocol::{Message, Symbol};
use x11prof_trace::{ConnectionId, Control};

use super::groups::GroupKey;
use crate::pipeline::{MessageContext, Observation};
use crate::recording::recorded_server::recorded_server;
use crate::server_time::{
    Attribution, AttributionKey, Evidence, Rate, RequestId, Share, Source, UnattributedRuns, Work,
};
use x11prof_server_model::{Charge, ClientId, Time, TransportPart};

/// The key of the sums that a charge's share of a run is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) request: Option<Symbol>,
    /// The part of transport that was charged; `None` for the operation of the request itself.
    pub(super) part: Option<TransportPart>,
    pub(super) event: Option<Symbol>,
    pub(super) group: Option<GroupKey>,
    /// The client that caused the work; `None` for unattributed work.
    pub(super) client: Option<ClientId>,
    /// The period in which the work arrived (see [`super::stacks::Stacks`]).
    pub(super) period: u32,
}

impl AttributionKey for Key {
    /// Returns the key without the group, the client and the period, which do not change the cost of a request.
    fn kind(self) -> Key {
        let request = self.request.filter(|_| self.part.is_none());
        Key {
            request,
            group: None,
            client: None,
            period: 0,
            ..self
        }
    }
}

/// The time source of server times that the user selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeSourceOption {
    /// Measured if the cost table is of the recorded server and the trace has the server's CPU time; otherwise
    /// modelled.
    #[default]
    Auto,
    /// The times of the server's handlers, or else measured CPU time, regardless of the cost table.
    Timed,
    /// Measured CPU time, attributed by costs, if the trace has it; regardless of the cost table.
    Measured,
    /// The costs of the cost table alone.
    Model,
}

/// Measures the recorded server's time for each charge.
pub(super) struct Measuring {
    basis: TimeSourceOption,
    /// The server whose costs are used.
    measured_server: ServerIdentity,
    transport: TransportEstimates,
    attribution: Option<Attribution<Key>>,
    /// True if a message of the current block was charged.
    charged: bool,
    /// The longest time that server messages were in flight on an emulated link, in nanoseconds.
    delay: u64,
    /// The sum of all credited shares.
    credited: Share,
    /// The period of the work that arrives now.
    pub(super) period: u32,
}

impl Measuring {
    pub(super) fn new(measured_server: ServerIdentity, transport: TransportEstimates) -> Measuring {
        Measuring {
            basis: TimeSourceOption::default(),
            measured_server,
            transport,
            attribution: None,
            charged: false,
            delay: 0,
            credited: Share::default(),
            period: 0,
        }
    }

    pub(super) fn set_basis(&mut self, basis: TimeSourceOption) {
        self.basis = basis;
    }

    /// Adds a charge for the message `seen`, which belongs to `group`.
    #[inline]
    pub(super) fn charge(
        &mut self,
        charge: &Charge<'_>,
        seen: Option<&MessageContext<'_>>,
        group: Option<GroupKey>,
    ) {
        use TransportPart::{Cold, Error, Event, Own, Read, Reply, Setup, Wakeup};
        let Some(attribution) = &mut self.attribution else {
            return;
        };
        let at = |time: Time| {
            let now = seen.filter(|seen| seen.time.as_nanos() == time.as_nanos());
            now.map_or(time.as_nanos(), |seen| seen.at_server.as_nanos())
        };
        let key = |request, part| Key {
            request,
            part,
            event: seen.and_then(event).filter(|_| part == Some(Event)),
            group,
            client: Some(charge.client()),
            period: self.period,
        };
        match charge {
            Charge::Request {
                client,
                sequence,
                time,
                operation,
                cost,
                ..
            } => {
                let known = cost.basis != x11prof_cost_model::CostSource::NoCost;
                let cost = known.then_some(cost.server.time);
                let work = Work {
                    at: at(*time),
                    came: Evidence::In,
                    key: Some(key(Some(operation.request), None)),
                    cost,
                    question: seen.and_then(question),
                };
                match attribution.is_timed() && seen.is_some_and(|seen| seen.timed) {
                    true => attribution.timed_request(work, (ConnectionId(client.0), *sequence), 1),
                    false => attribution.work(work, 1),
                }
                self.charged = true;
            }
            // A handler's time holds what is cold for it.
            Charge::RepeatedRequests(alike) => {
                let request = Some(alike.operation.request);
                let known = alike.cost.basis != x11prof_cost_model::CostSource::NoCost;
                let work = |part, cost| Work {
                    at: at(alike.time),
                    came: Evidence::In,
                    key: Some(key(request, part)),
                    cost,
                    question: None,
                };
                attribution.work(work(Some(Read), Some(alike.read.time)), alike.times);
                if alike.cold.time > Micros::ZERO && !attribution.is_timed() {
                    attribution.work(work(None, Some(alike.cold.time)), alike.times);
                }
                let cost = known.then_some(alike.cost.server.time);
                let first = (ConnectionId(alike.client.0), alike.sequence);
                match attribution.is_timed() && seen.is_some_and(|seen| seen.timed) {
                    true => attribution.timed_request(work(None, cost), first, alike.times),
                    false => attribution.work(work(None, cost), alike.times),
                }
                self.charged = true;
            }
            Charge::Failed {
                request,
                correction: Some((was, now)),
                ..
            } if !attribution.is_timed() => {
                attribution.corrected(key(Some(*request), None), now.time - was.time);
            }
            Charge::Transport {
                time,
                part,
                server,
                request,
                ..
            } => {
                let came = match part {
                    // If runs are known, each run has its own wake-up.
                    Wakeup if attribution.source() == Source::Switches => return,
                    // A handler's time already includes the extra cost of cold caches.
                    Cold if attribution.is_timed() => return,
                    Wakeup | Read | Cold | Setup => Evidence::In,
                    Reply | Error => Evidence::CompletedRequest,
                    Event => Evidence::Event,
                    Own => return,
                };
                // The extra cost of a cold request cannot be separated from the rest of its cost.
                let part = Some(*part).filter(|part| *part != Cold);
                let is_answer = matches!(part, Some(Reply | Error));
                let work = Work {
                    at: at(*time),
                    came,
                    key: Some(key(*request, part)),
                    cost: Some(server.time),
                    question: seen.filter(|_| is_answer).and_then(question),
                };
                attribution.work(work, 1);
                self.charged |= came == Evidence::In;
            }
            _ => {}
        }
    }

    /// Processes an observation after its charges. Passes the shares that are known by now to `credit`.
    pub(super) fn observe(
        &mut self,
        observation: &Observation<'_>,
        credit: impl FnMut(Key, Share),
    ) {
        match observation {
            Observation::Control(time, control) => self.control(time.as_nanos(), control, credit),
            Observation::Switches(steps) => {
                if let Some(attribution) = &mut self.attribution {
                    attribution.steps(steps);
                }
            }
            Observation::Handled(times) => {
                if let Some(attribution) = &mut self.attribution {
                    attribution.handled(times);
                }
            }
            Observation::Message(seen) => {
                let delay = seen
                    .time
                    .as_nanos()
                    .saturating_sub(seen.at_server.as_nanos());
                self.delay = delay.max(self.delay);
            }
            Observation::HandledRequest(one) => {
                if let Some(attribution) = &mut self.attribution {
                    let request = (one.connection, one.sequence);
                    attribution.handled_request(request, one.count, (one.start, one.nanos));
                }
            }
            Observation::HandledUnrecorded(start, nanos) => {
                if let Some(attribution) = &mut self.attribution {
                    attribution.handled_unrecorded(*start, *nanos);
                }
            }
            Observation::BlockStart(_) => self.charged = false,
            Observation::Lost(block) | Observation::BlockEnd(block, _) => {
                let time = block.time.as_nanos();
                if let Some(attribution) = &mut self.attribution
                    && block.direction == x11prof_trace::Direction::ToServer
                    && !self.charged
                {
                    attribution.work(call(time, None, self.period), 1);
                }
                self.settle(time, credit);
            }
            _ => {}
        }
    }

    fn control(&mut self, time: u64, control: &Control, credit: impl FnMut(Key, Share)) {
        match control {
            Control::Server(server) => {
                let same = || {
                    x11prof_cost_model::is_same_server(
                        &self.measured_server,
                        &recorded_server(server),
                    )
                };
                let wants = match self.basis {
                    TimeSourceOption::Auto => same(),
                    TimeSourceOption::Measured | TimeSourceOption::Timed => true,
                    TimeSourceOption::Model => false,
                };
                self.attribution = server.pid.filter(|_| wants).map(Attribution::of);
            }
            Control::Capture { pid, capture, .. } => {
                if let Some(attribution) = &mut self.attribution
                    && attribution.server() == *pid
                {
                    attribution.captured(capture == "switches");
                }
            }
            Control::CpuTime(reading) => {
                if let Some(attribution) = &mut self.attribution
                    && attribution.server() == reading.pid
                {
                    attribution.clock(time, reading.cpu_ns);
                }
            }
            Control::Timing { pid, why: None } if self.basis != TimeSourceOption::Measured => {
                if let Some(attribution) = &mut self.attribution
                    && attribution.server() == *pid
                {
                    attribution.time_handlers();
                }
            }
            Control::Attached {} => {
                if let Some(attribution) = &mut self.attribution {
                    attribution.reported_by_server();
                }
            }
            Control::Opened(_) => self.connection(time, None),
            Control::Closed { connection, .. } => {
                if let Some(attribution) = &mut self.attribution {
                    attribution.gone(*connection);
                }
                let sleep = self.transport.sleep();
                let cost = sleep.connection(Micros::ZERO).time;
                self.connection(time, Some(cost));
            }
            Control::Ended { .. } => self.end(credit),
            _ => {}
        }
    }

    /// Notes that a client connects or disconnects.
    fn connection(&mut self, time: u64, cost: Option<Micros>) {
        if let Some(attribution) = &mut self.attribution {
            attribution.work(call(time, cost, self.period), 1);
        }
    }

    /// Attributes the server's runs that had ended by `now` (nanoseconds), and passes the shares to `credit`. All
    /// earlier observations must have been processed.
    pub(super) fn settle(&mut self, now: u64, mut credit: impl FnMut(Key, Share)) {
        let Some(attribution) = &mut self.attribution else {
            return;
        };
        let now = now.saturating_sub(self.delay);
        let (transport, period) = (&self.transport, self.period);
        let wakeup = |slept: Option<u64>| {
            let slept = slept.map_or(f64::INFINITY, |slept| slept as f64);
            transport.wakeup(Micros::from_nanos(slept)).time
        };
        let woken = |by: Option<Key>| Key {
            part: Some(TransportPart::Wakeup),
            event: None,
            ..by.unwrap_or(connection(period))
        };
        let credited = &mut self.credited;
        attribution.settle(now, wakeup, woken, |key, share| {
            *credited += share;
            credit(key, share);
        });
    }

    /// Ends the trace, and passes the remaining shares to `credit`.
    pub(super) fn end(&mut self, credit: impl FnMut(Key, Share)) {
        if let Some(attribution) = &mut self.attribution {
            attribution.end();
        }
        let mut credit = credit;
        self.settle(u64::MAX, &mut credit);
        self.finish(credit);
    }

    /// Processes an observation after the reported part. The rate from context switches to the clock is computed over
    /// the whole recording.
    pub(super) fn after(&mut self, observation: &Observation<'_>) {
        let Some(attribution) = &mut self.attribution else {
            return;
        };
        attribution.stop();
        match observation {
            Observation::Switches(steps) => attribution.steps(steps),
            // Includes handlers that began within the part.
            Observation::HandledRequest(one) => {
                let request = (one.connection, one.sequence);
                attribution.handled_request(request, one.count, (one.start, one.nanos));
            }
            Observation::HandledUnrecorded(start, nanos) => {
                attribution.handled_unrecorded(*start, *nanos);
            }
            Observation::Control(time, Control::CpuTime(reading))
                if attribution.server() == reading.pid =>
            {
                attribution.clock(time.as_nanos(), reading.cpu_ns);
            }
            _ => {}
        }
    }

    /// Attributes all finished runs for a report, and passes the shares to `credit`.
    pub(super) fn finish(&mut self, mut credit: impl FnMut(Key, Share)) {
        let Measuring {
            attribution,
            credited,
            ..
        } = self;
        if let Some(attribution) = attribution {
            attribution.finish(|key, share| {
                *credited += share;
                credit(key, share);
            });
        }
    }

    /// Returns the shares of the runs that are not yet attributed, if they were attributed now.
    pub(super) fn pending(&self) -> Vec<(Key, Share)> {
        self.attribution
            .as_ref()
            .map(Attribution::pending)
            .unwrap_or_default()
    }

    /// Returns the factor that converts shares to the kernel's CPU time; `None` if nothing is measured.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.attribution.as_ref()?.rate(self.credited)
    }

    /// True if the server reports the times of its handlers.
    pub(super) fn is_timed(&self) -> bool {
        self.attribution.as_ref().is_some_and(Attribution::is_timed)
    }

    /// Returns the server's CPU time in microseconds, first by context switches, then by its clock; `None` if the two
    /// agree.
    pub(super) fn doubt(&self) -> Option<(Micros, Micros)> {
        self.attribution.as_ref()?.doubt()
    }

    /// True if times measured on another server may be extrapolated to this one, because nothing is measured here.
    pub(super) fn carries(&self) -> bool {
        self.basis == TimeSourceOption::Auto && self.rate().is_none()
    }

    /// The unattributed runs, and the CPU time of the server's other threads; `None` if the runs are unknown.
    pub(super) fn own(&self) -> Option<(UnattributedRuns, Share)> {
        let attribution = self.attribution.as_ref()?;
        (attribution.source() == Source::Switches)
            .then(|| (attribution.unattributed(), attribution.threads()))
    }

    /// Returns `self` with all counts and times reset and the settings unchanged.
    pub(super) fn afresh(mut self) -> Measuring {
        self.start_afresh();
        self
    }

    /// Resets all counts and times.
    pub(super) fn start_afresh(&mut self) {
        self.credited = Share::default();
        if let Some(attribution) = &mut self.attribution {
            attribution.start_afresh();
        }
    }
}

/// Returns the work of the server at `at` (nanoseconds) that no message caused. `cost` is the cost of the end of a
/// client; `None` for other work.
fn call(at: u64, cost: Option<Micros>, period: u32) -> Work<Key> {
    Work {
        at,
        came: Evidence::In,
        key: cost.map(|_| connection(period)),
        cost,
        question: None,
    }
}

/// Returns the name of the event in `seen`; `None` for other messages.
fn event(seen: &MessageContext<'_>) -> Option<Symbol> {
    match seen.message {
        Message::Event(event) => Some(event.name),
        _ => None,
    }
}

/// Returns the id of a request that has a reply, or of the request that a reply belongs to; `None` for other messages.
fn question(seen: &MessageContext<'_>) -> Option<RequestId> {
    let sequence = match seen.message {
        Message::Request(request) if request.has_reply => request.sequence,
        Message::Reply(reply) if reply.last => reply.sequence,
        Message::Error(error) => error.sequence,
        _ => return None,
    };
    Some((seen.connection, sequence))
}

/// The key of connecting and disconnecting clients.
fn connection(period: u32) -> Key {
    Key {
        request: None,
        part: Some(TransportPart::Setup),
        event: None,
        group: None,
        client: None,
        period,
    }
}
