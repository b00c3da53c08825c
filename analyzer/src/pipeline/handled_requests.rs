//! Joins the times of the server's handlers with their requests: the server time of each request in a timed recording.

use std::collections::VecDeque;

use x11prof_protocol::{Message, Request, SequenceNumber, Symbol};
use x11prof_session::ClientId;
use x11prof_trace::{ConnectionId, Control, HandlerTime, Timestamp};

use crate::pipeline::handler_matches::{Match, Timed};
use crate::pipeline::observation::{HandledRequest, Observation};
use crate::server_time::server_runs::{INTERRUPTED, Runs};

/// A request, or the first of equal requests: client, name, sequence number and time.
type Sent = (ConnectionId, Symbol, SequenceNumber, Timestamp);

/// Joins requests with handler times, in recordings whose server reports handler times.
#[derive(Debug, Default)]
pub(crate) struct HandledRequests {
    timed: Option<Timed<Sent>>,
    server: Option<u32>,
    /// True if the server's context switches are recorded.
    switches: bool,
    /// Handlers whose CPU time is not known yet.
    pending: VecDeque<HandlerTime>,
    joined: VecDeque<Match<Sent>>,
}

impl HandledRequests {
    /// Adds a request that `client` sent at `time`; `times` is the number of equal requests. Returns true if the server
    /// will report their handler times.
    pub(crate) fn request(
        &mut self,
        (client, time): (ConnectionId, Timestamp),
        request: &Request<'_>,
        times: u64,
    ) -> bool {
        let Some(timed) = &mut self.timed else {
            return false;
        };
        let sent = (client, request.name, request.sequence, time);
        let on = &mut |happened| self.joined.push_back(happened);
        timed.requests((client, request.sequence), times, sent, on)
    }

    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Control(_, Control::Timing { why: None, .. }) => {
                self.timed = Some(Timed::new());
            }
            Observation::Control(_, Control::Server(server)) => self.server = server.pid,
            Observation::Control(_, Control::Capture { pid, capture, .. })
                if self.server == Some(*pid) =>
            {
                self.switches = capture == "switches";
            }
            _ => {}
        }
        let Some(timed) = &mut self.timed else { return };
        let on = &mut |happened| self.joined.push_back(happened);
        match observation {
            Observation::Message(seen) if matches!(seen.message, Message::ServerSetup(_)) => {
                if let Some(ids) = seen.session.ids_of(ClientId(seen.connection.0)) {
                    timed.accepted(seen.connection, (ids.first, ids.mask), on);
                }
            }
            Observation::Handled(times) => self.pending.extend(times.iter().copied()),
            Observation::Control(_, Control::Existing(existing)) => {
                for client in &existing.clients {
                    timed.accepted(client.connection, (client.first, client.mask), on);
                }
            }
            Observation::Control(_, Control::Closed { connection, .. }) => {
                timed.closed(*connection);
            }
            _ => {}
        }
    }

    /// Joins the handlers that had ended by `now` (nanoseconds). All context switches up to then must be known. The
    /// time of other processes that ran during a handler does not count.
    pub(crate) fn settle(&mut self, now: u64, runs: Option<&Runs>) {
        let Some(timed) = &mut self.timed else { return };
        let on = &mut |happened| self.joined.push_back(happened);
        let end = |time: &HandlerTime| time.start.as_nanos().saturating_add(time.took_ns);
        while let Some(time) = self.pending.pop_front_if(|time| end(&*time) <= now) {
            let runs = runs.filter(|_| self.switches && time.took_ns > INTERRUPTED);
            let nanos = runs.map_or(time.took_ns, |runs| {
                let ran = runs.ran_between(time.start.as_nanos(), end(&time));
                ran.min(time.took_ns)
            });
            timed.handled(&time, nanos, on);
        }
    }

    /// Ends the recording, and joins the remaining handlers.
    pub(crate) fn end(&mut self, runs: Option<&Runs>) {
        self.settle(u64::MAX, runs);
        if let Some(timed) = &mut self.timed {
            timed.end(&mut |happened| self.joined.push_back(happened));
        }
    }

    /// Emits the requests that have been joined with their handler times.
    pub(crate) fn emit(&mut self, on: &mut impl FnMut(&Observation<'_>)) {
        while let Some(joined) = self.joined.pop_front() {
            match joined {
                Match::Unclaimed(start, nanos) => {
                    on(&Observation::HandledUnrecorded(start, nanos));
                }
                Match::Timed((connection, request, sequence, sent), count, nanos, start) => {
                    on(&Observation::HandledRequest(&HandledRequest {
                        connection,
                        request,
                        sequence,
                        count,
                        sent,
                        start,
                        nanos,
                    }));
                }
            }
        }
    }
}
