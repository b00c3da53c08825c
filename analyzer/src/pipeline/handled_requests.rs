//! The times of the server's handlers, joined with their requests: the server time of each request in a timed recording.

use std::collections::VecDeque;

use x11prof_protocol::{Message, Symbol};
use x11prof_session::ClientId;
use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::pipeline::observation::{HandledRequest, Observation};
use crate::pipeline::seen::Seen;
use crate::server_time::{Match, Timed};

/// What is known of a request when it is sent.
type Sent = (ConnectionId, Symbol, Timestamp);

/// Joins requests with handler times, in recordings whose server reports handler times.
#[derive(Debug, Default)]
pub(crate) struct HandledRequests {
    timed: Option<Timed<Sent>>,
    joined: VecDeque<HandledRequest>,
}

impl HandledRequests {
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Control(_, Control::Timing { why: None, .. }) = observation {
            self.timed = Some(Timed::new());
        }
        let HandledRequests { timed, joined } = self;
        let Some(timed) = timed else { return };
        let on = &mut |happened: Match<Sent>| {
            if let Match::Timed((connection, request, sent), nanos, start) = happened {
                joined.push_back(HandledRequest {
                    connection,
                    request,
                    sent,
                    start,
                    nanos,
                });
            }
        };
        match observation {
            Observation::Message(seen) => match seen.message {
                Message::Request(request) => {
                    let sent = (seen.connection, request.name, seen.time);
                    timed.requests((seen.connection, request.sequence), seen.times, sent, on);
                }
                Message::ServerSetup(_) => accepted(timed, seen, on),
                _ => {}
            },
            Observation::Handled(times) => {
                for time in *times {
                    timed.handled(time, time.took_ns, on);
                }
            }
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

    /// The next request that has met its handler time.
    pub(crate) fn take(&mut self) -> Option<HandledRequest> {
        self.joined.pop_front()
    }
}

fn accepted(timed: &mut Timed<Sent>, seen: &Seen<'_>, on: &mut dyn FnMut(Match<Sent>)) {
    if let Some(ids) = seen.session.ids_of(ClientId(seen.connection.0)) {
        timed.accepted(seen.connection, (ids.first, ids.mask), on);
    }
}
