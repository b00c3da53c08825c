//! A whole server: it takes batches of requests and the server's answers, and returns charges.

use rustc_hash::FxHashMap;
use x11prof_cost_model::{Cost, Micros, ServerParameters, Substitutions, TransportPrices};
use x11prof_protocol::{Message, Request, SequenceNumber, Symbol};
use x11prof_session::{ClientId, Operation};

use crate::cache::Caches;
use crate::charge::{Charge, TransportPart};
use crate::client::{Client, PricedRequest};
use crate::clock::{ServerClock, Time};
use crate::message::{self, Traffic};
use crate::operation::Operations;
use crate::screen_update::{ScreenUpdates, Update};
use crate::wakeup::Wakeups;
use crate::wakeup::shared_processor::Stretch;

/// The events that a copy is answered by: GraphicsExposure, NoExposure.
const COPIED: [u8; 2] = [13, 14];

/// One simulated display server. Its input is in the order of time: for each batch of requests `batch`, then its
/// messages; for each write of the server `wrote`, then its messages.
pub struct ServerModel {
    operations: Operations,
    transport: TransportPrices,
    clock: ServerClock,
    wakeups: Wakeups,
    caches: Caches,
    /// `None` if the server does no later work for changes of its screen, or if this is unknown.
    updates: Option<ScreenUpdates>,
    clients: FxHashMap<ClientId, Client>,
    /// The client of the last batch.
    served: Option<ClientId>,
}

impl ServerModel {
    /// The server that `parameters` describe, asleep.
    pub fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> ServerModel {
        let transport = TransportPrices::new(parameters);
        ServerModel {
            operations: Operations::new(parameters, substitutions),
            updates: transport.deferred().map(ScreenUpdates::new),
            transport,
            clock: ServerClock::default(),
            wakeups: Wakeups::default(),
            caches: Caches::default(),
            clients: FxHashMap::default(),
            served: None,
        }
    }

    /// True if the server's transport costs are known; otherwise transport takes no time.
    pub fn knows_transport(&self) -> bool {
        self.transport.is_known()
    }

    /// True if the server's screen updates are known.
    pub fn knows_updates(&self) -> bool {
        self.updates.is_some()
    }

    /// A thread that is not the server's ran on the server's processor. To be told before the first batch that comes
    /// after the stretch began.
    pub fn another_ran(&mut self, stretch: Stretch) {
        self.wakeups.processor.take(stretch);
    }

