//! The records of a trace (docs/FORMAT.md).

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{ConnectionId, Existing, Joined, Timestamp};

/// A direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// A record, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// Bytes of a connection.
    Block(Block),
    /// A fact about the session that is not part of its bytes.
    Control(Timestamp, Control),
    /// A batch of context switches.
    Schedule(Vec<Switch>),
    /// A batch of handler times of the server.
    HandlerTimes(Vec<HandlerTime>),
}

/// The bytes of one socket read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The time at which the read returned.
    pub time: Timestamp,
    /// The connection.
    pub connection: ConnectionId,
    /// The direction.
    pub direction: Direction,
    /// The number of bytes in this direction before the block.
    pub offset: u64,
    /// The number of bytes read from the socket.
    pub wire_len: u32,
    /// The number of file descriptors received with the bytes.
    pub fds: u16,
    /// The omitted bytes, in order and without overlap.
    pub gaps: Vec<Gap>,
    /// The recorded bytes: `wire_len` minus the lengths of the gaps.
    pub bytes: Bytes,
}

/// Bytes of a block that are not in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Offset from the first byte read from the socket.
    pub at: u32,
    /// The number of bytes.
    pub len: u32,
}

/// A part of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Recorded bytes.
    Kept(&'a [u8]),
    /// The number of omitted bytes.
    Left(u64),
}

/// A context switch of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// The time of the switch.
    pub time: Timestamp,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The processor.
    pub cpu: u16,
    /// The kind of switch.
    pub kind: SwitchKind,
}

/// A kind of context switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SwitchKind {
    /// The thread began to run.
    In,
    /// The thread stopped in order to wait.
    Blocked,
    /// The kernel stopped the thread, which was ready to run.
    Preempted,
}

/// The handler time of one request in the server, or of several short requests in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandlerTime {
    /// The time at which the first handler began.
    pub start: Timestamp,
    /// The total time in nanoseconds. The kernel may have run other threads in the meantime.
    pub took_ns: u64,
    /// The client's index in the server: the bits of its resource ids above the resource id mask.
    pub client: u16,
    /// The low bits of the first request's sequence number.
    pub sequence: u16,
    /// The number of consecutive requests, all with one major opcode.
    pub count: u32,
}

/// A frame of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StackFrame {
    /// The file that contains the code; empty if there is none.
    pub file: String,
    /// The address in the file of the call, not of the return; for interpreted programs, the line of the call.
    pub address: u64,
    /// The function, for interpreted code, whose file does not contain function names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// A function of a program's file at an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolFunction {
    /// The name.
    pub name: String,
    /// The source file and the line: `src/app.c:12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// True if the call was inlined into the next function.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
}

/// Consecutive requests that a client sent from one stack; `[ids, sequence, count, stack]` in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u32; 4]", into = "[u32; 4]")]
pub struct RequestRun {
    /// The first resource id of the client's connection, which identifies the connection.
    pub ids: u32,
    /// The low bits of the first request's sequence number.
    pub sequence: u32,
    /// The number of requests.
    pub count: u32,
    /// The stack's number.
    pub stack: u32,
}

impl From<[u32; 4]> for RequestRun {
    fn from([ids, sequence, count, stack]: [u32; 4]) -> RequestRun {
        RequestRun {
            ids,
            sequence,
            count,
            stack,
        }
    }
}

impl From<RequestRun> for [u32; 4] {
    fn from(run: RequestRun) -> [u32; 4] {
        [run.ids, run.sequence, run.count, run.stack]
    }
}

