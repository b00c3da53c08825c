//! A complete server model, which converts batches of requests and the server's messages to charges.

use rustc_hash::FxHashMap;
use x11prof_cost_model::{
    Cost, CostTable, Micros, ServerParameters, Substitutions, TransportEstimates,
};
use x11prof_protocol::{Message, Request, SequenceNumber, Symbol};
use x11prof_session::{ClientId, Operation};

use crate::cache::UsedPixels;
use crate::charge::{Charge, RepeatedRequests, TransportPart};
use crate::client::{ChargedRequest, Client};
use crate::clock::{ServerClock, Time};
use crate::message::{self, Traffic};
use crate::wakeup::Wakeups;

/// A simulated display server. The calls must be ordered by time. For each batch of requests, call `batch`, and then
/// `message` for each message of the batch. For each write of the server, call `wrote`, and then `message` for each
/// message of the write.
pub struct ServerModel {
    costs: CostTable,
    transport: TransportEstimates,
    clock: ServerClock,
    wakeups: Wakeups,
    pixels: UsedPixels,
    clients: FxHashMap<ClientId, Client>,
    /// The cost of the last request.
    cost: Micros,
}

impl ServerModel {
    /// Creates a server with the costs in `parameters`, which is initially asleep. `substitutions` contains the rules
    /// for attribute values that were not measured.
    pub fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> ServerModel {
        let transport = TransportEstimates::new(parameters);
        ServerModel {
            costs: CostTable::new(parameters, substitutions),
            transport,
            clock: ServerClock::default(),
            wakeups: Wakeups::default(),
            pixels: UsedPixels::default(),
            clients: FxHashMap::default(),
            cost: Micros::ZERO,
        }
    }

    /// True if the server's transport costs are known; otherwise the model charges no time for transport.
    pub fn knows_transport(&self) -> bool {
        self.transport.is_known()
    }

    /// The cost of the last request; zero if there is none.
    pub fn last_cost(&self) -> Micros {
        self.cost
    }

    /// Processes the arrival of a batch of bytes from a client, and passes the charges to `on`. The caller must then
    /// pass the messages that end in these bytes to `message`.
    pub fn batch(&mut self, client: ClientId, time: Time, on: &mut impl FnMut(&Charge<'_>)) {
        if self.wakeups.arrive(&mut self.clock, time) {
            let server = self.transport.wakeup(self.wakeups.slept());
            self.clock.serve(server.time);
            let known = self.clients.entry(client).or_default();
            known.wakeups = Some(known.wakeups.unwrap_or_default() + server);
            let there = (client, time);
            on(&Charge::beside(there, TransportPart::Wakeup, server, None));
        }
    }

    /// Stores the time at which the recorded server wrote bytes. The caller must then pass the messages that end in
    /// these bytes to `message`.
    pub fn wrote(&mut self, time: Time) {
        let at = self.clock.at(time);
        self.clock.wrote(at);
    }

    /// Removes the state of a client that has disconnected.
    pub fn closed(&mut self, client: ClientId) {
        self.clients.remove(&client);
    }

    /// The time at which the server completes its current work; `None` before the first batch.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn busy_until(&self) -> Option<Time> {
        let busy = self.clock.busy_until()?;
        Some(self.clock.time_of(busy))
    }

