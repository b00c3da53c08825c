//! Collects the input of a simulation: each write of a client and each read from the server, with their causes.

use rustc_hash::{FxHashMap, FxHashSet};
use x11prof_protocol::{Message, SequenceNumber, Symbol};
use x11prof_trace::{Block, ConnectionId, Control, Direction};

use super::never_came::Missing;
use crate::pipeline::server_link::ServerLink;
use crate::pipeline::start_up::StartUpReport;
use crate::pipeline::{MessageContext, Observation};
use crate::round_trips::ReplyKind;
use crate::text::label::client_name;
use crate::threads::processes::Processes;

/// Maximum number of writes and of reads. Only the first part of a longer recording is forecast.
const KEPT: usize = 1 << 18;
/// The number of bytes of a PutImage request without its pixels (protocol, section "Encoding").
const PUT_IMAGE: u64 = 24;

/// The kernel's clock tick, to which starts of processes are rounded down, in nanoseconds (proc(5): USER_HZ).
const TICK: u64 = 10_000_000;

/// The index of a write in `Recorded::writes`, or of a read in `Recorded::reads`.
pub(super) type Id = usize;

/// Bytes that a client wrote, or the end of its connection (no bytes). Times are in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Write {
    pub(super) client: ConnectionId,
    /// The time at which the recorder read the bytes from the client.
    pub(super) at: u64,
    /// The time at which the recorded link stopped holding up the client, in nanoseconds.
    pub(super) returned: u64,
    /// The time at which the server received the bytes, in nanoseconds.
    pub(super) arrived: u64,
    pub(super) bytes: u64,
    /// The number of bytes of images in shared memory, which another link would have to transmit.
    pub(super) unshared: u64,
    /// The number of bytes of pixels in the images that end in this write.
    pub(super) pixels: u64,
    /// The server's time for the requests whose last byte is in this write, in nanoseconds.
    pub(super) service: u64,
    /// The previous write of the same client; `None` for the first write.
    pub(super) previous: Option<Id>,
    /// The write or read that the client waited for before this write; `None` for a connection that begins
    /// independently.
    pub(super) after: Option<Moment>,
    /// The request with the most bytes in this write; `last` is the sequence number of its last request.
    pub(super) name: Option<Symbol>,
    pub(super) last: SequenceNumber,
    /// True if the write contains the first bytes of a connection.
    pub(super) connects: bool,
    /// The write with which the request ends whose bytes these are: this write, or a later one.
    pub(super) whole: Id,
}

/// Bytes that a client received from the server. Times are in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Read {
    pub(super) client: ConnectionId,
    /// The time at which the recorder read the bytes from the server.
    pub(super) at: u64,
    /// The time at which the server sent the bytes, in nanoseconds.
    pub(super) sent: u64,
    pub(super) bytes: u64,
    pub(super) unshared: u64,
    /// The write that the server replied to, or else the latest write before; `None` if there is none.
    pub(super) cause: Option<Id>,
    pub(super) awaited: Awaited,
    /// The request whose reply ends in this read or in the next one that has a name, or the first event; `None` if
    /// unknown.
    pub(super) name: Option<Symbol>,
    /// The read with which the reply ends whose bytes these are: this read, or a later one.
    pub(super) whole: Id,
    /// The latest read with an event since the client sent the request that it waits for; `None` without such an event.
    pub(super) event: Option<Id>,
}

/// The message that a client waited for when it read from the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Awaited {
    #[default]
    Nothing,
    /// The client waited for the reply to a request.
    Reply {
        request: Symbol,
        sequence: SequenceNumber,
        /// True if the client waited only until the server had handled its requests (such as XSync).
        synchronises: bool,
        /// True if a client without shared memory would not wait for the reply.
        shared: bool,
    },
    Event(Symbol),
    /// An event that only occurs with shared memory.
    SharedEvent,
    /// The client waited for the reply to its connection setup.
    Setup,
}

/// A write or a read of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    Write(Id),
    Read(Id),
}

