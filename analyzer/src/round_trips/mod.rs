//! Distinguishes round trips from pipelined requests.
//!
//! A client waits for a reply if it wrote nothing after the request, no other reply is pending, and the client was off
//! the processor before the reply arrived. Of requests sent together, it waits for the last one, which is one round
//! trip. If the recording has no context switches or is attached, the first two conditions decide. Only the pipeline has a
//! tracker; it adds the result to the message of the reply.

pub(crate) mod arrival;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use x11prof_protocol::{ByteOrder, Message, Reply, Request, SequenceNumber, Symbol};
use x11prof_trace::{Block, ConnectionId, Control, Direction, Timestamp};

use crate::clients::PerClient;
use crate::threads::processes::Processes;
use crate::threads::server_ready::ServerReady;
use crate::threads::thread_states::Step;
use arrival::Arrival;

/// Maximum number of open requests of each client; older ones are dropped.
const QUESTIONS: usize = 4096;
/// Maximum number of bytes kept of a pending request; fields beyond them are unknown.
const BODY_LIMIT: usize = 512;

/// The way in which a client received a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// The client waited for the reply: a round trip.
    Waited,
    /// The client waited only until the server had handled all earlier requests (GetInputFocus, as XSync sends it).
    /// Also a round trip.
    Synchronised,
    /// The client did not wait for the reply, but worked or sent other requests before the reply arrived.
    Pipelined,
}

impl ReplyKind {
    /// True if the client waited for the reply.
    pub(crate) fn is_round_trip(self) -> bool {
        self != ReplyKind::Pipelined
    }
}

/// A request that has a reply by the protocol, and whose reply has not arrived.
#[derive(Debug, Clone)]
pub(crate) struct PendingRequest {
    pub(crate) name: Symbol,
    pub(crate) major: u8,
    pub(crate) minor: u8,
    pub(crate) sequence: SequenceNumber,
    /// The time at which the relay had read the request, in nanoseconds.
    pub(crate) requested_at: u64,
    /// The time at which the server received the request, in nanoseconds.
    pub(crate) arrived_at: u64,
    pub(crate) order: ByteOrder,
    /// The bytes of the request after its header, up to a limit.
    pub(crate) body: Box<[u8]>,
    /// A hash that is equal for equal requests, regardless of their sequence numbers.
    pub(crate) same: u64,
    /// The number of requests that the client sent between the last reply and this request.
    pub(crate) requests_ahead: u64,
    write: u64,
}

impl PendingRequest {
    /// The 32-bit field of the request at an offset after its header; `None` beyond the kept bytes.
    pub(crate) fn u32(&self, at: usize) -> Option<u32> {
        self.order.u32(&self.body, at)
    }

    /// The 16-bit field of the request at an offset after its header; `None` beyond the kept bytes.
    pub(crate) fn u16(&self, at: usize) -> Option<u16> {
        self.order.u16(&self.body, at)
    }
}

/// A request that received its reply or error.
#[derive(Debug)]
pub(crate) struct CompletedRequest<'a> {
    pub(crate) client: ConnectionId,
    pub(crate) question: PendingRequest,
    /// The reply; `None` if the server sent an error.
    pub(crate) reply: Option<&'a Reply<'a>>,
    /// The time at which the first byte of the reply was read, in nanoseconds; `time` is the time of the last byte.
    pub(crate) began: u64,
    pub(crate) time: u64,
    /// The time at which the server had sent the reply, in nanoseconds.
    pub(crate) left_at: u64,
    /// Nanoseconds of the wait in which no processor was free for the server or the recorder.
    pub(crate) unserved: u64,
    pub(crate) how: ReplyKind,
}

impl CompletedRequest<'_> {
    /// The wait of the client in nanoseconds; 0 if it did not wait.
    pub(crate) fn waited(&self) -> u64 {
        match self.how {
            ReplyKind::Pipelined => 0,
            _ => self.time.saturating_sub(self.question.requested_at),
        }
    }

    /// Nanoseconds of the client's wait in which the request or the reply was on an emulated link.
    pub(crate) fn on_link(&self) -> u64 {
        let server = self.left_at.saturating_sub(self.question.arrived_at);
        self.waited().saturating_sub(server)
    }

    /// Nanoseconds that the client would have waited without an emulated link.
    pub(crate) fn waited_locally(&self) -> u64 {
        self.waited() - self.on_link()
    }

    /// A hash of the reply that is equal for equal replies to equal requests; 0 without a reply.
    pub(crate) fn same(&self) -> u64 {
        let Some(reply) = self.reply else { return 0 };
        let mut hasher = FxHasher::default();
        // The reply contains the sequence number of the request.
        reply.bytes.get(1).hash(&mut hasher);
        reply.bytes.get(4..).hash(&mut hasher);
        reply.wire_len.hash(&mut hasher);
        hasher.finish()
    }
}

