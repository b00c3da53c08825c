//! Stalls: intervals longer than a frame in which the server was grabbed, or worked for one client without a pause.
//! Each stall has its client, its request, and the clients that waited for replies meanwhile.
//!
//! A server does one thing at a time. A reply shows that the server worked until then: for the client that receives the
//! reply, and on earlier requests without a reply. The client whose part of the work took longest in the server's
//! handlers caused the stall; if the server reports no handler times, the client whose part has the highest cost. The
//! server's context switches, if available, show the beginning and end of the work; otherwise a stall begins with the
//! request whose reply ends it.

mod episodes;
pub(crate) mod grabs;
mod handled;
mod queue;
pub(crate) mod report;
pub(crate) mod stall;
#[cfg(test)]
mod tests;

use x11prof_cost_model::{CostTable, Micros, ServerParameters, Substitutions};
use x11prof_protocol::{Message, SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::pipeline::{MessageContext, Observation};
use crate::server_time::server_runs::Runs;
use crate::threads::delays::{HANDED_ON_WITHIN, WOKEN_WITHIN};
use grabs::Grabs;
use handled::HandledLately;
use queue::{Queue, WaitingClient};
use stall::{HoldKind, Stall, Waited};

/// The longest frame without a perceptible delay, in milliseconds: the length of a frame at 60 Hz.
pub const FRAME_MS: f64 = 1000.0 / 60.0;
/// Number of kept stalls: when there are twice as many, the shorter half is dropped.
const STALLS_LIMIT: usize = 10_000;

/// Requests whose client may wait while the server rests: for a frame of the screen, for other clients, or for data
/// from another source (DRI2, "WaitMSC" and "GetBuffers"; RECORD, "EnableContext"; fonts of a font server).
const WAITS_BY_ITSELF: [&str; 7] = [
    "DRI2:WaitMSC",
    "DRI2:WaitSBC",
    "DRI2:GetBuffers",
    "DRI2:GetBuffersWithFormat",
    "DRI2:SwapBuffers",
    "RECORD:EnableContext",
    "ListFontsWithInfo",
];

/// Collects the stalls and the grabs of a trace.
pub struct Stalls {
    frame: u64,
    costs: CostTable,
    grabs: Grabs,
    queue: Queue,
    /// The requests that the server handled recently, if it reports handler times.
    handled: Option<HandledLately>,
    runs: Option<Runs>,
    /// True if the trace has the server's switches.
    switches: bool,
    /// True if requests have the time at which the server reads them (RECORD). Then the trace does not show which
    /// client waited.
    attached: bool,
    /// For an attached server, the request that it read last, and the time of its last message after that
    /// (nanoseconds).
    taken_up: Option<(ConnectionId, Symbol, u64)>,
    /// True if the recorder emulates a link to the server.
    emulated: bool,
    /// The time at which the server last changed to other work, in nanoseconds, as far as known.
    turned: u64,
    /// The beginning of a run that continued a request, in nanoseconds. The server had waited for a disk or another
    /// machine before it.
    slept_over: Option<u64>,
    stalls: Vec<Stall>,
    /// The number of stalls, and their total time.
    count: u64,
    nanos: u64,
}

impl Stalls {
    /// Creates an analysis of stalls longer than `frame_ms` milliseconds. The costs of `parameters` identify the most
    /// expensive of several requests.
    pub fn new(
        parameters: &ServerParameters,
        substitutions: &Substitutions,
        frame_ms: f64,
    ) -> Stalls {
        Stalls {
            frame: (frame_ms.clamp(0.1, 1e6) * 1e6) as u64,
            costs: CostTable::new(parameters, substitutions),
            grabs: Grabs::default(),
            queue: Queue::default(),
            handled: None,
            runs: None,
            switches: false,
            attached: false,
            taken_up: None,
            emulated: false,
            turned: 0,
            slept_over: None,
            stalls: Vec::new(),
            count: 0,
            nanos: 0,
        }
    }

    /// The grabs of the trace.
    pub fn grabs(&self) -> &Grabs {
        &self.grabs
    }

    /// The number of stalls, and the latest stall: its client, its request, and its length in nanoseconds.
    pub fn latest(&self) -> (u64, Option<(ConnectionId, Option<Symbol>, u64)>) {
        let latest = self.stalls.last();
        let latest = latest.map(|stall| (stall.client, stall.request, stall.held()));
        (self.count, latest)
    }

    pub(crate) fn list(&self) -> &[Stall] {
        &self.stalls
    }

    /// The active server grab, if it is long enough to be a stall; otherwise `None`.
    pub(crate) fn open_grab(&self) -> Option<Stall> {
        let grab = self.grabs.server_grab(self.grabs.now())?;
        (grab.held() > self.frame).then_some(grab)
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        let operation = match observation {
            Observation::Message(seen) => seen.operation,
            _ => None,
        };
        let cost = operation.map(|operation| self.costs.look_up(operation).0.server.time);
        self.observe_with_cost(observation, cost.unwrap_or_default());
    }

    /// Takes the next observation of a pass; a request has this cost by the same parameters.
    pub fn observe_with_cost(&mut self, observation: &Observation<'_>, cost: Micros) {
        match observation {
            Observation::BlockStart(block) if !self.attached => {
                self.settle(block.time.as_nanos());
            }
            Observation::Message(seen) if self.attached => {
                self.went_on(seen.time.as_nanos());
                if let Message::Request(request) = seen.message {
                    let now = seen.time.as_nanos();
                    self.taken_up = Some((seen.connection, request.name, now));
                }
            }
            Observation::Message(seen) => self.message(seen, cost),
            Observation::HandledRequest(one) => {
                if let Some(handled) = &mut self.handled {
                    handled.add(one, self.turned);
                }
            }
            Observation::Switches(steps) => {
                if let Some(runs) = &mut self.runs {
                    steps.iter().for_each(|step| runs.step(step));
                }
            }
            Observation::Control(time, control) => self.control(*time, control),
            _ => {}
        }
        self.grabs.observe(observation);
        if let Some(grab) = self.grabs.take_server_grab() {
            self.turned = self.turned.max(grab.to);
            self.add(grab);
        }
    }

    /// Resets the counts. Waiting clients are kept.
    pub fn start_afresh(&mut self) {
        self.stalls.clear();
        (self.count, self.nanos) = (0, 0);
        self.grabs.start_afresh();
    }

    fn control(&mut self, time: Timestamp, control: &Control) {
        match control {
            Control::Server(server) => self.runs = server.pid.map(Runs::of),
            Control::Capture { pid, capture, .. }
                if self.runs.as_ref().is_some_and(|runs| runs.server() == *pid) =>
            {
                self.switches = capture == "switches";
            }
            Control::Timing { why: None, .. } => self.handled = Some(HandledLately::default()),
            Control::Attached {} => self.attached = true,
            Control::Network(_) => self.emulated = true,
            Control::Link(link) => self.emulated |= link.is_remote(),
            Control::Closed { connection, .. } => self.queue.closed(*connection),
            Control::Ended { .. } if self.attached => self.went_on(time.as_nanos()),
            Control::Ended { .. } => self.settle(time.as_nanos()),
            _ => {}
        }
    }

    fn message(&mut self, seen: &MessageContext<'_>, cost: Micros) {
        match seen.message {
            Message::Request(request) => self.queue.sent(
                seen.connection,
                (request.name, request.sequence),
                (cost.0.max(1.0), seen.times),
                seen.at_server.as_nanos(),
                request.has_reply,
            ),
            Message::Reply(reply) if reply.last => self.answered(seen, reply.sequence),
            Message::Error(error) => self.answered(seen, error.sequence),
            _ => {}
        }
    }

    /// Notes that the server has handled the request with this sequence number.
    fn answered(&mut self, seen: &MessageContext<'_>, sequence: SequenceNumber) {
        let time = seen.at_server.as_nanos();
        let Some(question) = self.queue.answered(seen.connection, sequence) else {
            return;
        };
        self.queue
            .overtaken(question.requested_at.saturating_sub(self.frame));
        // The server was not busy before its run, even if clients waited for it.
        let run = self.runs_now().and_then(|runs| runs.front());
        let since = match run.map(|(run, _)| run.from) {
            Some(since) if waits_by_itself(question.request) => since,
            Some(since) => self.slept_over.map_or(since, |slept| slept.min(since)),
            None => question.requested_at,
        };
        let asker = WaitingClient {
            client: seen.connection,
            since: question.requested_at,
            requests: 1,
        };
        self.turns(since, time, Some(asker));
    }

    /// The server's runs, if its switches are known and fit the messages: over an emulated link, replies arrive while
    /// the server may already do other work.
    fn runs_now(&mut self) -> Option<&mut Runs> {
        self.runs
            .as_mut()
            .filter(|_| self.switches && !self.emulated)
    }

    /// RECORD reported something at `now`: until then an attached server was processing the request that it had read
    /// last, unless it rested. A server that waits for a page of memory has not finished it.
    fn went_on(&mut self, now: u64) {
        let frame = self.frame;
        let taken_up = self.taken_up;
        if let Some((.., since)) = &mut self.taken_up {
            *since = now.max(*since);
        }
        let Some(runs) = self.runs_now() else {
            return;
        };
        let from = taken_up.map_or(now, |(.., since)| since);
        let mut until = from;
        while let Some((run, next)) = runs.front() {
            if run.from <= until.saturating_add(WOKEN_WITHIN) {
                until = until.max(run.to.unwrap_or(now).min(now));
            }
            if next.is_none_or(|next| next > now) {
                break;
            }
            runs.pop();
        }
        let ran = runs.ran_between(from, until);
        if let Some((client, request, _)) = taken_up
            && ran > frame
            && !waits_by_itself(request)
            && !self.grabs.has_server()
        {
            self.add(Stall {
                how: HoldKind::Busy,
                client,
                request: Some(request),
                from,
                to: until,
                ran: Some(ran),
                handled: None,
                waited: Vec::new(),
            });
        }
    }

    /// Ends the stretches of the server's runs that were over at `now`.
    fn settle(&mut self, now: u64) {
        while let Some((run, over)) = self.run_over(now) {
            if let Some(runs) = &mut self.runs {
                runs.pop();
            }
            let waiting = self.queue.waiting(|request| !waits_by_itself(request));
            // The server continues with a request during which it slept.
            let owes = waiting.iter().any(|one| one.since < run);
            match owes && !self.grabs.has_server() {
                true => {
                    self.slept_over.get_or_insert(run);
                }
                false => self.turns(run, over, None),
            }
        }
    }

    /// The beginning and end of the first run, if it ended well before `now`.
    fn run_over(&mut self, now: u64) -> Option<(u64, u64)> {
        let runs = self.runs_now()?;
        let (run, _) = runs.front()?;
        let to = run
            .to
            .filter(|to| to.saturating_add(HANDED_ON_WITHIN) < now)?;
        Some((run.from, to))
    }

    /// Notes that the server began other work, or was idle, at `to`. It worked continuously from `from` on, or from the
    /// last change to other work. The client `asker` has just received a reply.
    fn turns(&mut self, from: u64, to: u64, asker: Option<WaitingClient>) {
        self.slept_over = None;
        let from = from.max(self.turned);
        let frame = self.frame;
        // Without switches, completion times of requests without a reply are unknown. Requests long before `from` were
        // done.
        let since = match self.runs_now() {
            Some(_) => 0,
            None => from.saturating_sub(frame),
        };
        // The server handled messages that arrived after the request only after it.
        let until = match asker {
            Some(asker) => asker.since,
            None => to,
        };
        self.queue.done(since, until);
        self.turned = self.turned.max(to);
        // During a grab the server does no other client's work. Grabs are reported as another kind of stall.
        if to.saturating_sub(from) > frame && !self.grabs.has_server() {
            self.stretch(from, to, asker);
        }
        self.queue.forget_done();
    }

    fn stretch(&mut self, from: u64, to: u64, asker: Option<WaitingClient>) {
        let timed = self.handled.as_ref();
        let timed = timed.and_then(|handled| handled.busiest(from, to));
        let Some(blamed) = timed
            .map(|busiest| busiest.blamed)
            .or_else(|| self.queue.blamed())
        else {
            return;
        };
        let waiting = self.queue.waiting(|request| !waits_by_itself(request));
        let mut waited: Vec<Waited> = Vec::new();
        for one in asker.into_iter().chain(waiting) {
            let nanos = to.saturating_sub(one.since.max(from));
            if one.client == blamed.client || nanos == 0 {
                continue;
            }
            match waited.iter_mut().find(|of| of.client == one.client) {
                Some(of) => of.requests += one.requests,
                None => waited.push(Waited {
                    client: one.client,
                    requests: one.requests,
                    nanos,
                }),
            }
        }
        let runs = self.runs.as_ref().filter(|_| self.switches);
        let ran = runs.map(|runs| runs.ran_between(from, to));
        // If no other client waited, there is no evidence that the server did not alternate between clients, or that a
        // sleeping server was busy.
        let ran_long = ran.is_none_or(|ran| ran > self.frame);
        // The time of a reply over an emulated link is no evidence either.
        if waited.is_empty() && !(blamed.alone && ran_long) || self.emulated && !ran_long {
            return;
        }
        // While the server was ready but had no processor, no client held it.
        let preempted = runs.map_or(0, |runs| runs.preempted_between(from, to));
        if (to - from).saturating_sub(preempted) <= self.frame {
            return;
        }
        self.add(Stall {
            how: HoldKind::Busy,
            client: blamed.client,
            request: blamed.request,
            from,
            to,
            ran,
            handled: timed.map(|busiest| busiest.nanos.round() as u64),
            waited,
        });
    }

    fn add(&mut self, stall: Stall) {
        let held = stall.held();
        if held <= self.frame {
            return;
        }
        self.count += 1;
        self.nanos = self.nanos.saturating_add(held);
        if self.stalls.len() >= 2 * STALLS_LIMIT {
            self.stalls.sort_by_key(|one| std::cmp::Reverse(one.held()));
            self.stalls.truncate(STALLS_LIMIT);
            self.stalls.sort_by_key(|one| one.from);
        }
        self.stalls.push(stall);
    }
}

fn waits_by_itself(request: Symbol) -> bool {
    WAITS_BY_ITSELF.contains(&request.as_str())
}