/// The recorded writes and reads, in time order.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(super) writes: Vec<Write>,
    pub(super) reads: Vec<Read>,
    /// The indices of each client's writes.
    pub(super) of_client: FxHashMap<ConnectionId, Vec<Id>>,
    pub(super) first: u64,
    /// The clients whose writes and reads do not count for the end of the recording.
    pub(super) not_wanted: FxHashSet<ConnectionId>,
    /// True if the recording exceeded the limit of writes and reads, so that only its first part is forecast.
    pub(super) is_cut: bool,
}

impl Recorded {
    pub(super) fn time(&self, moment: Moment) -> u64 {
        match moment {
            Moment::Write(id) => self.writes[id].at,
            Moment::Read(id) => self.reads[id].at,
        }
    }

    /// The recorded time at which a write or read ends the recording, in nanoseconds, as in a simulation.
    pub(super) fn end_time(&self, moment: Moment) -> u64 {
        match moment {
            Moment::Write(id) if self.writes[id].bytes > 0 => {
                let write = &self.writes[id];
                write.arrived.saturating_add(write.service)
            }
            moment => self.time(moment),
        }
    }

    /// The writes and reads that may be the end of the recording.
    pub(super) fn ends(&self) -> impl Iterator<Item = Moment> {
        let is_wanted = |client| !self.not_wanted.contains(&client);
        let writes = self.writes.iter().enumerate();
        let writes = writes.filter(move |(_, one)| is_wanted(one.client));
        let reads = self.reads.iter().enumerate();
        let reads = reads.filter(move |(_, one)| is_wanted(one.client));
        let writes = writes.map(|(id, _)| Moment::Write(id));
        writes.chain(reads.map(|(id, _)| Moment::Read(id)))
    }

    /// The first part of the recording, up to a time in nanoseconds.
    pub(super) fn until(&self, time: u64) -> Recorded {
        let writes = self.writes.partition_point(|one| one.at <= time);
        let reads = self.reads.partition_point(|one| one.at <= time);
        let ids = |(client, ids): (&ConnectionId, &Vec<Id>)| {
            let end = ids.partition_point(|id| *id < writes);
            (*client, ids.get(..end).unwrap_or_default().to_vec())
        };
        Recorded {
            writes: self.writes.get(..writes).unwrap_or_default().to_vec(),
            reads: self.reads.get(..reads).unwrap_or_default().to_vec(),
            of_client: self.of_client.iter().map(ids).collect(),
            first: self.first,
            not_wanted: self.not_wanted.clone(),
            is_cut: self.is_cut,
        }
    }

    /// The first part of the recording, as [`Recorded::until`] returns it, if it has at most `left` writes and reads. Their
    /// number is subtracted from `left`.
    pub(super) fn part(&self, time: u64, left: &mut usize) -> Option<Recorded> {
        let part = self.until(time);
        *left = left.checked_sub(part.writes.len() + part.reads.len())?;
        Some(part)
    }

    /// Returns the client's last write at or before `at` (nanoseconds); `None` if there is none.
    pub(super) fn last_write(&self, client: ConnectionId, at: u64) -> Option<Id> {
        let ids = self.of_client.get(&client)?;
        let end = ids.partition_point(|id| self.writes[*id].at <= at);
        ids.get(end.checked_sub(1)?).copied()
    }
}

/// A client that is connected.
#[derive(Debug, Default)]
struct Connected {
    pid: Option<u32>,
    /// The threads that may be the only one that writes: they ran before each write.
    threads: Vec<u32>,
    last_write: Option<Id>,
    /// The read that the client has waited for after its last write; `None` if it has not waited.
    woken: Option<Id>,
    last_event: Option<Id>,
    /// The write in which the current, incomplete request began.
    unnamed: Option<Id>,
    /// The read in which the current, incomplete reply began.
    unnamed_read: Option<Id>,
    /// True if the client has used shared memory since it last synchronised.
    shares: bool,
    /// The end of another program's connection just before this client's process started: a script runs one program
    /// after the other.
    started_after: Option<Id>,
}

impl Connected {
    /// The thread that writes; `None` if unknown.
    fn thread(&self) -> Option<u32> {
        let mut all = self.threads.iter().copied();
        all.next().filter(|_| all.next().is_none())
    }
}

