//! The records of a trace (docs/FORMAT.md).

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{ConnectionId, EmulatedNetwork, Existing, Joined, Timestamp};

/// The direction of bytes on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The client sent the bytes to the server.
    ToServer,
    /// The server sent the bytes to the client.
    ToClient,
}

/// A record of a trace.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// The bytes of one read of a connection's socket.
    Block(Block),
    /// A fact about the session that is not part of a connection's bytes, with its time.
    Control(Timestamp, Control),
    /// A batch of context switches of threads.
    Schedule(Vec<Switch>),
    /// A batch of times of the server's request handlers.
    HandlerTimes(Vec<HandlerTime>),
}

/// The bytes of one read of a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The time at which the read of the socket returned.
    pub time: Timestamp,
    /// The number of the connection.
    pub connection: ConnectionId,
    /// The direction in which the bytes were sent.
    pub direction: Direction,
    /// The number of bytes that were sent in this direction before the block.
    pub offset: u64,
    /// The number of bytes that were read from the socket.
    pub wire_len: u32,
    /// The number of file descriptors that were received with the bytes.
    pub fds: u16,
    /// The bytes that were left out, in order and without overlap.
    pub gaps: Vec<Gap>,
    /// The recorded bytes of the block. Their number is `wire_len` minus the lengths of the gaps.
    pub bytes: Bytes,
}

/// A range of bytes of a block that are not in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The offset of the range from the first byte read from the socket.
    pub at: u32,
    /// The number of bytes in the range.
    pub len: u32,
}

/// A part of a block: recorded bytes or a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// The recorded bytes.
    Kept(&'a [u8]),
    /// A gap; contains the number of bytes that were left out.
    Left(u64),
}

/// A context switch of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// The time at which the switch occurred.
    pub time: Timestamp,
    /// The id of the process.
    pub pid: u32,
    /// The id of the thread.
    pub tid: u32,
    /// The number of the processor.
    pub cpu: u16,
    /// The kind of the switch.
    pub kind: SwitchKind,
}

/// The kind of a context switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SwitchKind {
    /// The thread began to run on a processor.
    In,
    /// The thread stopped running in order to wait.
    Blocked,
    /// The kernel stopped the thread, which was ready to run.
    Preempted,
}

/// The time of the server's handler for one request, or for several short requests in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandlerTime {
    /// The time at which the first of the handlers began.
    pub start: Timestamp,
    /// The total duration of the handlers in nanoseconds. The duration includes time in which the kernel ran other
    /// threads.
    pub took_ns: u64,
    /// The index of the client in the server: the bits of its resource ids above the resource id mask.
    pub client: u16,
    /// The low 16 bits of the first request's sequence number.
    pub sequence: u16,
    /// The number of consecutive requests, all with the same major opcode.
    pub count: u32,
}

/// A frame of a call stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StackFrame {
    /// The path of the file that contains the code, or of the map of code that was generated at run time
    /// (`/tmp/perf-PID.map`); empty if there is none.
    pub file: String,
    /// The address of the call in the file (not of the return); for interpreted programs, the line of the call.
    pub address: u64,
    /// The name of the function, for interpreted code; `None` for machine code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// A function of a program's file at an address, from its symbols.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolFunction {
    /// The name of the function.
    pub name: String,
    /// The source file and the line of the address, such as `src/app.c:12`; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// True if the call was inlined into the next function.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
}