#[derive(Debug, Default)]
struct RequestingClient {
    pid: Option<u32>,
    /// The number of writes so far, and the times of the last two.
    writes: u64,
    wrote: u64,
    wrote_before: u64,
    questions: VecDeque<PendingRequest>,
    requests_ahead: u64,
    arriving: Arrival,
}

/// Tracks the pending requests of all clients.
#[derive(Debug, Default)]
pub(crate) struct RoundTripTracker {
    clients: PerClient<RequestingClient>,
    processes: Processes,
    server: ServerReady,
    /// True for an attached recording. The times of its messages are the server's, in whole milliseconds, which is too
    /// coarse to compare with context switches.
    attached: bool,
}

impl RoundTripTracker {
    /// Processes changes of threads' states.
    pub(crate) fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.processes.step(step);
            self.server.step(step);
        }
    }

    /// Notes a block of bytes read from a socket, which the server received or sent at `at_server`.
    pub(crate) fn read(&mut self, block: &Block, at_server: Timestamp) {
        if block.direction == Direction::ToServer {
            let (sent, arrives) = (block.time.as_nanos(), at_server.as_nanos());
            self.server.sent(sent, arrives);
        }
    }

    /// Notes the beginning of a block. The messages that end in it follow.
    pub(crate) fn block_begins(&mut self, block: &Block) {
        let time = block.time.as_nanos();
        let Some(client) = self.clients.get_mut(block.connection) else {
            return;
        };
        match block.direction {
            Direction::ToServer => {
                client.writes += 1;
                client.wrote_before = client.wrote;
                client.wrote = time;
            }
            Direction::ToClient => client.arriving.block(block),
        }
    }

    /// Notes the end of a block: no further message ends in it.
    pub(crate) fn block_ends(&mut self, block: &Block) {
        if let Some(client) = self.clients.get_mut(block.connection)
            && block.direction == Direction::ToClient
        {
            client.arriving.end();
        }
    }

    /// Returns the run times of the processes.
    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    /// True while the client has a request whose reply is pending.
    pub(crate) fn asks(&self, client: ConnectionId) -> bool {
        let client = self.clients.get(client);
        client.is_some_and(|client| !client.questions.is_empty())
    }

    /// Processes a control record of the trace at `time`.
    pub(crate) fn control(&mut self, time: Timestamp, control: &Control) {
        match control {
            Control::Asleep { .. } => self.server.asleep(time.as_nanos()),
            Control::Server(server) => {
                self.processes.set_server(server.pid);
                self.server.server(server.pid);
            }
            Control::Attached {} => {
                self.attached = true;
                self.server.attached();
            }
            Control::Opened(opened) => {
                let client = RequestingClient {
                    pid: opened.pid,
                    ..RequestingClient::default()
                };
                self.clients.insert(opened.connection, client);
            }
            Control::Closed { connection, .. } => {
                self.clients.remove(*connection);
            }
            _ => {}
        }
    }

    /// Processes a message that ended in `block`, before analyses observe the message. `at_server` is the time at which
    /// the server received or sent the message, which represents `times` equal requests. Returns the request that the
    /// message completes, if any.
    pub(crate) fn message<'a>(
        &mut self,
        block: &Block,
        at_server: Timestamp,
        message: &'a Message<'a>,
        times: u64,
    ) -> Option<CompletedRequest<'a>> {
        let client = self.clients.get_mut(block.connection)?;
        let (sequence, reply, length) = match message {
            Message::Request(request) => {
                client.sent(request, times, block.time, at_server);
                return None;
            }
            Message::ClientSetup(_) => return None,
            Message::Reply(reply) => (Some(reply.sequence), Some(reply), reply.wire_len),
            Message::Error(error) => (Some(error.sequence), None, error.bytes.len() as u64),
            Message::Event(event) => (None, None, event.wire_len),
            Message::ServerSetup(setup) => (None, None, setup.wire_len),
            Message::Malformed(bytes) => (None, None, bytes.wire_len),
        };
        let began = client.arriving.message(length).unwrap_or(block.time);
        let sequence = sequence.filter(|_| reply.is_none_or(|reply| reply.last))?;
        let question = client.answered(sequence)?;
        let alone = client.questions.is_empty() && question.write == client.writes;
        let off = self.attached || self.processes.was_off(client.pid, client.wrote_before);
        let how = if !alone || !off {
            ReplyKind::Pipelined
        } else if question.name.as_str() == "GetInputFocus" {
            ReplyKind::Synchronised
        } else {
            ReplyKind::Waited
        };
        let (arrived, left) = (question.arrived_at, at_server.as_nanos());
        let said_before = self.server.said_before(arrived, left);
        let unserved = self
            .server
            .between(arrived, left)
            .saturating_add(said_before);
        Some(CompletedRequest {
            client: block.connection,
            question,
            reply,
            began: began.as_nanos(),
            time: block.time.as_nanos(),
            left_at: left,
            unserved,
            how,
        })
    }
}