/// The block of bytes that is processed at present.
#[derive(Debug, Default)]
struct Current {
    write: Write,
    most: u64,
    read: Read,
    event: Option<Symbol>,
    has_event: bool,
    /// True if the block contains an event that a synchronising client may wait for: any event except NoExposure, which
    /// follows each copy.
    has_awaitable: bool,
    requested_at: u64,
    /// True if a message of the client ends in the block.
    ends: bool,
    /// The images in shared memory that were already counted.
    images: FxHashSet<Vec<u8>>,
}

/// Collects a recording, and forecasts its times over other links.
#[derive(Debug, Default)]
pub struct Forecasts {
    pub(super) recorded: Recorded,
    pub(super) start_ups: Vec<StartUpReport>,
    pub(super) link: ServerLink,
    pub(super) names: FxHashMap<ConnectionId, String>,
    /// The ends of connections that clients closed, in time order.
    ended: Vec<Id>,
    clients: FxHashMap<ConnectionId, Connected>,
    /// The latest write, or read that was waited for, of each thread.
    of_thread: FxHashMap<u32, Moment>,
    /// The number of image bytes that each pending reply would contain without shared memory, by request.
    owed: FxHashMap<(ConnectionId, SequenceNumber), u64>,
    pub(super) missing: Missing,
    processes: Processes,
    server: Option<u32>,
    /// The server's CPU time at the latest write, in nanoseconds; `None` if unknown.
    server_ran: Option<u64>,
    current: Current,
}