/// Consecutive requests that a client sent from one stack. In the file, the array `[ids, sequence, count, stack]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u32; 4]", into = "[u32; 4]")]
pub struct RequestRun {
    /// The first resource id of the client, which identifies its connection.
    pub ids: u32,
    /// The low 32 bits of the first request's sequence number.
    pub sequence: u32,
    /// The number of consecutive requests from this stack.
    pub count: u32,
    /// The number of the stack.
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

/// The kind of object that a blocked thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockedOn {
    /// The thread sleeps until a time.
    Sleep,
    /// The thread waits for a lock that another thread holds.
    Lock,
    /// The thread waits for another thread: its end, or a condition.
    Thread,
    /// The thread waits for the end of a child process.
    Child,
    /// The thread waits for a pipe.
    Pipe,
    /// The thread waits for a socket.
    Socket,
    /// The thread waits for a file.
    File,
    /// The thread waits for one of several descriptors, as an event loop does.
    Events,
    /// The thread waits for another kind of object.
    #[serde(other)]
    Other,
}

impl BlockedOn {
    /// False for kinds of waits that a client without work has too.
    #[must_use]
    pub fn is_in_work(self) -> bool {
        !matches!(
            self,
            BlockedOn::Events | BlockedOn::Socket | BlockedOn::Thread | BlockedOn::Other
        )
    }
}