/// The object that a blocked thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockedOn {
    /// Time.
    Sleep,
    /// A lock that another thread holds.
    Lock,
    /// Another thread: its end, a condition.
    Thread,
    /// The end of a child process.
    Child,
    /// A pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A file.
    File,
    /// One of several descriptors: an event loop.
    Events,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// A control record. It is JSON in the file, so that it can be extended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Control {
    /// The first record.
    Started(Started),
    /// The display server. The recorder writes this record after connecting to it.
    Server(Server),
    /// The opcodes of the server's extensions, with which a trace can be decoded from its start.
    Extensions {
        /// The extensions of the server.
        extensions: Vec<ExtensionOpcodes>,
    },
    /// A client connected.
    Opened(Opened),
    /// The process of a connection has ended, and another process has the connection: its child, for a program that puts
    /// itself into the background.
    Moved {
        /// The connection.
        connection: ConnectionId,
        /// The process that has the connection now.
        pid: u32,
    },
    /// A connection ended.
    Closed {
        /// The connection.
        connection: ConnectionId,
        /// The side or the cause that ended the connection: `client`, `server`, `refused`, `error`.
        by: String,
        /// The reason, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// CPU clocks of a process, read from the kernel.
    CpuTime(CpuTime),
    /// A thread was seen waiting inside a system call.
    Waiting(Waiting),
    /// The relay had to wait because the peer did not accept bytes or because the recorder's queue was full.
    Stalled {
        /// The connection.
        connection: ConnectionId,
        /// The beginning of the stall, in monotonic nanoseconds.
        since_ns: u64,
        /// `peer` or `queue`.
        cause: String,
    },
    /// The scheduling capture of a process.
    Capture {
        /// The process.
        pid: u32,
        /// `switches`, or `none`.
        capture: String,
        /// The reason why there is no capture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Whether handler times of the server follow.
    Timing {
        /// The server's process.
        pid: u32,
        /// The reason why handlers are not timed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The user's mark.
    Mark {
        /// The mark's text.
        text: String,
    },
    /// The measured connection to the display server, before the recording.
    Link(Link),
    /// The recorder delayed bytes between the clients and the server like this network.
    Network(EmulatedNetwork),
    /// The recorder rewrites requests, to measure the gain of a change of the program.
    Tried {
        /// The change's name.
        fix: String,
        /// The number of requests changed; written at the end of a recording.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requests: Option<u64>,
    },
    /// The bytes come from the server's RECORD extension, and the clients were already connected.
    Attached {},
    /// An attached recorder was disconnected from the server until the time of this record. Messages of this interval
    /// are missing from the trace. `existing` and `joined` records follow.
    Hole {
        /// The time since which messages may be missing, in monotonic nanoseconds.
        since_ns: u64,
        /// The reason.
        why: String,
    },
    /// The build id of a program file, before the first stack with its code.
    BuildId {
        /// The file of the code.
        file: String,
        /// The id, in hexadecimal digits.
        build_id: String,
    },
    /// A stack of a client, before the first record that refers to it.
    Stack {
        /// The number.
        stack: u32,
        /// The calls, the innermost first.
        frames: Vec<StackFrame>,
        /// True if the last frame is the thread's first.
        whole: bool,
    },
    /// The stack on which a client waited for a reply.
    WaitStack {
        /// The connection.
        connection: ConnectionId,
        /// The time of the block with the reply, in monotonic nanoseconds.
        at_ns: u64,
        /// The stack's number.
        stack: u32,
        /// The delay of the reply because the stack was copied, in nanoseconds.
        took_ns: u64,
    },
    /// The stack on which a client ran (`record --stacks=cpu`).
    RunStack {
        /// The process.
        pid: u32,
        /// The time, in monotonic nanoseconds.
        at_ns: u64,
        /// The stack's number.
        stack: u32,
        /// The CPU time of the thread since the previous sample, in nanoseconds.
        ran_ns: u64,
        /// True if the thread was also sampled inside the kernel; otherwise only time outside the kernel counts.
        #[serde(default)]
        kernel: bool,
    },
    /// The stack on which a thread of a client was blocked (`record --stacks`).
    BlockedStack {
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
        /// The beginning of the wait, in monotonic nanoseconds.
        since_ns: u64,
        /// The stack's number.
        stack: u32,
        /// The awaited object.
        object: BlockedOn,
        /// The object's name: a file, the thread that holds a lock, a child, the process at the other end of a pipe.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The stacks from which clients sent requests. The time of this record is earlier than its contents.
    RequestStacks {
        /// The records so far contain all requests before this time, in monotonic nanoseconds.
        until_ns: u64,
        /// The requests in runs.
        runs: Vec<RequestRun>,
        /// The time that clients used to unwind new stacks since the previous record, in nanoseconds.
        #[serde(default)]
        took_ns: u64,
    },
    /// A display server has reported all messages of clients up to a time (`record --attach`).
    Told {
        /// The time, in monotonic nanoseconds.
        until_ns: u64,
    },
    /// The functions at an address in stacks, from the program files as they were at the end of the recording.
    Symbol {
        /// The file of the code.
        file: String,
        /// The address in the file.
        address: u64,
        /// The functions, the innermost first; empty for a function without a name.
        functions: Vec<SymbolFunction>,
        /// The address of a function without a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<u64>,
    },
    /// The server's state from before the trace.
    Existing(Existing),
    /// The trace contains a connection from here on, without its beginning.
    Joined(Joined),
    /// The trace is a copy without typed or displayed text.
    Scrubbed {},
    /// The user's labels of the session.
    Labels {
        /// The labels by name: `version`, `user`, `program`, and names that the user chose.
        labels: BTreeMap<String, String>,
    },
    /// The recorder signals the command to end. Later actions of the command are not caused by the user.
    Ending {},
    /// A problem of the recording itself.
    Trouble {
        /// A description of the problem.
        what: String,
    },
    /// The last record of a recording that ended properly.
    Ended {
        /// The exit status of the command, if a command was recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_status: Option<i32>,
    },
    /// A kind that this version does not support.
    #[serde(other)]
    Unknown,
}

impl Control {
    /// The connection that has this process from the time of the record on, and the process.
    #[must_use]
    pub fn connected_process(&self) -> Option<(ConnectionId, u32)> {
        match self {
            Control::Opened(opened) => Some((opened.connection, opened.pid?)),
            Control::Moved { connection, pid } => Some((*connection, *pid)),
            _ => None,
        }
    }
}

/// The recording's first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The format's version.
    pub format: u32,
    /// The program that wrote the trace, with its version.
    pub recorder: String,
    /// The wall clock at this record's time: nanoseconds since 1970, UTC.
    pub wall_clock_ns: u64,
    /// The recorded command, if there is one.
    #[serde(default)]
    pub command: Vec<String>,
    /// Processor model of the recording machine.
    #[serde(default)]
    pub cpu_model: String,
    /// Processors of the recording machine.
    #[serde(default)]
    pub cpus: u32,
    /// Kernel name and release.
    #[serde(default)]
    pub kernel: String,
    /// True if all bodies are complete (`--keep-images`).
    #[serde(default)]
    pub full: bool,
}

/// The display server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Server {
    /// The display's name, such as `:0`.
    pub display: String,
    /// Vendor string of the setup.
    pub vendor: String,
    /// Release number of the setup.
    pub release: u32,
    /// Depth of the root window of the default screen.
    pub depth: u8,
    /// Width and height of the default screen, in pixels.
    pub screen: (u16, u16),
    /// The server's executable, if the server is local.
    pub executable: Option<String>,
    /// The arguments of the executable, for a local server. The argument after `-auth` is blanked.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The server's process id, if the server is local.
    pub pid: Option<u32>,
}

/// A network that the recorder emulated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EmulatedNetwork {
    /// Speed in each direction; `None` for an unlimited speed.
    pub bytes_per_second: Option<f64>,
    /// The round-trip time. A packet arrives half of this time after its sending.
    pub round_trip_ns: u64,
}

