//! The clients of an attached server, and their records in the trace.

use std::cell::RefCell;
use std::collections::HashMap;

use x11prof_protocol::ByteOrder;
use x11prof_trace::{
    ConnectionId, Control, Direction, Endian, Existing, ExistingClient, Joined, Opened, Timestamp,
};

use x11rb_protocol::protocol::record::{CREATE_CONTEXT_REQUEST, ENABLE_CONTEXT_REQUEST};

use super::attachment::ReportStart;
use super::elements::{self, Category, Head};
use super::server_clock::ServerClock;
use crate::capture::scheduling::Scheduling;
use crate::clock;
use crate::processes::process_info::ProcessInfo;
use crate::recorder::client_processes::ClientProcesses;
use crate::recorder::connection_recorder::ConnectionRecorder;
use crate::recorder::images::ImageRequests;
use crate::recorder::kept_bytes::KeptBytes;
use crate::recorder::record_queue::RecordSender;

/// The transport written to the trace for these clients, because RECORD does not report their transport.
const TRANSPORT: &str = "unknown";

/// The recorded clients of an attached server, by their first resource ids.
pub(super) struct Clients<'a> {
    known: HashMap<u32, RecordedClient<'a>>,
    /// The number of clients that have been recorded so far.
    pub(super) count: u32,
    /// The first resource ids of the recorder's own connections.
    ours: Vec<u32>,
    /// The first resource ids of other recorders' connections. An id is removed when the server assigns it to a new client.
    others: Vec<u32>,
    /// True if a client creates or enables a context of RECORD, and may have become another recorder.
    pub(super) recorder_came: bool,
    /// The number of bytes that clients and server have sent.
    pub(super) bytes: u64,
    to: Recording<'a>,
    clock: ServerClock,
    /// A buffer for the messages of one block, kept so that no block allocates.
    room: Vec<u8>,
}

/// The destination of all records of an attached recording.
#[derive(Clone, Copy)]
pub(super) struct Recording<'a> {
    pub(super) sender: &'a RecordSender,
    pub(super) kept: &'a RefCell<KeptBytes>,
    pub(super) processes: &'a ClientProcesses,
    pub(super) images: ImageRequests,
    pub(super) scheduling: &'a Scheduling,
    /// The major opcode of RECORD.
    pub(super) record: u8,
}

struct RecordedClient<'a> {
    sender: ConnectionRecorder<'a>,
    pid: Option<u32>,
    /// The number of the client's last request in the trace; `None` before the client was joined.
    last_request: Option<u64>,
}