/// A control record: a fact that is not part of a connection's bytes. In the file, a control record is JSON, so that
/// later versions can add fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Control {
    /// The first record of the recording.
    Started(Started),
    /// The properties of the display server. The recorder writes this record after connecting to the server.
    Server(Server),
    /// The extensions of the server, with which a trace can be decoded from its start.
    Extensions {
        /// The extensions with their opcodes.
        extensions: Vec<ExtensionOpcodes>,
    },
    /// A client connected to the display.
    Opened(Opened),
    /// The process of a connection has ended, and another process has the connection: its child, for a program that puts
    /// itself into the background.
    Moved {
        /// The connection.
        connection: ConnectionId,
        /// The process that has the connection now.
        pid: u32,
    },
    /// A client's connection ended.
    Closed {
        /// The number of the connection.
        connection: ConnectionId,
        /// The side or the cause that ended the connection: `client`, `server`, `refused` or `error`.
        by: String,
        /// The reason as text; `None` if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The CPU time of a process, as the kernel reported it.
    CpuTime(CpuTime),
    /// A thread was waiting inside a system call.
    Waiting(Waiting),
    /// The relay had to wait because the peer did not accept bytes or because the recorder's queue was full.
    Stalled {
        /// The number of the connection.
        connection: ConnectionId,
        /// The beginning of the wait, in monotonic nanoseconds.
        since_ns: u64,
        /// The cause of the wait: `peer` or `queue`.
        cause: String,
    },
    /// The recorder starts or stops capturing the context switches of a process at this record.
    Capture {
        /// The id of the process.
        pid: u32,
        /// The kind of capture: `switches` or `none`.
        capture: String,
        /// The reason why nothing is captured; `None` if there is a capture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The times of the server's request handlers follow, or are not available.
    Timing {
        /// The id of the server's process.
        pid: u32,
        /// The reason why handlers are not timed; `None` if they are timed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// A point in time that the user marked.
    Mark {
        /// The text of the mark.
        text: String,
    },
    /// The connection to the display server, as measured before the recording.
    Link(Link),
    /// The network that the recorder emulated: it delayed the bytes between the clients and the server accordingly.
    Network(EmulatedNetwork),
    /// The recorder changed requests, to measure the gain of a change of the program (`record --try`).
    Tried {
        /// The name of the change.
        fix: String,
        /// The number of requests that were changed, which is known at the end of a recording; `None` before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requests: Option<u64>,
    },
    /// The bytes come from the server's RECORD extension. The clients were connected before the recording.
    Attached {},
    /// An attached recorder was disconnected from the server up to the time of this record. Messages of this interval
    /// are missing from the trace. `existing` and `joined` records follow.
    Hole {
        /// The time since which messages may be missing, in monotonic nanoseconds.
        since_ns: u64,
        /// The reason why the recorder was disconnected, as text.
        why: String,
    },
    /// The build id of a program file, before the first stack with its code.
    BuildId {
        /// The file of the code.
        file: String,
        /// The id, in hexadecimal digits.
        build_id: String,
    },
    /// A call stack of a client. This record precedes all records that refer to the stack.
    Stack {
        /// The number of the stack in the trace.
        stack: u32,
        /// The frames, the innermost first.
        frames: Vec<StackFrame>,
        /// True if the last frame is the thread's first function.
        whole: bool,
    },
    /// The call stack on which a client waited for a reply.
    WaitStack {
        /// The number of the connection.
        connection: ConnectionId,
        /// The time of the block with the reply, in monotonic nanoseconds.
        at_ns: u64,
        /// The number of the stack.
        stack: u32,
        /// The time by which copying the stack delayed the reply, in nanoseconds.
        took_ns: u64,
    },
    /// The call stack on which a client ran (`record --stacks=cpu`).
    RunStack {
        /// The id of the process.
        pid: u32,
        /// The time of the sample, in monotonic nanoseconds.
        at_ns: u64,
        /// The number of the stack.
        stack: u32,
        /// The CPU time of the thread since the previous sample, in nanoseconds.
        ran_ns: u64,
        /// True if CPU time inside the kernel was also sampled; otherwise only CPU time outside the kernel counts.
        #[serde(default)]
        kernel: bool,
    },
    /// The call stack on which a thread of a client was blocked (`record --stacks`).
    BlockedStack {
        /// The id of the process.
        pid: u32,
        /// The id of the thread.
        tid: u32,
        /// The beginning of the wait, in monotonic nanoseconds.
        since_ns: u64,
        /// The number of the stack.
        stack: u32,
        /// The kind of object that the thread waits for.
        object: BlockedOn,
        /// The name of the object: a file, the thread that holds a lock, a child, the process at the other end of a
        /// pipe. `None` if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The call stacks from which clients sent requests. The time of this record is earlier than the requests in it.
    RequestStacks {
        /// The records up to this one contain all requests before this time, in monotonic nanoseconds.
        until_ns: u64,
        /// The requests, in runs that have the same stack.
        runs: Vec<RequestRun>,
        /// The CPU time that clients have used to unwind new stacks since the previous record, in nanoseconds.
        #[serde(default)]
        took_ns: u64,
    },
    /// The server has reported all messages of clients up to a time (`record --attach`).
    Told {
        /// The time up to which messages were reported, in monotonic nanoseconds.
        until_ns: u64,
    },
    /// The server slept at the time of this record, and had slept for some time. If a request had arrived, the server
    /// ignored it: another client had grabbed it, or it was stopped.
    Asleep {
        /// The id of the server's process.
        pid: u32,
    },
    /// The functions at an address of a program's file. The address occurs in stacks. The recorder reads the functions
    /// at the end of the recording.
    Symbol {
        /// The file of the code.
        file: String,
        /// The address in the file.
        address: u64,
        /// The functions, the innermost first; empty for a function without a name.
        functions: Vec<SymbolFunction>,
        /// The start address of the function, if the function has no name; `None` if it has one, or if the address is
        /// unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<u64>,
    },
    /// The state of the server from before the trace.
    Existing(Existing),
    /// A connection that was open before its recording began. The trace contains its messages from this record on.
    Joined(Joined),
    /// The trace is a copy without typed or displayed text.
    Scrubbed {},
    /// The labels that the user gave to the session.
    Labels {
        /// The labels by name: `version`, `user`, `program`, and names that the user chose.
        labels: BTreeMap<String, String>,
    },
    /// The recorder signalled the command to end. The user does not cause later actions of the command.
    Ending {},
    /// The recorder has noticed a problem of the recording itself.
    Trouble {
        /// A description of the problem, as text.
        what: String,
    },
    /// The last record of a recording that ended properly.
    Ended {
        /// The exit status of the recorded command, 128 plus the signal if a signal killed it; `None` without a
        /// command, or if the command was still running at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_status: Option<i32>,
    },
    /// A kind of record that this version does not support.
    #[serde(other)]
    Unknown,
}

impl Control {
    /// The connection and the process that has the connection from the time of the record on; `None` if the record
    /// reports no such process.
    #[must_use]
    pub fn connected_process(&self) -> Option<(ConnectionId, u32)> {
        match self {
            Control::Opened(opened) => Some((opened.connection, opened.pid?)),
            Control::Moved { connection, pid } => Some((*connection, *pid)),
            _ => None,
        }
    }
}

/// The first record of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The version of the trace format.
    pub format: u32,
    /// The name and version of the program that wrote the trace.
    pub recorder: String,
    /// The time of this record on the wall clock, in nanoseconds since 1970, UTC.
    pub wall_clock_ns: u64,
    /// The recorded command and its arguments; empty without a command.
    #[serde(default)]
    pub command: Vec<String>,
    /// The processor model of the recording machine.
    #[serde(default)]
    pub cpu_model: String,
    /// The number of processors of the recording machine.
    #[serde(default)]
    pub cpus: u32,
    /// The name and release of the kernel.
    #[serde(default)]
    pub kernel: String,
    /// True if the trace contains all bodies of messages (`--keep-images`).
    #[serde(default)]
    pub full: bool,
}

/// The display server that was recorded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Server {
    /// The name of the display, such as `:0`.
    pub display: String,
    /// The vendor in the server's setup.
    pub vendor: String,
    /// The release number in the server's setup.
    pub release: u32,
    /// The depth of the default screen's root window, in bits.
    pub depth: u8,
    /// The width and height of the default screen, in pixels.
    pub screen: (u16, u16),
    /// The path of the server's executable, or the name of the process if the path cannot be read; `None` if the server
    /// is not local.
    pub executable: Option<String>,
    /// The arguments of the executable, for a local server. The argument after `-auth` is replaced by `…`.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The id of the server's process; `None` if the server is not local.
    pub pid: Option<u32>,
}

/// Measurements of a connection to a display server. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Link {
    /// The name of the display.
    pub display: String,
    /// The kind of socket: `unix` or `tcp`.
    pub transport: String,
    /// The process that listens for the display instead of an X server, such as `sshd`; `None` if the listener is an X
    /// server or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
    /// The time between opening the connection and receiving the setup reply, in nanoseconds; `None` if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_ns: Option<u64>,
    /// The kernel's shortest round trip of the TCP connection to the display, or of the ssh connection that forwards it,
    /// in nanoseconds; `None` without such a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_round_trip_ns: Option<u64>,
    /// The times of consecutive round trips in nanoseconds.
    pub round_trips_ns: Vec<u64>,
    /// The round trips after pauses of random length; empty unless `record --link` measured them.
    pub paced: Vec<RoundTrip>,
    /// The times of round trips of two requests, each in a separate write, in nanoseconds; empty unless `record --link`
    /// measured them.
    pub two_writes_ns: Vec<u64>,
    /// The largest transfer of bytes to the server.
    pub to_server: Transfer,
    /// The largest transfer of bytes from the server.
    pub to_client: Transfer,
}