impl RequestingClient {
    fn sent(&mut self, request: &Request<'_>, times: u64, time: Timestamp, at_server: Timestamp) {
        // Replies to RECORD:EnableContext continue until the connection ends (RECORD, section "EnableContext").
        let endless = || request.name.as_str() == "RECORD:EnableContext";
        if !request.has_reply || endless() {
            self.requests_ahead += times;
            return;
        }
        let body = request.bytes.get(request.header_len..).unwrap_or_default();
        let mut hasher = FxHasher::default();
        (request.name.as_str(), request.minor, body).hash(&mut hasher);
        if self.questions.len() >= QUESTIONS {
            self.questions.pop_front();
        }
        self.questions.push_back(PendingRequest {
            name: request.name,
            major: request.major,
            minor: request.minor,
            sequence: request.sequence,
            requested_at: time.as_nanos(),
            arrived_at: at_server.as_nanos(),
            order: request.order,
            body: body.get(..BODY_LIMIT).unwrap_or(body).into(),
            same: hasher.finish(),
            requests_ahead: self.requests_ahead,
            write: self.writes,
        });
    }

    /// Removes and returns the open request with this number. Older requests had no reply and will not get one.
    fn answered(&mut self, sequence: SequenceNumber) -> Option<PendingRequest> {
        let end = self
            .questions
            .partition_point(|one| one.sequence <= sequence);
        let question = self.questions.drain(..end).next_back();
        let question = question.filter(|one| one.sequence == sequence)?;
        self.requests_ahead = 0;
        Some(question)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Control, Record, Switch, SwitchKind, Timestamp};

    use super::ReplyKind;
    use crate::pipeline::{Observation, Pipeline};
    use crate::testing::*;

    fn answers(trace: &Synthetic) -> Vec<(ReplyKind, u64)> {
        let mut all = Vec::new();
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            if let Observation::Message(seen) = observation
                && let Some(answer) = seen.answer
            {
                all.push((answer.how, answer.waited() / 1000));
            }
        });
        all
    }

    #[test]
    fn client_waits_for_the_last_of_pipelined_requests() {
        let mut trace = Synthetic::new();
        trace.client_sends(&[query_font(), query_font(), no_operation(1)]);
        trace.wait(30).server_sends(&[reply(1), reply(2)]);
        trace.wait(5).client_sends(&[query_font()]);
        trace.wait(20).server_sends(&[expose(4), reply(4)]);
        trace.wait(5).client_sends(&[get_input_focus()]);
        trace.wait(10).server_sends(&[reply(5)]);
        let expected = [
            (ReplyKind::Pipelined, 0),
            (ReplyKind::Waited, 30),
            (ReplyKind::Waited, 20),
            (ReplyKind::Synchronised, 10),
        ];
        assert_eq!(answers(&trace), expected);
    }

    #[test]
    fn client_that_sends_more_does_not_wait() {
        let mut trace = Synthetic::new();
        trace.client_sends(&[query_font()]);
        trace.wait(10).client_sends(&[no_operation(1)]);
        trace.wait(30).server_sends(&[reply(1)]);
        // An error also completes a request.
        trace.wait(10).client_sends(&[query_font()]);
        trace.wait(30).server_sends(&[bad_window(3, 47)]);
        assert_eq!(
            answers(&trace),
            [(ReplyKind::Pipelined, 0), (ReplyKind::Waited, 30)]
        );
    }

    /// A client sends a request at 20 µs and gets the reply at 100 µs. It starts to run at 1 µs and has this switch at
    /// 40 µs.
    fn asks(attached: bool, kind: SwitchKind) -> Option<ReplyKind> {
        let switch = |micros: u64, kind| Switch {
            time: Timestamp::from_nanos(1_000_000_000 + micros * 1000),
            pid: CLIENT_PID,
            tid: CLIENT_PID,
            cpu: 0,
            kind,
        };
        let mut trace = Synthetic::new();
        if attached {
            trace.control(Control::Attached {});
        }
        trace.control(Control::Capture {
            pid: CLIENT_PID,
            capture: "switches".to_owned(),
            why: None,
        });
        let switches = vec![switch(1, SwitchKind::In), switch(40, kind)];
        trace.records.push(Record::Schedule(switches));
        trace.wait(20).client_sends(&[query_font()]);
        trace.wait(80).server_sends(&[reply(1)]);
        answers(&trace).first().map(|one| one.0)
    }

    #[test]
    fn client_that_keeps_running_does_not_wait() {
        assert_eq!(asks(false, SwitchKind::In), Some(ReplyKind::Pipelined));
        assert_eq!(asks(false, SwitchKind::Blocked), Some(ReplyKind::Waited));
    }

    #[test]
    fn attached_recording_treats_running_client_as_waiting() {
        assert_eq!(asks(true, SwitchKind::In), Some(ReplyKind::Waited));
    }
}