impl<'a> Clients<'a> {
    /// The sender of all records of the recording.
    pub(super) fn sender(&self) -> &'a RecordSender {
        self.to.sender
    }

    /// Creates the table without clients; `to` receives the records.
    pub(super) fn new(to: Recording<'a>) -> Clients<'a> {
        Clients {
            known: HashMap::new(),
            count: 0,
            ours: Vec::new(),
            others: Vec::new(),
            recorder_came: false,
            bytes: 0,
            to,
            clock: ServerClock::default(),
            room: Vec::new(),
        }
    }

    /// Processes the state of the server when it begins to report, for the first time or after a gap. Closes the
    /// clients that have disconnected, and opens the new clients. Returns a record of the existing resources and their
    /// owners. `mask` has the bits in which a client's resource ids differ.
    pub(super) fn begin(&mut self, beginning: ReportStart, mask: u32) -> Existing {
        let ReportStart {
            ours,
            others,
            found,
            resources: mut existing,
        } = beginning;
        (self.ours, self.others) = (ours, others);
        let now = clock::now();
        let mut gone: Vec<u32> = self.known.keys().copied().collect();
        gone.retain(|client| found.iter().all(|one| one.first != *client));
        gone.into_iter()
            .for_each(|client| self.close(now, client, None));
        for client in found {
            if self.is_excluded(client.first) {
                continue;
            }
            let known = self.known.get(&client.first);
            let connection = match known.filter(|known| known.pid == client.pid) {
                Some(known) => known.sender.connection(),
                None => self.open(now, client.first, client.pid),
            };
            existing.clients.push(ExistingClient {
                connection,
                first: client.first,
                mask,
            });
        }
        existing
    }

    /// Excludes a connection that the recorder has opened, by its first resource id.
    pub(super) fn leave_out(&mut self, client: u32) {
        self.ours.push(client);
    }

    /// Excludes connections of other recorders from now on.
    pub(super) fn exclude(&mut self, others: impl IntoIterator<Item = u32>) {
        let why = "its program records the display with RECORD";
        for other in others {
            if !self.is_excluded(other) {
                self.close(clock::now(), other, Some(why));
                self.others.push(other);
            }
        }
    }

    fn is_excluded(&self, client: u32) -> bool {
        self.ours.contains(&client) || self.others.contains(&client)
    }

    /// Adds the client with the first resource id `client`, whose process is `pid`. Returns the client's number in the
    /// trace.
    pub(super) fn open(&mut self, time: Timestamp, client: u32, pid: Option<u32>) -> ConnectionId {
        self.close(time, client, None);
        self.count = self.count.saturating_add(1);
        let connection = ConnectionId(self.count);
        let process = pid.map(ProcessInfo::of).unwrap_or_default();
        let Recording {
            sender,
            kept,
            processes,
            images,
            scheduling,
            ..
        } = self.to;
        sender.control(
            time,
            Control::Opened(Opened {
                connection,
                transport: TRANSPORT.to_owned(),
                pid,
                name: process.name,
                command: process.command,
                started_ns: process.started_ns,
            }),
        );
        if let Some(pid) = pid {
            scheduling.watch(pid);
        }
        let known = RecordedClient {
            sender: ConnectionRecorder::new(connection, sender, kept, images, processes, pid),
            pid,
            last_request: None,
        };
        self.known.insert(client, known);
        connection
    }

    /// Closes a client that disconnected, or for the reason `why`.
    fn close(&mut self, time: Timestamp, client: u32, why: Option<&str>) {
        let Some(known) = self.known.remove(&client) else {
            return;
        };
        let Recording {
            sender, scheduling, ..
        } = self.to;
        if let Some(pid) = known.pid {
            scheduling.note_cpu_time(pid);
            scheduling.leave(pid);
        }
        let closed = Control::Closed {
            connection: known.sender.connection(),
            by: "client".to_owned(),
            why: why.map(str::to_owned),
        };
        sender.control(time, closed);
    }

    /// Sets the earliest time of all later reports, because the trace already contains records up to `time`.
    pub(super) fn passed(&mut self, time: Timestamp) {
        self.clock.passed(time);
    }

    /// Writes the final CPU times of the clients' processes. The clients continue to run.
    pub(super) fn end(&mut self) {
        for pid in self.known.values().filter_map(|client| client.pid) {
            self.to.scheduling.note_cpu_time(pid);
        }
    }

    /// Processes one RECORD reply that was read at `read`. `process_of` finds the process of a new client.
    pub(super) fn reported(
        &mut self,
        read: Timestamp,
        head: &Head,
        data: &[u8],
        process_of: impl FnOnce(u32) -> Option<u32>,
    ) {
        let client = head.client;
        let starts = head.category == Category::Started;
        if starts {
            // Another recorder has ended, and the server gives its ids to this client.
            self.others.retain(|other| *other != client);
        }
        if client == 0 || self.is_excluded(client) {
            return;
        }
        let time = self.clock.time(head.millis, read, Direction::ToClient);
        match head.category {
            Category::Died => return self.close(time, client, None),
            Category::Begins | Category::Ends => return,
            // The first report of a client that X-Resource did not list.
            _ if starts || !self.known.contains_key(&client) => {
                let pid = process_of(client);
                self.open(time, client, pid);
            }
            _ => {}
        }
        let Some(known) = self.known.get_mut(&client) else {
            return;
        };
        match head.category {
            Category::FromClient => {
                let clock = |millis| self.clock.time(millis, read, Direction::ToServer);
                known.requests(clock, head, data, &mut self.room, self.to);
                let record = self.to.record;
                let creates = |request: &[u8]| {
                    matches!(request, [major, CREATE_CONTEXT_REQUEST | ENABLE_CONTEXT_REQUEST, ..]
                        if *major == record)
                };
                let mut requests = elements::requests(data, head.order);
                self.recorder_came |= requests.any(|(.., request)| creates(request));
            }
            _ => {
                let last = known.number(head.request);
                if known.last_request.is_none_or(|known| known < last) {
                    known.join(time, head.order, last, starts, self.to);
                }
                match starts {
                    true => known.sender.reported(time, Direction::ToClient, data, 0),
                    false => {
                        let clock = |millis| self.clock.time(millis, read, Direction::ToClient);
                        known.messages(clock, head.order, data, &mut self.room);
                    }
                }
            }
        }
        self.bytes = self.bytes.saturating_add(data.len() as u64);
    }
}