impl EmulatedNetwork {
    /// Maximum payload of one packet in bytes: Ethernet's 1500 minus the headers.
    pub const PACKET: usize = 1448;
    /// Bytes of headers in a packet: 20 of IP, 20 of TCP, and 12 of TCP's timestamps.
    pub const HEADERS: usize = 52;
    /// Bytes that a sender can leave to the line before it waits, besides those in flight: about Linux's
    /// `net.core.wmem_default`.
    pub const SEND_BUFFER: u64 = 256_000;

    /// The time in nanoseconds for which bytes that are sent together occupy the link, including packet headers.
    pub fn occupies(&self, bytes: usize) -> u64 {
        let packets = bytes.div_ceil(Self::PACKET);
        let bytes = bytes.saturating_add(packets.saturating_mul(Self::HEADERS));
        // The cast saturates.
        self.bytes_per_second
            .map_or(0, |speed| (bytes as f64 / speed * 1e9) as u64)
    }

    /// Nanoseconds in which the line takes what a sender can leave to it before the sender waits; `None` if bytes take
    /// no time.
    pub fn buffered(&self) -> Option<u64> {
        let speed = self.bytes_per_second?;
        // The cast saturates.
        Some((Self::SEND_BUFFER as f64 / speed * 1e9) as u64)
    }