impl Link {
    /// True if a network or a relay such as sshd is between the recorder and the X server.
    pub fn is_remote(&self) -> bool {
        self.transport == "tcp" || self.relay.is_some()
    }

    /// The shortest of the round-trip times in nanoseconds; `None` without measurements. The shortest time is used,
    /// because a busy machine only lengthens round trips.
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.round_trips_ns.iter().copied().min()
    }

    /// The time by which connection setup takes longer than a round trip, in nanoseconds. sshd forwards no byte before
    /// the other end has opened the channel.
    pub fn connect_ns(&self) -> u64 {
        let trip = self.round_trip_ns().unwrap_or(0);
        self.setup_ns.unwrap_or(0).saturating_sub(trip)
    }
}

/// The times at which a round trip started and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The time at which the request was sent, in nanoseconds.
    pub sent_ns: u64,
    /// The time at which the reply arrived, in nanoseconds.
    pub came_ns: u64,
}

/// A measured transfer of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Transfer {
    /// The number of bytes that were transferred.
    pub bytes: u64,
    /// The duration of the transfer in nanoseconds, including a round trip.
    pub took_ns: u64,
}

impl Transfer {
    /// The speed in bytes per second, without a round trip of this many nanoseconds; `None` if nothing was transferred,
    /// or within a round trip.
    pub fn bytes_per_second(&self, round_trip_ns: u64) -> Option<f64> {
        let took = self.took_ns.saturating_sub(round_trip_ns);
        (took > 0 && self.bytes > 0).then(|| self.bytes as f64 / took as f64 * 1e9)
    }
}