impl RecordedClient<'_> {
    /// Extends a request's number from the 32 bits that RECORD reports.
    fn number(&self, low: u32) -> u64 {
        let last = self.last_request.unwrap_or_else(|| u64::from(low));
        let ahead = low.wrapping_sub(last as u32).cast_signed();
        last.saturating_add_signed(i64::from(ahead))
    }

    /// Writes a `joined` record: from here on, the trace contains the connection's messages after the request
    /// `last_request`. `setup` is true if they include the connection setup.
    fn join(
        &mut self,
        time: Timestamp,
        order: ByteOrder,
        last_request: u64,
        setup: bool,
        to: Recording<'_>,
    ) {
        let joined = Joined {
            connection: self.sender.connection(),
            byte_order: match order {
                ByteOrder::Little => Endian::Little,
                ByteOrder::Big => Endian::Big,
            },
            last_request,
            setup,
            ..Joined::default()
        };
        self.sender.join(to.images, &joined);
        to.sender.control(time, Control::Joined(joined));
        self.last_request = Some(last_request);
    }

    /// Records requests.
    fn requests(
        &mut self,
        mut clock: impl FnMut(u32) -> Timestamp,
        head: &Head,
        data: &[u8],
        room: &mut Vec<u8>,
        to: Recording<'_>,
    ) {
        room.clear();
        let mut time = Timestamp::default();
        for (millis, number, request) in elements::requests(data, head.order) {
            let said = clock(millis);
            if said != time {
                self.flush(time, Direction::ToServer, room);
                time = said;
            }
            let number = self.number(number);
            let before = number.saturating_sub(1);
            match self.last_request {
                // The server postponed this request and now begins it again.
                Some(last) if number <= last => continue,
                Some(last) if last == before => {}
                _ => {
                    self.flush(time, Direction::ToServer, room);
                    self.join(time, head.order, before, false, to);
                }
            }
            self.last_request = Some(number);
            room.extend_from_slice(request);
        }
        self.flush(time, Direction::ToServer, room);
    }

    /// Records the server's messages.
    fn messages(
        &mut self,
        mut clock: impl FnMut(u32) -> Timestamp,
        order: ByteOrder,
        data: &[u8],
        room: &mut Vec<u8>,
    ) {
        room.clear();
        let mut time = Timestamp::default();
        for (millis, message, missing) in elements::messages(data, order) {
            let said = clock(millis);
            if said != time {
                self.flush(time, Direction::ToClient, room);
                time = said;
            }
            room.extend_from_slice(message);
            if missing > 0 {
                self.sender
                    .reported(time, Direction::ToClient, room, missing);
                room.clear();
            }
        }
        self.flush(time, Direction::ToClient, room);
    }

    fn flush(&mut self, time: Timestamp, direction: Direction, room: &mut Vec<u8>) {
        if !room.is_empty() {
            self.sender.reported(time, direction, room, 0);
            room.clear();
        }
    }
}