    /// Nanoseconds between the sending and the arrival of a packet.
    pub fn latency(&self) -> u64 {
        self.round_trip_ns / 2
    }
}

/// Measurements of a connection to a display server. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Link {
    /// The display's name.
    pub display: String,
    /// `unix` or `tcp`.
    pub transport: String,
    /// The process that listens for the display instead of an X server, such as `sshd`; `None` if the listener is an X
    /// server or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
    /// The time from connecting to the server's setup reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_ns: Option<u64>,
    /// The kernel's smoothed round-trip time of a TCP connection (TCP_INFO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_round_trip_ns: Option<u64>,
    /// Consecutive round trips.
    pub round_trips_ns: Vec<u64>,
    /// Round trips after pauses of random length. Empty unless `record --link` measured them.
    pub paced: Vec<RoundTrip>,
    /// Round trips of two requests, each written alone. Empty unless `record --link` measured them.
    pub two_writes_ns: Vec<u64>,
    /// The largest transfer to the server.
    pub to_server: Transfer,
    /// The largest transfer to the recorder.
    pub to_client: Transfer,
}

impl Link {
    /// True if a network or a relay such as sshd lies between the recorder and the X server.
    pub fn is_remote(&self) -> bool {
        self.transport == "tcp" || self.relay.is_some()
    }

    /// The median of the round trips, in nanoseconds.
    pub fn round_trip_ns(&self) -> Option<u64> {
        let mut sorted = self.round_trips_ns.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }

    /// The time by which connection setup takes longer than a round trip, in nanoseconds. sshd forwards no byte before
    /// the other end has opened the channel.
    pub fn connect_ns(&self) -> u64 {
        let trip = self.round_trip_ns().unwrap_or(0);
        self.setup_ns.unwrap_or(0).saturating_sub(trip)
    }
}

/// The start and end of a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The time at which the request was sent.
    pub sent_ns: u64,
    /// The time at which the reply arrived.
    pub came_ns: u64,
}

/// A transfer of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Transfer {
    /// The number of bytes.
    pub bytes: u64,
    /// The duration, including a round trip.
    pub took_ns: u64,
}

/// An extension of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtensionOpcodes {
    /// The extension's name, such as `RENDER`.
    pub name: String,
    /// The extension's major opcode.
    pub major: u8,
    /// The extension's first event; 0 if it has no events.
    pub first_event: u8,
    /// The extension's first error; 0 if it has no errors.
    pub first_error: u8,
}

/// A client connected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The connection.
    pub connection: ConnectionId,
    /// `unix`, `abstract` or `tcp`.
    pub transport: String,
    /// The client's process, if the kernel reports it.
    pub pid: Option<u32>,
    /// The process's name.
    pub name: Option<String>,
    /// The process's command line.
    #[serde(default)]
    pub command: Vec<String>,
    /// The start of the process in monotonic nanoseconds, rounded to the kernel's clock tick of some milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<u64>,
}

/// The kernel's counters for a process at a point in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// The process.
    pub pid: u32,
    /// CPU time of all its threads so far, in nanoseconds.
    pub cpu_ns: u64,
    /// Voluntary context switches of its living threads.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches of its living threads.
    pub involuntary_switches: Option<u64>,
}

/// A blocked thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The time at which the thread stopped running: monotonic nanoseconds of its switch.
    pub since_ns: u64,
    /// Number of the system call in which the thread sleeps; negative if it is in none.
    pub syscall: i64,
    /// The kernel function in which the thread sleeps, if the kernel reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_channel: Option<String>,
    /// The first arguments of the system call; they identify the object of the wait, such as a futex address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<u64>,
    /// The process at the other end of the only socket or pipe that the call waits for. `None` if that is the display, if
    /// the call waits for several descriptors, or if the process is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<WaitPeer>,
}

/// The process that a blocked thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitPeer {
    /// The process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// True if a signal or a debugger had stopped it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}