impl Forecasts {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        self.missing.observe(observation);
        match observation {
            Observation::Control(time, control) => self.control(time.as_nanos(), control),
            Observation::Switches(steps) => steps.iter().for_each(|step| self.processes.step(step)),
            Observation::Started(one) => self.start_ups.push((*one).clone()),
            _ if self.is_full() => self.recorded.is_cut = true,
            Observation::BlockStart(_) => self.current = Current::default(),
            Observation::Message(seen) => self.message(seen),
            Observation::BlockEnd(block, _) => self.block(block),
            _ => {}
        }
    }

    fn is_full(&self) -> bool {
        self.recorded.writes.len() + self.recorded.reads.len() >= KEPT
    }

    fn control(&mut self, time: u64, control: &Control) {
        if self.recorded.first == 0 {
            self.recorded.first = time;
        }
        self.link.control(control);
        match control {
            Control::Server(server) => self.server = server.pid,
            Control::Opened(opened) => {
                let name = client_name(opened.name.as_deref(), opened.connection);
                self.names.insert(opened.connection, name);
                let started = opened.started_ns.map(|time| time.saturating_add(TICK));
                let ended = started.map_or(0, |time| {
                    self.ended
                        .partition_point(|id| self.recorded.writes[*id].at <= time)
                });
                let client = Connected {
                    pid: opened.pid,
                    started_after: ended
                        .checked_sub(1)
                        .and_then(|at| self.ended.get(at).copied()),
                    ..Connected::default()
                };
                self.clients.insert(opened.connection, client);
            }
            Control::Closed { connection, by, .. } => {
                if by == "client" && !self.is_full() {
                    self.current = Current::default();
                    self.current.ends = true;
                    self.current.write.arrived = time;
                    let here = self.recorded.writes.len();
                    self.write(*connection, self.in_order(time));
                    if self.recorded.writes.len() > here {
                        self.ended.push(here);
                    }
                }
                self.clients.remove(connection);
            }
            _ => {}
        }
    }

    fn message(&mut self, seen: &MessageContext<'_>) {
        let current = &mut self.current;
        match seen.message {
            Message::Request(request) => {
                let across = seen.operation.and_then(|operation| {
                    let session = seen.session;
                    session.across(request, operation, seen.extensions)
                });
                let own = request.wire_len.saturating_mul(seen.times);
                let [there, back] = across.map_or([0, 0], |across| {
                    let sent = across.bytes.saturating_mul(seen.times);
                    let replaced = if across.instead { own } else { 0 };
                    [sent.saturating_sub(replaced), across.reply_bytes]
                });
                let is_shared = request.name.as_str().starts_with("MIT-SHM:");
                if is_shared && let Some(client) = self.clients.get_mut(&seen.connection) {
                    client.shares = true;
                }
                // The client has not synchronised in between, so the image is the same: it is sent once.
                let is_new =
                    there == 0 || !is_shared || current.images.insert(request.bytes.to_vec());
                let there = if is_new { there } else { 0 };
                let bytes = own.saturating_add(there);
                if bytes >= current.most {
                    (current.most, current.write.name) = (bytes, Some(request.name));
                }
                current.write.unshared += there;
                current.write.pixels += match request.name.as_str() {
                    "PutImage" => own.saturating_sub(seen.times.saturating_mul(PUT_IMAGE)),
                    _ => there,
                };
                current.write.last = request.sequence;
                current.ends = true;
                if back > 0 && self.owed.len() < KEPT {
                    self.owed.insert((seen.connection, request.sequence), back);
                }
            }
            Message::ClientSetup(_) => current.ends = true,
            Message::ServerSetup(_) => {
                current.read.awaited = Awaited::Setup;
                current.read.name = Some(Symbol::new("(setup)"));
            }
            Message::Event(event) => {
                if event.name.as_str() != "MIT-SHM:Completion" {
                    current.event.get_or_insert(event.name);
                }
                current.has_event = true;
                current.has_awaitable |= event.name.as_str() != "NoExposure";
            }
            Message::Reply(_) | Message::Error(_) | Message::Malformed(_) => {}
        }
        if let Some(answer) = seen.answer {
            let question = &answer.question;
            let took = answer.began.saturating_sub(question.requested_at);
            self.link.replied_after(took);
            current.requested_at = current.requested_at.max(question.requested_at);
            current.read.name = Some(question.name);
            let owed = self.owed.remove(&(seen.connection, question.sequence));
            current.read.unshared += owed.unwrap_or(0);
            if answer.how.is_round_trip() {
                let synchronises = answer.how == ReplyKind::Synchronised;
                let client = self.clients.get_mut(&seen.connection);
                let shares =
                    client.is_some_and(|client| synchronises && std::mem::take(&mut client.shares));
                let is_shared = question.name.as_str().starts_with("MIT-SHM:") && owed.is_none();
                current.read.awaited = Awaited::Reply {
                    request: question.name,
                    sequence: question.sequence,
                    synchronises,
                    shared: shares || is_shared,
                };
            }
        }
    }

    /// Returns `time`, or the time of the latest write or read if that is later. In a damaged trace, times may decrease. The
    /// simulation processes the events in their order.
    fn in_order(&self, time: u64) -> u64 {
        let write = self.recorded.writes.last().map_or(0, |one| one.at);
        let read = self.recorded.reads.last().map_or(0, |one| one.at);
        time.max(write).max(read)
    }

    /// Processes the end of a block.
    fn block(&mut self, block: &Block) {
        let time = self.in_order(block.time.as_nanos());
        self.clients.entry(block.connection).or_default();
        let at_server = self.link.at_server(block).as_nanos();
        match block.direction {
            Direction::ToServer => {
                self.current.write.arrived = at_server;
                self.current.write.bytes = u64::from(block.wire_len);
                self.current.write.connects = block.offset == 0;
                self.write(block.connection, time);
            }
            Direction::ToClient => {
                self.current.read.sent = at_server;
                self.current.read.bytes = u64::from(block.wire_len);
                self.read(block.connection, time);
            }
        }
    }

    fn write(&mut self, id: ConnectionId, time: u64) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let recorded = &mut self.recorded;
        let here = recorded.writes.len();
        let mut write = std::mem::take(&mut self.current.write);
        // A block in which no request ends.
        let is_part = !self.current.ends;
        if is_part {
            client.unnamed.get_or_insert(here);
        } else if let Some(first) = client.unnamed.take() {
            let parts = recorded.writes.get_mut(first..).unwrap_or_default();
            for part in parts.iter_mut().filter(|one| one.client == id) {
                (part.name, part.whole) = (part.name.or(write.name), here);
            }
        }
        let woken = client.woken.take().map(Moment::Read);
        let previous = client.last_write.map(Moment::Write);
        (write.client, write.at, write.whole) = (id, time, here);
        let held = self.link.network().and_then(|link| {
            let connects = if write.connects {
                link.round_trip_ns
            } else {
                0
            };
            let there = link.latency().saturating_add(connects);
            Some(
                write
                    .arrived
                    .saturating_sub(there)
                    .saturating_sub(link.buffered()?),
            )
        });
        write.returned = time.max(held.unwrap_or(0));
        let since = woken.or(previous).map_or(0, |moment| recorded.time(moment));
        let ran = |pid| self.processes.ran_since(pid, since);
        let ran = client.pid.map_or_else(Vec::new, ran);
        client.threads.retain(|tid| ran.contains(tid));
        if client.threads.is_empty() {
            client.threads = ran;
        }
        // The main thread opens the connections.
        let thread = client.thread().or(client.pid.filter(|_| since == 0));
        let latest = thread.and_then(|tid| self.of_thread.get(&tid)).copied();
        // A thread with several connections waits for one after the other.
        let all = [latest, previous, woken].into_iter().flatten();
        let all = all.max_by_key(|moment| recorded.time(*moment));
        write.after = all.or(client.started_after.map(Moment::Write));
        write.previous = client.last_write.replace(here);
        let last = write
            .previous
            .map(|previous| recorded.writes[previous].last);
        write.last = write.last.max(last.unwrap_or_default());
        if let Some(tid) = thread {
            self.of_thread.insert(tid, Moment::Write(here));
        }
        if let Some(ran) = self.processes.ran(self.server, time) {
            let before = self.server_ran.replace(ran);
            if let Some(last) = recorded.writes.last_mut() {
                last.service = ran.saturating_sub(before.unwrap_or(ran)).max(last.service);
            }
        }
        recorded.of_client.entry(id).or_default().push(here);
        recorded.writes.push(write);
    }

    fn read(&mut self, id: ConnectionId, time: u64) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let recorded = &mut self.recorded;
        let here = recorded.reads.len();
        let mut read = std::mem::take(&mut self.current.read);
        (read.client, read.at, read.whole) = (id, time, here);
        read.name = read.name.or(self.current.event);
        if read.name.is_none() && !self.current.has_event {
            client.unnamed_read.get_or_insert(here);
        } else if let Some(first) = client.unnamed_read.take() {
            let parts = recorded.reads.get_mut(first..).unwrap_or_default();
            for part in parts.iter_mut().filter(|one| one.client == id) {
                (part.name, part.whole) = (part.name.or(read.name), here);
            }
        }
        let requested_at = self.current.requested_at;
        read.cause = match requested_at {
            0 if self.current.has_event => {
                let writes = recorded.writes.iter().rev();
                // The measured round trip varies.
                let sent = read
                    .sent
                    .saturating_add(self.link.measured_trip().unwrap_or(0) / 4);
                let position = writes.take_while(|one| one.arrived > sent).count();
                (recorded.writes.len() - position).checked_sub(1)
            }
            0 => client.last_write,
            at => recorded.last_write(id, at),
        };
        if self.current.has_awaitable {
            client.last_event = Some(here);
        }
        if let Awaited::Reply { .. } = read.awaited {
            let asked = |event: &Id| {
                recorded
                    .reads
                    .get(*event)
                    .is_none_or(|one| one.at >= requested_at)
            };
            read.event = client.last_event.filter(asked);
            // The server does no other work before it replies.
            if let Some(cause) = read.cause.and_then(|cause| recorded.writes.get_mut(cause)) {
                cause.service = read.sent.saturating_sub(cause.arrived);
            }
        } else if read.awaited == Awaited::Nothing
            && self.current.has_event
            && !client.pid.is_some_and(|pid| self.processes.runs(pid))
        {
            read.awaited = match self.current.event {
                Some(event) => Awaited::Event(event),
                None => Awaited::SharedEvent,
            };
        }
        if read.awaited != Awaited::Nothing {
            client.woken = Some(here);
            if let Some(tid) = client.thread() {
                self.of_thread.insert(tid, Moment::Read(here));
            }
        }
        recorded.reads.push(read);
    }
}
