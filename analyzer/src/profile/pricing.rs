//! Observations priced: what each request, and each thing that its transport made the server
//! do, costs one server.

mod rests;

use x11prof_cost_model::{
    Cost, CostTable, FastMap, Micros, Price, ServerClock, ServerParameters, Substitutions,
    TransportPrices,
};
use x11prof_protocol::{Message, Request, SequenceNumber, Symbol};
use x11prof_session::Operation;
use x11prof_trace::{ConnectionId, Control, Direction, Timestamp};

use super::charges::{Charge, TransportPart};
use super::coldness::Coldness;
use super::crossing::Crossing;
use super::deferred::Pictures;
use super::others::Others;
use super::streams::{Recent, Stream};
use crate::pipeline::{Observation, Seen};

/// The events that a copy is answered by: GraphicsExposure, NoExposure.
const COPIED: [u8; 2] = [13, 14];

/// Which requests are charged the network's latency (equation 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Blocking {
    /// All that the protocol answers with a reply, as the paper has it.
    ByType,
    /// Of those, the ones that were the last request of their client when the answer came; one
    /// that was never answered counts by its type.
    #[default]
    Observed,
}

/// Prices what it observes for one server.
pub struct Pricer {
    costs: CostTable,
    transport: TransportPrices,
    clock: ServerClock,
    blocking: Blocking,
    start: Option<Timestamp>,
    streams: FastMap<ConnectionId, Stream>,
    /// When the last batch came that found it asleep.
    woken: Option<Micros>,
    others: Others,
    coldness: Coldness,
    /// What the server does later for what is drawn, where it does anything.
    pictures: Option<Pictures>,
    /// The last request's, used again.
    price: Price,
}

impl Pricer {
    /// Prices of the server that `parameters` describe.
    pub fn new(
        parameters: &ServerParameters,
        substitutions: &Substitutions,
        blocking: Blocking,
    ) -> Pricer {
        let transport = TransportPrices::new(parameters);
        Pricer {
            costs: CostTable::new(parameters, substitutions),
            pictures: transport.deferred().map(Pictures::new),
            transport,
            clock: ServerClock::new(),
            blocking,
            start: None,
            streams: FastMap::default(),
            woken: None,
            others: Others::default(),
            coldness: Coldness::default(),
            price: Price::default(),
        }
    }

    /// Whether the server's transport costs are known; else transport counts as no time.
    pub fn knows_transport(&self) -> bool {
        self.transport.is_known()
    }

    /// Whether it is known what the server does later for what has changed on its screen.
    pub fn knows_updates(&self) -> bool {
        self.pictures.is_some()
    }

