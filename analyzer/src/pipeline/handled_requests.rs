//! The times of the server's handlers, joined with their requests: the server time of each request in a timed recording.

use std::collections::VecDeque;

use x11prof_protocol::{Message, Symbol};
use x11prof_session::ClientId;
use x11prof_trace::{ConnectionId, Control, HandlerTime, Timestamp};

use crate::pipeline::observation::{HandledRequest, Observation};
use crate::pipeline::seen::Seen;
use crate::server_time::server_runs::Runs;
use crate::server_time::{INTERRUPTED, Match, Timed};

/// The client, name and time of a request.
type Sent = (ConnectionId, Symbol, Timestamp);

/// Joins requests with handler times, in recordings whose server reports handler times.
#[derive(Debug, Default)]
pub(crate) struct HandledRequests {
    timed: Option<Timed<Sent>>,
    server: Option<u32>,
    /// The server's context switches are recorded.
    switches: bool,
    /// Handlers of which it is not known yet how long they were on a processor.
    pending: VecDeque<HandlerTime>,
    joined: VecDeque<HandledRequest>,
}

impl HandledRequests {
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
        let on = &mut |happened| join(&mut self.joined, happened);
        match observation {
            Observation::Message(seen) => match seen.message {
                Message::Request(request) => {
                    let sent = (seen.connection, request.name, seen.time);
                    timed.requests((seen.connection, request.sequence), seen.times, sent, on);
                }
                Message::ServerSetup(_) => accepted(timed, seen, on),
                _ => {}
            },
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

    /// Joins the handlers that were over by `now`, when all switches up to then are known. The kernel may have run other
    /// processes within a long handler: that is not its time.
    pub(crate) fn settle(&mut self, now: u64, runs: Option<&Runs>) {
        let Some(timed) = &mut self.timed else { return };
        let on = &mut |happened| join(&mut self.joined, happened);
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

    /// The next request that has met its handler time.
    pub(crate) fn take(&mut self) -> Option<HandledRequest> {
        self.joined.pop_front()
    }
}

fn join(joined: &mut VecDeque<HandledRequest>, happened: Match<Sent>) {
    if let Match::Timed((connection, request, sent), nanos, start) = happened {
        joined.push_back(HandledRequest {
            connection,
            request,
            sent,
            start,
            nanos,
        });
    }
}

fn accepted(timed: &mut Timed<Sent>, seen: &Seen<'_>, on: &mut dyn FnMut(Match<Sent>)) {
    if let Some(ids) = seen.session.ids_of(ClientId(seen.connection.0)) {
        timed.accepted(seen.connection, (ids.first, ids.mask), on);
    }
}
