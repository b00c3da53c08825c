//! State that several analyses need, derived once in a pass: round trips, start-ups, grabs, handler times.

use x11prof_protocol::Message;
use x11prof_trace::{Control, Timestamp};

use crate::pipeline::device_grabs::DeviceGrabs;
use crate::pipeline::handled_requests::HandledRequests;
use crate::pipeline::observation::{Observation, ServerRun};
use crate::pipeline::open_requests::OpenRequests;
use crate::pipeline::server_grab::ServerGrab;
use crate::pipeline::start_up::StartUps;
use crate::round_trips::RoundTripTracker;
use crate::server_time::server_runs::Runs;

/// State that several analyses need, derived once for all of them.
#[derive(Default)]
pub(crate) struct DerivedState {
    pub(crate) round_trips: RoundTripTracker,
    pub(crate) start_ups: StartUps,
    server_grab: ServerGrab,
    device_grabs: DeviceGrabs,
    pub(crate) handled: HandledRequests,
    runs: Option<Runs>,
    open_requests: OpenRequests,
}

impl DerivedState {
    /// Updates the state from an observation, then emits the observation and the ones derived from it.
    pub(crate) fn dispatch(
        &mut self,
        observation: &Observation<'_>,
        on: &mut impl FnMut(&Observation<'_>),
    ) {
        let DerivedState {
            round_trips,
            start_ups,
            server_grab,
            device_grabs,
            handled,
            runs,
            open_requests,
        } = self;
        handled.observe(observation);
        let had = server_grab.by();
        let (mut now, mut session) = (None, None);
        match observation {
            Observation::BlockStart(block) => {
                round_trips.block_begins(block);
                start_ups.block_begins(block, round_trips);
            }
            Observation::Message(seen) => {
                start_ups.message(seen, round_trips.processes());
                device_grabs.message(seen);
                open_requests.message(seen);
                session = Some(seen.session);
                if let Message::Request(request) = seen.message {
                    server_grab.request(seen.connection, request.major);
                    now = Some(seen.time);
                }
            }
            Observation::BlockEnd(block, _) => round_trips.block_ends(block),
            Observation::Control(time, control) => {
                round_trips.control(*time, control);
                if let Control::Server(server) = control {
                    let known = runs.as_ref().map(Runs::server);
                    if known != server.pid {
                        *runs = server.pid.map(Runs::of);
                    }
                }
                start_ups.control(*time, control, round_trips.processes());
                if let Control::Closed { connection, .. } = control {
                    server_grab.release(*connection);
                    device_grabs.closed(*connection, *time);
                    open_requests.closed(*time, *connection);
                    now = Some(*time);
                }
            }
            Observation::Switches(steps) => {
                round_trips.steps(steps);
                if let Some(runs) = runs {
                    steps.iter().for_each(|step| runs.step(step));
                }
                let last = steps.last().map_or(0, |step| step.time);
                handled.settle(last, runs.as_ref());
            }
            _ => {}
        }
        // All switches until now are known.
        match observation {
            Observation::BlockStart(block) | Observation::BlockEnd(block, _) => {
                handled.settle(block.time.as_nanos(), runs.as_ref());
            }
            Observation::Control(_, Control::Ended { .. }) => handled.end(runs.as_ref()),
            Observation::Control(time, _) => handled.settle(time.as_nanos(), runs.as_ref()),
            _ => {}
        }
        // Analyses receive a request, and the server's runs, before the request's time.
        let first = matches!(
            observation,
            Observation::Message(_) | Observation::Switches(_)
        );
        if !first {
            handled.emit(on);
        }
        let has = server_grab.by();
        on(observation);
        if matches!(observation, Observation::Switches(_)) {
            self.ran(on);
        }
        if let Some(time) = now.filter(|_| has != had) {
            on(&Observation::Grabbed(time, has));
        }
        if first {
            self.handled.emit(on);
        }
        while let Some(grab) = self.device_grabs.take_change() {
            self.open_requests.device_grab(&grab);
            on(&Observation::DeviceGrab { grab, session });
        }
        while let Some(change) = self.open_requests.take_change() {
            on(&Observation::OpenRequest(change));
        }
        self.started(on);
    }

    fn ran(&mut self, on: &mut impl FnMut(&Observation<'_>)) {
        let Some(runs) = &mut self.runs else { return };
        while let Some((run, Some(to))) = runs.front().map(|(run, _)| (*run, run.to)) {
            on(&Observation::ServerRan(ServerRun {
                from: Timestamp::from_nanos(run.from),
                to: Timestamp::from_nanos(to),
                nanos: run.nanos(),
            }));
            runs.pop();
        }
    }

    fn started(&mut self, on: &mut impl FnMut(&Observation<'_>)) {
        while let Some(one) = self.start_ups.take_done() {
            on(&Observation::Started(&one));
        }
    }

    /// Ends the trace, and emits the observations that follow from its end.
    pub(crate) fn end(&mut self, on: &mut impl FnMut(&Observation<'_>)) {
        if let Some(runs) = &mut self.runs {
            runs.end();
        }
        self.ran(on);
        self.handled.end(self.runs.as_ref());
        self.handled.emit(on);
        self.start_ups.finish(self.round_trips.processes());
        self.started(on);
    }
}
