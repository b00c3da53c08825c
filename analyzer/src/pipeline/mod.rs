//! The single forward pass over a trace, from records to observations. Live and offline analysis differ only in the
//! source of the records.

mod checkpoint;
mod derived_state;
pub(crate) mod device_grabs;
pub(crate) mod elapsed;
pub(crate) mod grab_history;
mod handled_requests;
mod handler_matches;
pub(crate) mod live_pass;
mod message_context;
mod observation;
pub(crate) mod open_requests;
mod reorder;
mod report_times;
mod request_stacks;
pub(crate) mod server_grab;
pub(crate) mod server_link;
pub(crate) mod start_up;

use std::io;
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use x11prof_protocol::{
    Connection, Extension, Extensions, Input, Message, ScratchBuffers, Side, Symbol,
};
use x11prof_session::{ClientId, Observed, Session};
use x11prof_trace::{
    Block, ConnectionId, Control, Direction, Joined, Part, Reader, Record, Timestamp, TraceError,
};

use crate::clients::MAX_CLIENTS;
use crate::pipeline::derived_state::DerivedState;
use crate::pipeline::reorder::ReorderBuffer;
use crate::pipeline::request_stacks::RequestStacks;
use crate::pipeline::server_link::ServerLink;
use crate::threads::watched::WatchedThreads;
pub use message_context::MessageContext;
pub use observation::{HandledRequest, Observation, ServerRun};

/// Maximum number of requests of all clients with a pending reply. Beyond it, a further request of a client that
/// already has one counts as a request without a reply. Programs have some hundreds; readers keep each of them.
const MAX_PENDING: usize = 1 << 14;

/// A client in the pass.
struct Client {
    connection: Connection,
    /// The number of bytes read so far, to the server and to the client; `None` if the recorder joined the connection
    /// and no bytes have arrived since.
    seen: [Option<u64>; 2],
    /// The number of leading bytes to skip in each direction: the rest of a message that began before the recording.
    passed: [u64; 2],
    /// True if bytes are missing in the trace, so that later messages cannot be framed.
    lost: bool,
}

impl Client {
    fn new() -> Client {
        Client {
            connection: Connection::new(),
            seen: [Some(0), Some(0)],
            passed: [0, 0],
            lost: false,
        }
    }
}

/// The state of a pass: the records that wait for earlier ones, the threads, a framer for each connection, the session,
/// the extensions, the round trips, the start-ups.
pub struct Pipeline {
    order: ReorderBuffer,
    threads: WatchedThreads,
    clients: FxHashMap<ConnectionId, Client>,
    /// The number of requests of all clients that wait for a reply.
    pending: usize,
    room: ScratchBuffers,
    extensions: Extensions,
    session: Session,
    link: ServerLink,
    derived: DerivedState,
    stacks: RequestStacks,
    /// True once the trace has no more records.
    over: bool,
    takes_together: bool,
}

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline::new()
    }
}

impl Pipeline {
    /// Creates a pass that has read nothing.
    pub fn new() -> Pipeline {
        Pipeline {
            order: ReorderBuffer::default(),
            threads: WatchedThreads::default(),
            clients: FxHashMap::default(),
            pending: 0,
            room: ScratchBuffers::default(),
            extensions: Extensions::new(),
            session: Session::new(),
            link: ServerLink::default(),
            derived: DerivedState::default(),
            stacks: RequestStacks::default(),
            over: false,
            takes_together: false,
        }
    }

    /// Coalesces equal drawing requests in a row into one message with a count from now on, for analyses that use
    /// [`MessageContext::times`].
    pub fn take_together(&mut self) {
        self.takes_together = true;
    }