    /// Processes a message of the current batch or write, and passes the charges to `on`.
    #[inline]
    pub fn message(&mut self, seen: &Traffic<'_>, on: &mut impl FnMut(&Charge<'_>)) {
        use TransportPart::{Cold, Error, Event, Read, Reply, Setup};
        let mut transport = |model: &mut ServerModel, part, bytes, server: Cost, request| {
            model.clock.serve(server.time);
            on(&Charge::Transport {
                client: seen.client,
                time: seen.time,
                part,
                bytes,
                server,
                request,
            });
        };
        match seen.message {
            Message::ClientSetup(setup) => {
                let cost = message::setup(&self.transport, setup.wire_len, self.wakeups.slept());
                transport(self, Setup, setup.wire_len, cost, None);
                // The setup woke the server, so the client's first request did not.
                if let Some(client) = self.clients.get_mut(&seen.client) {
                    client.wakeups = None;
                }
            }
            Message::ServerSetup(setup) => {
                transport(self, Setup, setup.wire_len, Cost::default(), None);
            }
            Message::Request(request) => {
                let read = message::read(&self.transport, request.wire_len);
                let cold = self.cold(seen, request);
                transport(self, Read, 0, read, Some(request.name));
                if cold.time > Micros::ZERO {
                    transport(self, Cold, 0, cold, Some(request.name));
                }
                if let Some(operation) = seen.operation {
                    self.request(seen, request, operation, on);
                    if seen.times > 1 {
                        self.repeated(seen, request, operation, on);
                    }
                }
            }
            Message::Reply(reply) => {
                let bytes = reply.wire_len;
                let cost = self.transport.reply(bytes);
                transport(self, Reply, reply.wire_len, cost, reply.request);
                let client = self.clients.entry(seen.client).or_default();
                client.answered(reply.sequence);
            }
            Message::Event(event) => {
                let cost = self.transport.event();
                transport(self, Event, event.wire_len, cost, None);
                if let Some(sequence) = event.sequence {
                    let client = self.clients.entry(seen.client).or_default();
                    client.answered(sequence);
                }
            }
            Message::Error(error) => {
                // An error is written like a reply of 32 bytes.
                let bytes = error.bytes.len() as u64;
                let cost = self.transport.reply(bytes);
                transport(self, Error, bytes, cost, Some(error.request));
                self.failed(seen.client, error.sequence, error.request, on);
            }
            Message::Malformed(_) => {}
        }
    }

    /// The extra cost of a request whose pixels are no longer in the processor's caches.
    fn cold(&mut self, seen: &Traffic<'_>, request: &Request<'_>) -> Cost {
        let Some(operation) = seen.operation else {
            return Cost::default();
        };
        let (costs, idled) = (self.transport.sleep(), self.wakeups.idled());
        self.pixels
            .cost(costs, seen.session, (request, operation), idled)
    }

    fn request(
        &mut self,
        seen: &Traffic<'_>,
        request: &Request<'_>,
        operation: &Operation,
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let (cost, fixed) = self.costs.look_up(operation);
        self.cost = cost.server.time;
        self.clock.serve(self.cost);

        let known = self.clients.entry(seen.client).or_default();
        if let Some(server) = known.wakeups.take() {
            on(&Charge::Blame {
                client: seen.client,
                request: request.name,
                server,
            });
        }
        known.requested(ChargedRequest {
            sequence: request.sequence,
            request: request.name,
            server: cost.server,
            fixed,
        });
        on(&Charge::Request {
            client: seen.client,
            sequence: request.sequence,
            time: seen.time,
            operation,
            bytes: request.wire_len,
            cost,
        });
    }

    /// Charges the repetitions of `request`, whose first occurrence has already been charged.
    fn repeated(
        &mut self,
        seen: &Traffic<'_>,
        request: &Request<'_>,
        operation: &Operation,
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let times = seen.times - 1;
        let read = message::read(&self.transport, request.wire_len);
        let cost = self.costs.look_up(operation).0.server;
        // The server does not sleep between the repetitions, so their pixels are as cold as the pixels of the second
        // request.
        let cold = self.cold(seen, request);
        let each = read.time + cold.time + cost.time;
        self.clock.serve(each * times as f64);
        self.clients.entry(seen.client).or_default().repeated(times);
        on(&Charge::RepeatedRequests(RepeatedRequests {
            client: seen.client,
            sequence: request.sequence.next(),
            time: seen.time,
            operation,
            bytes: request.wire_len,
            cost: self.costs.look_up(operation).0,
            read,
            cold,
            times,
        }));
    }

    /// Corrects the charge of a failed request to its fixed part (docs/CONCEPTS.md).
    fn failed(
        &mut self,
        client: ClientId,
        sequence: SequenceNumber,
        request: Symbol,
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let known = self.clients.entry(client).or_default().failed(sequence);
        let correction = known.as_ref().map(|known| (known.server, known.fixed));
        let request = known.map_or(request, |known| known.request);
        on(&Charge::Failed {
            client,
            sequence,
            request,
            correction,
        });
    }
}