/// An extension of the server, with its opcodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtensionOpcodes {
    /// The name of the extension, such as `RENDER`.
    pub name: String,
    /// The major opcode of the extension.
    pub major: u8,
    /// The code of the extension's first event; 0 if it has no events.
    pub first_event: u8,
    /// The code of the extension's first error; 0 if it has no errors.
    pub first_error: u8,
}

/// A client connected to the display.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The number of the connection.
    pub connection: ConnectionId,
    /// The kind of socket: `unix`, `abstract` or `tcp`.
    pub transport: String,
    /// The id of the client's process; `None` if the kernel does not report it.
    pub pid: Option<u32>,
    /// The name of the client's process, at most 255 bytes; `None` if unknown.
    #[serde(default, deserialize_with = "short_name")]
    pub name: Option<String>,
    /// The command line of the client's process; empty if unknown.
    #[serde(default)]
    pub command: Vec<String>,
    /// The start of the process in monotonic nanoseconds, rounded to the kernel's clock tick of some milliseconds;
    /// `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<u64>,
}

/// Reads a name of a process. The kernel's names have 15 bytes; analyses repeat them often.
fn short_name<'de, D: serde::Deserializer<'de>>(name: D) -> Result<Option<String>, D::Error> {
    const LONGEST: usize = 255;
    let mut name = Option::<String>::deserialize(name)?;
    if let Some(name) = &mut name {
        name.truncate(name.floor_char_boundary(LONGEST));
    }
    Ok(name)
}

/// The kernel's counters for a process at the time of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// The id of the process.
    pub pid: u32,
    /// The CPU time of all threads of the process up to now, in nanoseconds.
    pub cpu_ns: u64,
    /// The number of voluntary context switches of its living threads; `None` if unknown.
    pub voluntary_switches: Option<u64>,
    /// The number of involuntary context switches of its living threads; `None` if unknown.
    pub involuntary_switches: Option<u64>,
}

/// A thread that waits, with the system call in which it waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The id of the process.
    pub pid: u32,
    /// The id of the thread.
    pub tid: u32,
    /// The time at which the thread stopped running, in monotonic nanoseconds; equal to the time of its context switch.
    pub since_ns: u64,
    /// The number of the system call in which the thread sleeps; negative if it is in none.
    pub syscall: i64,
    /// The kernel function in which the thread sleeps; `None` if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_channel: Option<String>,
    /// The first arguments of the system call, which identify the object of the wait, such as the address of a futex.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<u64>,
    /// The process at the other end of the only socket or pipe that the call waits for. `None` if that is the display, if
    /// the call waits for several descriptors, or if the process is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<WaitPeer>,
}

impl Waiting {
    /// True if a signal or a debugger has stopped the thread.
    pub fn is_stopped(&self) -> bool {
        matches!(
            self.wait_channel.as_deref(),
            Some("do_signal_stop" | "ptrace_stop")
        )
    }
}

/// The process that a blocked thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitPeer {
    /// The number of the process that the thread waits for.
    pub pid: u32,
    /// The name of that process.
    pub name: String,
    /// True if a signal or a debugger had stopped it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}