    /// The session state at the current position: names of atoms, existing resources.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Adds the next record, and passes the observations that are due to `on`.
    pub fn feed(&mut self, record: Record, mut on: impl FnMut(&Observation<'_>)) {
        self.put(record);
        while self.next(&mut on).is_some() {}
    }

    /// Ends the trace, and passes the remaining observations to `on`.
    pub fn end(&mut self, mut on: impl FnMut(&Observation<'_>)) {
        self.no_more();
        while self.next(&mut on).is_some() {}
    }

    /// Notes that no record arrived before `time`, and passes the observations that are due by then to `on`. Returns
    /// the time up to which all observations have been emitted.
    pub fn until(&mut self, time: Timestamp, mut on: impl FnMut(&Observation<'_>)) -> Timestamp {
        self.order.until(time);
        while self.next(&mut on).is_some() {}
        self.order.known_until()
    }

    /// Ends the trace: no more records follow.
    pub(crate) fn no_more(&mut self) {
        self.over = true;
        self.order.end();
    }

    /// Adds the next record. `Pipeline::next` returns the records that are due.
    pub(crate) fn put(&mut self, record: Record) {
        self.order.put(record);
    }

    /// Emits the observations of the next record in order, and returns the record.
    pub(crate) fn next(&mut self, mut on: impl FnMut(&Observation<'_>)) -> Option<Record> {
        let Some(record) = self.order.next() else {
            if self.over {
                self.derived.end(&mut on);
            }
            return None;
        };
        self.take(&record, on);
        Some(record)
    }

    /// Emits the observations of a record out of order, for code that changes a trace record by record.
    pub(crate) fn take(&mut self, record: &Record, mut on: impl FnMut(&Observation<'_>)) {
        let on = &mut on;
        match record {
            Record::Block(block) => self.block(block, on),
            Record::Control(time, control) => {
                self.control(control);
                let derived = &mut self.derived;
                derived.dispatch(&Observation::Control(*time, control), on);
                self.threads.control(*time, control, |steps| {
                    derived.dispatch(&Observation::Switches(steps), on);
                });
                // The close follows the dispatch, so that an analysis can still read the state of the closed
                // connection.
                if let Control::Closed { connection, .. } = control
                    && self.remove(*connection)
                {
                    self.session.closed(ClientId(connection.0));
                    on(&Observation::Closed {
                        time: *time,
                        session: &self.session,
                    });
                }
            }
            Record::HandlerTimes(times) => self.derived.dispatch(&Observation::Handled(times), on),
            Record::Schedule(switches) => {
                let derived = &mut self.derived;
                self.threads.switches(switches, |steps| {
                    derived.dispatch(&Observation::Switches(steps), on);
                });
            }
        }
    }

    /// Emits the observations of all records of `reader`. On an error, those of the records before it were emitted.
    pub fn run<R: io::Read>(
        &mut self,
        reader: &mut Reader<R>,
        mut on: impl FnMut(&Observation<'_>),
    ) -> Result<(), TraceError> {
        self.run_until(
            || reader.next(),
            |observation| {
                on(observation);
                ControlFlow::Continue(())
            },
        )
    }

    /// Emits the observations of the records that `next` returns, until `on` stops the pass.
    pub fn run_until(
        &mut self,
        mut next: impl FnMut() -> Result<Option<Record>, TraceError>,
        mut on: impl FnMut(&Observation<'_>) -> ControlFlow<()>,
    ) -> Result<(), TraceError> {
        let (mut read, mut over) = (Ok(()), false);
        loop {
            let mut goes_on = ControlFlow::Continue(());
            while self
                .next(|observation| {
                    if goes_on.is_continue() {
                        goes_on = on(observation);
                    }
                })
                .is_some()
                && goes_on.is_continue()
            {}
            if over || goes_on.is_break() {
                return read;
            }
            match next() {
                Ok(Some(record)) => self.put(record),
                end => {
                    read = end.map(|_| ());
                    over = true;
                    self.no_more();
                }
            }
        }
    }

    /// Emits the observations of `records`, and ends the trace.
    pub fn run_records(
        &mut self,
        records: impl IntoIterator<Item = Record>,
        mut on: impl FnMut(&Observation<'_>),
    ) {
        for record in records {
            self.feed(record, &mut on);
        }
        self.end(on);
    }

    fn control(&mut self, control: &Control) {
        self.link.control(control);
        match control {
            Control::Extensions { extensions } => {
                for extension in extensions {
                    self.extensions.insert(Extension {
                        name: Symbol::new(&extension.name),
                        major: extension.major,
                        first_event: extension.first_event,
                        first_error: extension.first_error,
                    });
                }
            }
            Control::Opened(opened) => self.open(opened.connection),
            Control::Joined(joined) => self.join(joined),
            Control::Existing(existing) => checkpoint::tell(&mut self.session, existing),
            Control::RequestStacks { runs, .. } => self.stacks.take(runs),
            _ => {}
        }
    }

    /// Removes a client; false if it was unknown.
    fn remove(&mut self, connection: ConnectionId) -> bool {
        let client = self.clients.remove(&connection);
        self.pending -= client
            .as_ref()
            .map_or(0, |client| client.connection.pending());
        client.is_some()
    }

    fn open(&mut self, connection: ConnectionId) {
        self.remove(connection);
        if self.clients.len() < MAX_CLIENTS {
            self.clients.insert(connection, Client::new());
        }
    }

    fn join(&mut self, joined: &Joined) {
        if !self.clients.contains_key(&joined.connection) {
            self.open(joined.connection);
        }
        if let Some(client) = self.clients.get_mut(&joined.connection) {
            let joint = checkpoint::joint(joined);
            self.pending -= client.connection.pending();
            client.connection.join(&joint, &self.extensions);
            self.pending += client.connection.pending();
            client.seen = [None, None];
            client.passed = joined.under_way;
            client.lost = false;
        }
    }

    /// True if another pass could continue all connections from here: no connection is within its setup or the first
    /// bytes of a message.
    pub fn can_go_on_elsewhere(&self) -> bool {
        let reported = |client: &Client| {
            client.seen == [Some(0), Some(0)]
                || client.lost
                || client.connection.joint(&self.extensions).is_some()
        };
        self.clients.values().all(reported)
    }

    /// The records from which another pass can continue: all existing objects, then the state of each connection.
    pub fn checkpoint(&self) -> Vec<Control> {
        let mut records: Vec<Control> = checkpoint::existing(&self.session)
            .into_iter()
            .map(Control::Existing)
            .collect();
        let mut clients: Vec<_> = self.clients.iter().collect();
        clients.sort_unstable_by_key(|(id, _)| **id);
        for (id, client) in clients {
            let joint = client.connection.joint(&self.extensions);
            if let Some((joint, rest)) = joint.filter(|_| !client.lost) {
                let rest = [rest[0] + client.passed[0], rest[1] + client.passed[1]];
                records.push(Control::Joined(checkpoint::joined(*id, &joint, rest)));
            }
        }
        records
    }

    fn block(&mut self, block: &Block, on: &mut impl FnMut(&Observation<'_>)) {
        if block.offset == 0 && !self.clients.contains_key(&block.connection) {
            self.open(block.connection);
        }
        let Some(client) = self.clients.get_mut(&block.connection) else {
            on(&Observation::Lost(block));
            return;
        };
        let (side, way) = match block.direction {
            Direction::ToServer => (Side::Client, 0),
            Direction::ToClient => (Side::Server, 1),
        };
        client.lost |= client.seen[way].is_some_and(|seen| seen != block.offset);
        if client.lost {
            on(&Observation::Lost(block));
            return;
        }
        client.seen[way] = Some(block.offset.saturating_add(u64::from(block.wire_len)));

        let at_server = self.link.at_server(block);
        let derived = &mut self.derived;
        derived.round_trips.read(block, at_server);
        derived.dispatch(&Observation::BlockStart(block), on);
        let (link, session) = (&mut self.link, &mut self.session);
        let stacks = &mut self.stacks;
        // Requests of a starting client and requests with stacks need one message each.
        let one_by_one = derived.start_ups.is_any_starting() || stacks.any();
        let together = self.takes_together && !one_by_one;
        let together = together.then_some(x11prof_session::only_draws as fn(u8) -> bool);
        client.connection.take_together(together);
        client.connection.limit_pending(self.pending >= MAX_PENDING);
        self.pending -= client.connection.pending();
        let id = ClientId(block.connection.0);
        for part in block.parts() {
            let passed = &mut client.passed[way];
            let input = match part {
                Part::Kept(bytes) => {
                    let n = usize::try_from(*passed).map_or(bytes.len(), |n| n.min(bytes.len()));
                    *passed -= n as u64;
                    Input::Bytes(&bytes[n..])
                }
                Part::Left(bytes) => {
                    let n = bytes.min(*passed);
                    *passed -= n;
                    Input::Omitted(bytes - n)
                }
            };
            client.connection.feed_in(
                &mut self.room,
                side,
                input,
                &mut self.extensions,
                |message, times, extensions| {
                    let target = match &message {
                        Message::Request(request) => session.target(request),
                        _ => None,
                    };
                    let observed = session.observe(id, &message, extensions);
                    let has_operation = matches!(observed, Observed::Operation(_));
                    let session = &*session;
                    let stack = match &message {
                        Message::Request(request) if stacks.any() => session
                            .ids_of(id)
                            .and_then(|ids| stacks.of(ids.first, request.sequence)),
                        _ => None,
                    };
                    let answer = derived
                        .round_trips
                        .message(block, at_server, &message, times);
                    if let Some(answer) = &answer {
                        link.replied_after(
                            answer.began.saturating_sub(answer.question.requested_at),
                        );
                    }
                    let timed = match &message {
                        Message::Request(request) => {
                            let sender = (block.connection, block.time);
                            derived.handled.request(sender, request, times)
                        }
                        _ => false,
                    };
                    let seen = Observation::Message(MessageContext {
                        connection: block.connection,
                        time: block.time,
                        at_server,
                        message: &message,
                        times,
                        operation: has_operation.then(|| session.operation()),
                        target,
                        stack,
                        timed,
                        answer: answer.as_ref(),
                        starting: derived.start_ups.is_starting(block.connection),
                        extensions,
                        session,
                    });
                    derived.dispatch(&seen, on);
                },
            );
        }
        self.pending += client.connection.pending();
        let is_unfinished = way == 0 && client.connection.is_within_request();
        derived.dispatch(&Observation::BlockEnd(block, is_unfinished), on);
    }
}