    /// Bytes of `client` arrive; the messages that end in them follow.
    pub fn batch(&mut self, client: ClientId, time: Time, on: &mut impl FnMut(&Charge<'_>)) {
        self.between_batches(client, time, on);
        self.served = Some(client);
        let answered = self
            .clients
            .get(&client)
            .and_then(|known| known.answered_at);
        if self.wakeups.arrive(&mut self.clock, time, answered) {
            let server = self.transport.wakeup(self.wakeups.prior_sleep());
            self.clock.serve(server.time);
            let known = self.clients.entry(client).or_default();
            known.wakeups = Some(known.wakeups.unwrap_or_default() + server);
            let there = (client, time);
            on(&Charge::beside(there, TransportPart::Wakeup, server, None));
        }
    }

    /// The server wrote to `client`; the messages that end in that follow.
    pub fn wrote(&mut self, client: ClientId, time: Time) {
        let at = self.clock.at(time);
        self.clock.wrote(at);
        self.clients.entry(client).or_default().write_begins = true;
    }

    /// No batch comes until `time`: charges the server's work meanwhile to the client that it served last.
    pub fn idle(&mut self, time: Time, on: &mut impl FnMut(&Charge<'_>)) {
        let at = self.clock.at(time);
        let idle = self.clock.busy_until().is_none_or(|busy| at >= busy);
        if let Some(client) = self.served {
            self.update(client, time, (at, idle), on);
        }
    }

    /// A client's connection is closed.
    pub fn closed(&mut self, client: ClientId) {
        self.clients.remove(&client);
    }

    /// The end of the server's present work; `None` before the first batch.
    pub(crate) fn busy_until(&self) -> Option<Time> {
        let busy = self.clock.busy_until()?;
        Some(self.clock.time_of(busy))
    }

    /// A message of the batch that was told last, or of the write.
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
                let cost =
                    message::setup(&self.transport, setup.wire_len, self.wakeups.prior_sleep());
                transport(self, Setup, setup.wire_len, cost, None);
                // The setup woke the server, not the first request.
                if let Some(client) = self.clients.get_mut(&seen.client) {
                    client.wakeups = None;
                }
            }
            Message::ServerSetup(setup) => {
                self.first_of_write(seen.client);
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
                }
            }
            Message::Reply(reply) => {
                let bytes = reply.wire_len;
                let first = self.first_of_write(seen.client);
                let cost = message::answer(&self.transport, bytes, first);
                transport(self, Reply, reply.wire_len, cost, reply.request);
                let client = self.clients.entry(seen.client).or_default();
                client.answered(reply.sequence);
                client.served_at = Some(seen.time);
                let latest = client.latest == reply.sequence;
                client.answered_at = (reply.last && latest).then_some(seen.time);
            }
            Message::Event(event) => {
                let first = self.first_of_write(seen.client);
                let cost = message::event(&self.transport, first);
                transport(self, Event, event.wire_len, cost, None);
                if let Some(sequence) = event.sequence {
                    let client = self.clients.entry(seen.client).or_default();
                    client.answered(sequence);
                    // A client may wait for an event as for a reply.
                    client.answered_at = Some(seen.time);
                    if !event.sent && COPIED.contains(&event.code) {
                        client.served_at = Some(seen.time);
                    }
                }
            }
            Message::Error(error) => {
                // An error is written as a reply of 32 bytes is.
                let bytes = error.bytes.len() as u64;
                let first = self.first_of_write(seen.client);
                let cost = message::answer(&self.transport, bytes, first);
                transport(self, Error, bytes, cost, Some(error.request));
                self.failed(seen.client, error.sequence, error.request, on);
            }
            Message::Malformed(_) => {}
        }
    }

    /// True if the present message is the first of its write.
    fn first_of_write(&mut self, client: ClientId) -> bool {
        let client = self.clients.entry(client).or_default();
        std::mem::take(&mut client.write_begins)
    }

    /// A request's extra cost because code and pixels are cold.
    fn cold(&mut self, seen: &Traffic<'_>, request: &Request<'_>) -> Cost {
        let now = self.clock.busy_until().unwrap_or_default();
        let first_uses = self.operations.first_uses(seen.operation);
        let at = (self.wakeups.elapsed(now), first_uses);
        let prices = self.transport.sleep();
        self.caches
            .cost(prices, seen.session, request, seen.operation, at)
    }

    fn request(
        &mut self,
        seen: &Traffic<'_>,
        request: &Request<'_>,
        operation: &Operation,
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let fixed = self.operations.look_up(operation);
        self.clock.serve(self.operations.price.server.time);
        if let (Some(updates), Some(changed)) = (&mut self.updates, seen.changed) {
            updates.change(changed, self.clock.busy_until().unwrap_or_default());
        }

        let across = seen.session.across(request, operation, seen.extensions);
        let across = across.map(|across| {
            self.operations
                .across_network(request, &across, &self.transport)
        });
        let price = &self.operations.price;
        let known = self.clients.entry(seen.client).or_default();
        if let Some(server) = known.wakeups.take() {
            on(&Charge::Blame {
                client: seen.client,
                request: request.name,
                server,
            });
        }
        known.requested(PricedRequest {
            sequence: request.sequence,
            request: request.name,
            server: price.server,
            fixed,
        });
        on(&Charge::Request {
            client: seen.client,
            sequence: request.sequence,
            time: seen.time,
            operation,
            bytes: request.wire_len,
            price,
            across,
        });
    }

    /// A request that failed costs its fixed part only (DESIGN, section 4).
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

    /// Updates the server's screen, if due, before a batch arrives at `time`. The server was not idle in between if the
    /// client shares its processor, ran as soon as it was answered, and had the batch ready before the server looked
    /// for more.
    fn between_batches(&mut self, client: ClientId, time: Time, on: &mut impl FnMut(&Charge<'_>)) {
        let at = self.clock.at(time);
        if self.updates.is_none() {
            return;
        }
        let busy = self.clock.busy_until().unwrap_or(at);
        let ready = self.ready(client, time, busy);
        let now = Micros(at.0.max(busy.0));
        self.update(client, time, (now, at >= busy && !ready), on);
    }

    /// True if the client has its batch ready before the server, busy until `busy`, looks for more.
    fn ready(&mut self, client: ClientId, time: Time, busy: Micros) -> bool {
        let Some(client) = self.clients.get_mut(&client) else {
            return false;
        };
        let Some(since) = client.served_at.take() else {
            return false;
        };
        let processor = &self.wakeups.processor;
        let Some(ran) = processor.span(since, time) else {
            return false;
        };
        client.runs_first(ran, self.wakeups.awake(busy))
            && processor.ran_without_a_wait(since, time)
    }

    /// The server updates its screen, if an update is due by `now`; `idle` if it has no other work.
    fn update(
        &mut self,
        client: ClientId,
        time: Time,
        (now, idle): (Micros, bool),
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let Some(updates) = &mut self.updates else {
            return;
        };
        let cold = self.transport.cold(self.wakeups.prior_sleep());
        if let Some(Update { due, cost }) = updates.made(now, idle, cold) {
            self.clock.serve_at(due, cost.time);
            let there = (client, self.clock.time_of(due).min(time));
            on(&Charge::beside(there, TransportPart::Update, cost, None));
        }
    }
}
