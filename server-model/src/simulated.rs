//! A simulated server for tests of calibrations, which reads bytes like a real server and reports its CPU time. A
//! calibration must find the parameters with which the server was created.

use rustc_hash::FxHashMap;
use x11prof_cost_model::{Micros, ServerParameters, Substitutions};
use x11prof_protocol::{ByteOrder, Connection, Extensions, Input, Message, Request, Side};
use x11prof_session::{ClientId, Observed, Session};

use crate::charge::Charge;
use crate::clock::Time;
use crate::message::Traffic;
use crate::server::ServerModel;

/// The minimum length of a reply, and the length of an event, in bytes.
const HEAD: usize = 32;
/// MappingNotify, an event without a window.
const EVENT: u8 = 34;

/// The response of the simulated server to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// The number of bytes of the reply after its first 32 bytes, a multiple of 4.
    pub reply_data: u32,
    /// The number of events that the server sends to the client before the reply.
    pub events: u32,
}

/// The work of a simulated server during a call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Served {
    /// The CPU time of the work in microseconds.
    pub cpu: Micros,
    /// The number of times that the server was woken.
    pub wakeups: u64,
    /// The number of replies that the server wrote.
    pub replies: u64,
    /// The total number of bytes of the replies.
    pub reply_bytes: u64,
    /// The number of events that the server wrote.
    pub events: u64,
}

impl Served {
    /// Adds the work of a later call.
    pub fn add(&mut self, next: &Served) {
        self.cpu += next.cpu;
        self.wakeups += next.wakeups;
        self.replies += next.replies;
        self.reply_bytes += next.reply_bytes;
        self.events += next.events;
    }

    fn charge(&mut self, charge: &Charge<'_>) {
        self.cpu += charge.server().time;
        self.wakeups += u64::from(charge.is_wakeup());
    }
}

/// A simulated server with known costs. The server's clock advances while the server works, and in `wait`.
pub struct SimulatedServer {
    model: ServerModel,
    session: Session,
    extensions: Extensions,
    connections: FxHashMap<ClientId, Connection>,
    now: Time,
}

impl SimulatedServer {
    /// Creates a server with the costs in `parameters`.
    pub fn new(parameters: &ServerParameters) -> SimulatedServer {
        let substitutions = Substitutions::default();
        SimulatedServer {
            model: ServerModel::new(parameters, &substitutions),
            session: Session::new(),
            extensions: Extensions::new(),
            connections: FxHashMap::default(),
            now: Time::default(),
        }
    }

    /// The current time on the simulated server's own clock.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Connects a client. `request` contains the bytes of the client's connection setup, and `setup` the bytes of the
    /// server's reply. Returns the server's work.
    pub fn connect(&mut self, client: ClientId, request: &[u8], setup: &[u8]) -> Served {
        self.connections.insert(client, Connection::new());
        let mut served = Served::default();
        self.model
            .batch(client, self.now, &mut |charge| served.charge(charge));
        self.feed(client, Side::Client, request, &mut served, |_| {
            Answer::default()
        });
        self.write(client, setup, &mut served);
        self.finish();
        served
    }

    /// Disconnects a client. The work that `connect` returned includes the cost of the disconnection.
    pub fn disconnect(&mut self, client: ClientId) {
        self.connections.remove(&client);
        self.session.closed(client);
        self.model.closed(client);
    }

    /// Sends a batch of requests of a client. The server handles the batch, with replies of 32 bytes, and then sleeps.
    /// Returns the server's work.
    pub fn send(&mut self, client: ClientId, bytes: &[u8]) -> Served {
        self.send_answered(client, bytes, |_| Answer::default())
    }

