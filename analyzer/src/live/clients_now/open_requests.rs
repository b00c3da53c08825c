//! Open requests between clients, and what a client currently waits for.

use x11prof_protocol::Message;
use x11prof_trace::{ConnectionId, Timestamp};

use super::report::OpenRequestNow;
use crate::episodes::shows;
use crate::pipeline::Observation;
use crate::pipeline::open_requests::{OpenRequest, OpenStep};
use crate::text::units::nanos_ms;

/// Shorter waits than this, in milliseconds, are usual and not reported.
const SHORT_MS: f64 = 100.0;

/// The open requests that clients currently wait for.
#[derive(Debug, Default)]
pub(super) struct UnansweredRequests(Vec<OpenRequest>);

impl UnansweredRequests {
    pub(super) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::OpenRequest(change) => {
                let request = change.request;
                self.0.retain(|one| one.number != request.number);
                let is_open = matches!(change.step, OpenStep::Opened | OpenStep::Reached);
                if is_open && request.kind.definition().blocks {
                    self.0.push(request);
                }
            }
            // A client that draws continues without the reply.
            Observation::Message(seen) if !self.0.is_empty() => {
                if let Message::Request(request) = seen.message
                    && shows(seen, request)
                {
                    self.0.retain(|one| one.client != seen.connection);
                }
            }
            _ => {}
        }
    }

    /// The open requests of a client, the oldest first. `now` is the current time; `name` returns the name of a client.
    pub(super) fn of(
        &self,
        client: ConnectionId,
        now: Timestamp,
        name: impl Fn(ConnectionId) -> String,
    ) -> Vec<OpenRequestNow> {
        let own = self.0.iter().filter(|one| one.client == client);
        let own = own.map(|one| {
            let nanos = now.since(one.since).as_nanos();
            let definition = one.kind.definition();
            OpenRequestNow {
                kind: definition.name,
                request: definition.request,
                clause: definition.clause,
                subject: one.subject.map(|subject| subject.to_string()),
                client: one.party.map(&name),
                ms: nanos_ms(u64::try_from(nanos).unwrap_or(u64::MAX)),
            }
        });
        own.filter(|one| one.ms >= SHORT_MS).collect()
    }
}