    /// Takes the next observation and hands what it costs to `on`.
    pub fn observe(&mut self, observation: &Observation<'_>, mut on: impl FnMut(&Charge<'_>)) {
        match observation {
            Observation::BlockStart(block) if block.direction == Direction::ToServer => {
                let at = self.at(block.time);
                self.before(block.connection, block.time, at, &mut on);
                let stream = self.streams.get(&block.connection);
                let answered = stream.and_then(|stream| stream.awaited);
                let client = answered.and_then(|since| self.others.span(since, block.time));
                let worked = self.others.worked(block.time);
                // The server waited for a client that had what it waited for: for as long as that
                // client took. The recorder's ways there and back do not belong to the sleep.
                let behind =
                    |slept: Micros| client.map_or(slept, |client| Micros(slept.0.min(client.0)));
                let slept = self.clock.arrive(at).map(behind);
                self.coldness.arrive(worked, slept);
                if slept.is_some() {
                    self.woken = Some(at);
                    self.wakeup(block.connection, block.time, &mut on);
                }
            }
            Observation::BlockStart(block) => {
                let at = self.at(block.time);
                self.clock.wrote(at);
                self.streams.entry(block.connection).or_default().written = true;
            }
            Observation::Message(seen) => self.message(seen, &mut on),
            Observation::Switches(switches) => {
                self.others.observe(switches);
            }
            Observation::Control(_, Control::Server(server)) => self.others.server(server.pid),
            Observation::Control(_, Control::Closed { connection, .. }) => {
                self.streams.remove(connection);
            }
            _ => {}
        }
    }

    fn at(&mut self, time: Timestamp) -> Micros {
        since(*self.start.get_or_insert(time), time)
    }

    /// The trace's time at such a time of the server's.
    fn time_of(&self, at: Micros) -> Timestamp {
        let start = self.start.map_or(0, Timestamp::as_nanos);
        Timestamp::from_nanos(start.saturating_add((at.0.max(0.0) * 1e3) as u64))
    }

    fn wakeup(
        &mut self,
        connection: ConnectionId,
        time: Timestamp,
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let server = self.transport.wakeup(self.coldness.lapse());
        self.clock.serve(server.time);
        let stream = self.streams.entry(connection).or_default();
        stream.unblamed = Some(stream.unblamed.unwrap_or_default() + server);
        let there = (connection, time);
        on(&Charge::beside(there, TransportPart::Wakeup, server, None));
    }

    /// The server works for `time` on what came last.
    fn serve(&mut self, time: Micros) {
        self.clock.serve(time);
    }

    fn message(&mut self, seen: &Seen<'_>, on: &mut impl FnMut(&Charge<'_>)) {
        use TransportPart::{Cold, Error, Event, Read, Reply, Setup};
        let mut transport = |pricer: &mut Pricer, part, bytes, server: Cost, request| {
            pricer.serve(server.time);
            let (connection, time) = (seen.connection, seen.time);
            on(&Charge::Transport {
                connection,
                time,
                part,
                bytes,
                server,
                request,
            });
        };
        match seen.message {
            Message::ClientSetup(setup) => {
                let read = self.transport.byte_read().times(setup.wire_len as f64);
                let connection = self.transport.sleep().connection(self.coldness.lapse());
                transport(self, Setup, setup.wire_len, read + connection, None);
                // It was the setup that woke the server, not the first request.
                if let Some(stream) = self.streams.get_mut(&seen.connection) {
                    stream.unblamed = None;
                }
            }
            Message::ServerSetup(setup) => {
                self.flush(seen.connection);
                transport(self, Setup, setup.wire_len, Cost::default(), None);
            }
            Message::Request(request) => {
                let read = self.transport.byte_read().times(request.wire_len as f64);
                let now = self.clock.busy_until().unwrap_or_default();
                let sleep = self.transport.sleep();
                let costs = &mut self.costs;
                let firsts = seen.operation.map_or(1.0, |it| costs.first_uses(it));
                let at = (now, firsts);
                let cold = self
                    .coldness
                    .cost(sleep, seen.session, request, seen.operation, at);
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
                let work = reply.request.map(|it| self.costs.answered(it, bytes));
                let written = self.transport.reply(bytes) + self.flush(seen.connection);
                let cost = written + work.unwrap_or_default();
                transport(self, Reply, reply.wire_len, cost, reply.request);
                let stream = self.streams.entry(seen.connection).or_default();
                stream.answered(reply.sequence);
                stream.told = Some(seen.time);
                let latest = reply.last && stream.latest == reply.sequence;
                stream.awaited = latest.then_some(seen.time);
                if let Some(request) = reply.request
                    && reply.last
                    && stream.latest != reply.sequence
                    && self.blocking == Blocking::Observed
                {
                    on(&Charge::Pipelined {
                        connection: seen.connection,
                        request,
                    });
                }
            }
            Message::Event(event) => {
                let cost = self.transport.event() + self.flush(seen.connection);
                transport(self, Event, event.wire_len, cost, None);
                if let Some(sequence) = event.sequence {
                    let stream = self.streams.entry(seen.connection).or_default();
                    stream.answered(sequence);
                    // A client may wait for an event as for a reply.
                    stream.awaited = Some(seen.time);
                    if !event.sent && COPIED.contains(&event.code) {
                        stream.told = Some(seen.time);
                    }
                }
            }
            Message::Error(error) => {
                // An error is written as a reply of 32 bytes is.
                let bytes = error.bytes.len() as u64;
                let cost = self.transport.reply(bytes) + self.flush(seen.connection);
                transport(self, Error, bytes, cost, Some(error.request));
                self.failed(seen.connection, error.sequence, error.request, on);
            }
            Message::Malformed(_) => {}
        }
    }

    /// The cost of the write that a message came with, for the first message of that write.
    fn flush(&mut self, connection: ConnectionId) -> Cost {
        let stream = self.streams.entry(connection).or_default();
        if std::mem::take(&mut stream.written) {
            self.transport.flush()
        } else {
            Cost::default()
        }
    }

    fn request(
        &mut self,
        seen: &Seen<'_>,
        request: &Request<'_>,
        operation: &Operation,
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let fixed = self.costs.price_into(operation, &mut self.price);
        self.serve(self.price.server.time);
        if let (Some(pictures), Some(changed)) = (&mut self.pictures, seen.changed) {
            let busy = self.clock.busy_until().unwrap_or_default();
            let join = pictures.change(changed, busy);
            self.price.server += Cost::exact(join);
            let busy = busy + join;
            let pauses = pictures.pauses(busy);
            self.serve(join);
            if pauses {
                self.update(seen.connection, seen.time, (busy, false), on);
            }
        }

        let parts = (&mut self.costs, &self.transport);
        let across = Crossing::of(seen, (request, operation), self.price.server, parts);
        let price = &self.price;
        let connection = seen.connection;
        let stream = self.streams.entry(connection).or_default();
        if let Some(server) = stream.unblamed.take() {
            on(&Charge::Blame {
                connection,
                request: request.name,
                server,
            });
        }
        stream.asked(Recent {
            sequence: request.sequence,
            request: request.name,
            server: price.server,
            fixed,
            blocking: request.has_reply,
        });
        on(&Charge::Request {
            connection,
            sequence: request.sequence,
            time: seen.time,
            operation,
            bytes: request.wire_len,
            price,
            blocking: request.has_reply,
            across,
        });
    }

    /// A request that failed costs its fixed part only (DESIGN, section 4).
    fn failed(
        &mut self,
        connection: ConnectionId,
        sequence: SequenceNumber,
        request: Symbol,
        on: &mut impl FnMut(&Charge<'_>),
    ) {
        let observed = self.blocking == Blocking::Observed;
        let stream = self.streams.entry(connection).or_default();
        let known = stream.failed(sequence);
        let pipelined = stream.latest != sequence;
        let correction = known.as_ref().map(|known| (known.server, known.fixed));
        let request = known.as_ref().map_or(request, |known| known.request);
        on(&Charge::Failed {
            connection,
            sequence,
            request,
            correction,
        });
        if known.is_some_and(|known| known.blocking) && pipelined && observed {
            on(&Charge::Pipelined {
                connection,
                request,
            });
        }
    }
}

fn since(start: Timestamp, time: Timestamp) -> Micros {
    Micros::from_nanos(time.since(start).as_nanos() as f64)
}