    /// Sends a batch of requests of a client. `answer` returns the response to each request. Returns the server's work.
    pub fn send_answered(
        &mut self,
        client: ClientId,
        bytes: &[u8],
        answer: impl FnMut(&Request<'_>) -> Answer,
    ) -> Served {
        let mut served = Served::default();
        self.model
            .batch(client, self.now, &mut |charge| served.charge(charge));
        let answers = self.feed(client, Side::Client, bytes, &mut served, answer);
        if !answers.is_empty() {
            self.write(client, &answers, &mut served);
        }
        self.finish();
        served
    }

    /// Waits for `time` without new bytes.
    pub fn wait(&mut self, time: Micros) {
        let nanos = (time.0.max(0.0) * 1e3) as u64;
        self.now = Time::from_nanos(self.now.as_nanos().saturating_add(nanos));
        self.finish();
    }

    /// Advances the clock to the end of the server's work, after which the server sleeps.
    fn finish(&mut self) {
        if let Some(busy) = self.model.busy_until() {
            // The end is rounded up to a nanosecond. Otherwise the server would still be busy.
            let busy = Time::from_nanos(busy.as_nanos() + 1);
            self.now = self.now.max(busy);
        }
    }

    fn write(&mut self, client: ClientId, bytes: &[u8], served: &mut Served) {
        self.model.wrote(self.now);
        self.feed(client, Side::Server, bytes, served, |_| Answer::default());
    }

    /// Processes one side's bytes, and returns the server's responses.
    fn feed(
        &mut self,
        client: ClientId,
        side: Side,
        bytes: &[u8],
        served: &mut Served,
        mut answer: impl FnMut(&Request<'_>) -> Answer,
    ) -> Vec<u8> {
        let mut answers = Vec::new();
        let SimulatedServer {
            model,
            session,
            extensions,
            connections,
            now,
        } = self;
        let connection = connections.entry(client).or_default();
        connection.feed(
            side,
            Input::Bytes(bytes),
            extensions,
            |message, extensions| {
                // The replies are synthetic, so the session must not use them.
                let is_answer = matches!(message, Message::Reply(_) | Message::Event(_));
                let is_operation = !is_answer
                    && matches!(
                        session.observe(client, &message, extensions),
                        Observed::Operation(_)
                    );
                match &message {
                    Message::Request(request) => {
                        write_answer(request, answer(request), &mut answers);
                    }
                    Message::Reply(reply) => {
                        served.replies += 1;
                        served.reply_bytes += reply.wire_len;
                    }
                    Message::Event(_) => served.events += 1,
                    _ => {}
                }
                let traffic = Traffic {
                    client,
                    time: *now,
                    message: &message,
                    times: 1,
                    operation: is_operation.then(|| session.operation()),
                    session,
                };
                model.message(&traffic, &mut |charge| served.charge(charge));
            },
        );
        answers
    }
}

/// Appends the bytes of a request's events and of its reply to `bytes` (protocol, section "Format of replies and
/// events").
fn write_answer(request: &Request<'_>, answer: Answer, bytes: &mut Vec<u8>) {
    for _ in 0..answer.events {
        bytes.extend(head(request, EVENT));
    }
    if request.has_reply {
        let mut reply = head(request, 1);
        let units = answer.reply_data / 4;
        reply[4..8].copy_from_slice(&match request.order {
            ByteOrder::Little => units.to_le_bytes(),
            ByteOrder::Big => units.to_be_bytes(),
        });
        bytes.extend(reply);
        bytes.resize(bytes.len() + 4 * units as usize, 0);
    }
}

fn head(request: &Request<'_>, code: u8) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = code;
    // The sequence number on the wire has 16 bits (protocol, "Sequence numbers").
    let sequence = request.sequence.0 as u16;
    head[2..4].copy_from_slice(&match request.order {
        ByteOrder::Little => sequence.to_le_bytes(),
        ByteOrder::Big => sequence.to_be_bytes(),
    });
    head
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Micros, ServerParameters};

    use super::{Answer, Served, SimulatedServer};
    use crate::ClientId;

    const CLIENT: ClientId = ClientId(1);
    /// A reply with 400 bytes of data, and an event.
    const BOTH: Answer = Answer {
        reply_data: 400,
        events: 1,
    };

    fn server() -> SimulatedServer {
        let text = r#"
            format = 1
            [server]
            name = "simulated"
            [transport]
            wakeup = { cpu_us = 10 }
            byte_read = { cpu_us = 0.5 }
            byte_written = { cpu_us = 0.25 }
            reply = { cpu_us = 3 }
            event = { cpu_us = 1 }
            after_sleep = [
                { asleep_us = 100, wakeup_us = 10, connection_us = 70 },
                { asleep_us = 10000, wakeup_us = 30, connection_us = 70 },
            ]
            [[request]]
            name = "NoOperation"
            points = [{ size = 0, cpu_us = 4 }]
            [[request]]
            name = "GetInputFocus"
            points = [{ size = 0, cpu_us = 6 }]
        "#;
        let mut server = SimulatedServer::new(&ServerParameters::from_toml(text).unwrap());
        let mut setup = vec![0; 8 + 32];
        (setup[0], setup[2], setup[6]) = (1, 11, 8);
        let request = [b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let served = server.connect(CLIENT, &request, &setup);
        // The sleep before the first wakeup has no known beginning.
        assert_eq!(served.cpu, Micros(30.0 + 12.0 * 0.5 + 70.0));
        server
    }

    const NO_OPERATION: [u8; 4] = [127, 0, 1, 0];
    const GET_INPUT_FOCUS: [u8; 4] = [43, 0, 1, 0];

    #[test]
    fn batch_cost_matches_the_parameters() {
        let mut server = server();
        let served = server.send(CLIENT, &NO_OPERATION.repeat(100));
        assert!((served.cpu.0 - (10.0 + 100.0 * (4.0 + 4.0 * 0.5))).abs() < 1e-9);
        assert_eq!((served.wakeups, served.replies), (1, 0));
        let served = server.send(CLIENT, &GET_INPUT_FOCUS.repeat(3));
        let each = 6.0 + 4.0 * 0.5 + 3.0 + 32.0 * 0.25;
        assert!((served.cpu.0 - (10.0 + 3.0 * each)).abs() < 1e-9);
        assert_eq!((served.replies, served.reply_bytes), (3, 96));
    }

    #[test]
    fn caller_supplies_the_replies() {
        let mut server = server();
        let plain = server.send(CLIENT, &GET_INPUT_FOCUS);
        let full = server.send_answered(CLIENT, &GET_INPUT_FOCUS, |_| BOTH);
        assert!((full.cpu.0 - plain.cpu.0 - 400.0 * 0.25 - 1.0).abs() < 1e-9);
        assert_eq!((full.reply_bytes, full.events), (432, 1));
        let two = [plain, full]
            .iter()
            .fold(Served::default(), |mut sum, one| {
                sum.add(one);
                sum
            });
        assert_eq!((two.replies, two.events, two.wakeups), (2, 1, 2));
    }

    #[test]
    fn wakeup_cost_depends_on_sleep_time() {
        let mut server = server();
        let batch = |server: &mut SimulatedServer| server.send(CLIENT, &NO_OPERATION).cpu.0;
        let warm = batch(&mut server);
        server.wait(Micros(10_000.0));
        assert!((batch(&mut server) - warm - 20.0).abs() < 1e-3);
        let before = server.now();
        let took = batch(&mut server);
        let passed = (server.now().as_nanos() - before.as_nanos()) as f64 / 1e3;
        assert!((passed - took).abs() < 0.01);
    }
}
