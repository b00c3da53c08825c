//! The timeline of a trace, the input of the episodes' state machines: a sequence of events with their times.

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, SystemCall, Waiting};

use super::cause::Cause;
use super::cross_client::causal_keys::{CausalKey, CausalRequest};
use super::kinds::Kinds;
use super::obstacles::Obstacle;
use super::stimulus::Stimulus;
use super::user::tag::Tags;
use crate::pipeline::open_requests::{OpenRequest, OpenRequestChange};
use crate::text::label::Label;
use crate::threads::thread_states::Step;

/// An event of the timeline.
#[derive(Debug, Clone)]
pub(crate) enum TimelineEvent {
    /// A client connected; `pid` is its process.
    Opened {
        client: ConnectionId,
        pid: Option<u32>,
    },
    /// Process `pid` now has the connection of the client.
    Moved { client: ConnectionId, pid: u32 },
    /// A client connected before the recording.
    Joined(ConnectionId),
    /// The connection with this number ended.
    Closed(ConnectionId),
    /// A client's thread has been waiting since `since` (nanoseconds) in the call `place`.
    Waits {
        pid: u32,
        tid: u32,
        since: u64,
        place: Place,
        obstacle: Option<Obstacle>,
    },
    /// The recording of a process's context switches begins (`switches` is true) or is not possible.
    Captured { pid: u32, switches: bool },
    /// A thread changed its state.
    Step(Step),
    /// The server's grab changed; contains the client that now grabs the server, if any.
    Grabbed(Option<ConnectionId>),
    /// An open request changed its state, but not through a message of the client that sent it.
    OpenRequest(OpenRequestChange),
    /// The client with this connection received bytes.
    Delivered(ConnectionId, Delivery),
    /// The client with this connection sent bytes.
    Sent(ConnectionId, SentRequests),
}

/// The kind of a thread's wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The thread waits for a descriptor: poll, select, epoll.
    Poll,
    /// The thread waits for time to pass.
    Sleep,
    /// The thread waits for another thread.
    Lock,
    /// The thread waits for a file: its bytes, its metadata, or a page of it.
    File,
    /// A signal or a debugger has stopped the thread.
    Stopped,
    /// The thread waits for another object.
    Other,
}

/// The location of a thread's wait: the kind of wait, and its object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) wait: Wait,
    /// The address of a futex, or the number of another system call; 0 for poll, or if unknown.
    pub(crate) at: u64,
    /// True if a wait for a condition has a time limit, false if it has none; `None` for other waits.
    pub(crate) timed: Option<bool>,
    /// The time in nanoseconds at which a wait in poll ends by its time limit; `None` without a limit, or if unknown.
    pub(crate) due: Option<u64>,
}

impl PartialEq for Place {
    /// Waits at the same location are equal, with a time limit or without.
    fn eq(&self, other: &Place) -> bool {
        (self.wait, self.at) == (other.wait, other.at)
    }
}

/// Removes the bits of a futex's address in which the two adjacent futexes of a condition variable differ. The C
/// library uses these two alternately.
const SAME_CONDITION: u64 = !7;

impl Place {
    /// The location of the wait in the record of a waiting thread.
    pub(crate) fn of(waiting: &Waiting) -> Place {
        let channel = waiting.wait_channel.as_deref();
        let argument = |n: usize| waiting.arguments.get(n).copied();
        let call = SystemCall::of(waiting.syscall, &waiting.arguments);
        let wait = match Wait::of(call, channel) {
            Wait::Poll if call == SystemCall::Sleep => Wait::Sleep,
            _ if Obstacle::of(waiting) == Some(Obstacle::Stopped) => Wait::Stopped,
            // The call does not wait for the display.
            Wait::Poll if waiting.peer.is_some() => Wait::Other,
            wait => wait,
        };
        let at = match wait {
            Wait::Lock => argument(0).map_or(0, |address| address & SAME_CONDITION),
            Wait::Other => u64::try_from(waiting.syscall).unwrap_or(0),
            Wait::Poll | Wait::Sleep | Wait::File | Wait::Stopped => 0,
        };
        // FUTEX_WAIT_BITSET with any flags: used by conditions and semaphores, but not by mutexes.
        let condition = wait == Wait::Lock && argument(1).is_some_and(|call| call & 0x7f == 9);
        let timed = argument(3).filter(|_| condition).map(|time| time != 0);
        let limit = SystemCall::limit_ms(waiting.syscall, &waiting.arguments);
        let limit = limit.and_then(|limit| u64::try_from(limit).ok());
        let due = limit.map(|limit| waiting.since_ns.saturating_add(limit * 1_000_000));
        Place {
            wait,
            at,
            timed,
            due,
        }
    }

    /// True for a wait for a child process.
    pub(crate) fn is_for_child(&self) -> bool {
        let call = i64::try_from(self.at).map(|number| SystemCall::of(number, &[]));
        self.wait == Wait::Other && matches!(call, Ok(SystemCall::Child(_)))
    }
}

/// Prefixes of the names of kernel functions. In these functions, a thread waits for a file: a page of the page cache,
/// a block, a file system's journal, a file of another machine or of a FUSE process.
const FILE_CHANNELS: [&str; 14] = [
    "folio_",
    "io_schedule",
    "wait_on_page",
    "wait_on_bit",
    "wait_on_buffer",
    "submit_bio",
    "blk_",
    "jbd2_",
    "ext4_",
    "xfs_",
    "btrfs_",
    "nfs",
    "p9_client",
    "request_wait_answer",
];

impl Wait {
    /// Returns why events do not end a wait of this kind; `None` if they may end it.
    pub(crate) fn ignores_events(self) -> Option<Cause> {
        match self {
            Wait::Sleep => Some(Cause::Sleeping),
            Wait::Stopped => Some(Cause::Elsewhere),
            _ => None,
        }
    }

    /// Returns the kind of wait, from the kernel function `channel` if known, otherwise from the system call.
    fn of(call: SystemCall, channel: Option<&str>) -> Wait {
        let channel = channel.unwrap_or("");
        let has = |part: &str| channel.contains(part);
        if has("poll") || has("select") {
            Wait::Poll
        } else if has("nanosleep") {
            Wait::Sleep
        } else if has("futex") {
            Wait::Lock
        } else if FILE_CHANNELS.iter().any(|part| has(part)) {
            Wait::File
        } else if !channel.is_empty() {
            Wait::Other
        } else {
            match call {
                SystemCall::Poll { .. } => Wait::Poll,
                SystemCall::Sleep => Wait::Sleep,
                SystemCall::Futex | SystemCall::Futexes => Wait::Lock,
                // A read or a write may be one of a pipe.
                SystemCall::Path(_) | SystemCall::Descriptor { is_file: true, .. } => Wait::File,
                SystemCall::Descriptor { .. } | SystemCall::Child(_) | SystemCall::Other => {
                    Wait::Other
                }
            }
        }
    }
}

/// The names of an episode: its landmark and its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EpisodeLabel {
    /// The landmark: the event, its key or button, and its window.
    pub(crate) landmark: Label,
    /// The kind of action and the class of the window, by which landmarks are grouped.
    pub(crate) group: Symbol,
}

impl EpisodeLabel {
    /// Creates a label whose group has the same name.
    pub(crate) fn alone(name: &str) -> EpisodeLabel {
        EpisodeLabel {
            landmark: Label::new(name),
            group: Symbol::new(name),
        }
    }
}

/// An event that arrived at a client.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) stimulus: Stimulus,
    pub(crate) about: EpisodeLabel,
    /// The causal keys of the event. A request that causes the event has one of these keys.
    pub(crate) causal_keys: Vec<CausalKey>,
    /// The user-defined events that the event starts and ends.
    pub(crate) tags: Tags,
    /// The time of the event on the server's clock, in milliseconds, if the stimulus has no time.
    pub(crate) millis: Option<u32>,
    /// True if the event is the reply to an open request of the client.
    pub(crate) answers: bool,
}

/// A picture that a client has shown with Present: its window and its serial number.
pub(crate) type Shown = (u32, u32);

/// The messages that a client received in one block of the trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delivery {
    /// The sequence numbers of the requests that got a reply or an error.
    pub(crate) answered: Vec<SequenceNumber>,
    /// The number of replies that the client waited for.
    pub(crate) round_trips: u64,
    /// The number of bytes of the replies that the client waited for.
    pub(crate) received: u64,
    /// The events among the messages.
    pub(crate) events: Vec<Arrival>,
    /// The time at which the server had sent the last of these replies, in nanoseconds; `None` if unknown.
    pub(crate) left_at: Option<u64>,
    /// The last request that the server had handled when it sent the messages.
    pub(crate) handled: Option<SequenceNumber>,
    /// The pictures that the messages report as shown on the screen. `landed_at` is the time of the last such message.
    pub(crate) landed: Vec<Shown>,
    pub(crate) landed_at: u64,
    /// The nanoseconds that the server's handlers used for the client since the previous block, by request.
    pub(crate) handled_for: Vec<(Symbol, u64)>,
    /// The open requests of the client to which the received messages are replies.
    pub(crate) answered_requests: Vec<OpenRequest>,
}

/// The requests that the recorder read from a client in one read.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentRequests {
    pub(crate) requests: u64,
    /// True if the client has sent a part of a further request, and the rest is still to come.
    pub(crate) is_unfinished: bool,
    pub(crate) bytes: u64,
    /// The time at which the server received the last request, in nanoseconds.
    pub(crate) arrived_at: u64,
    /// The sequence number of the first request.
    pub(crate) first: Option<SequenceNumber>,
    /// The sequence numbers and names of the requests that have a reply.
    pub(crate) questions: Vec<(SequenceNumber, Symbol)>,
    pub(crate) kinds: Kinds,
    /// The sequence numbers of the first and the last drawing request, on any drawable.
    pub(crate) drawing: Option<(SequenceNumber, SequenceNumber)>,
    /// The window that the requests draw on last; `None` if unknown.
    pub(crate) drawn: Option<Label>,
    /// True if the requests draw on, show or move a window.
    pub(crate) draws: bool,
    /// True if the last drawing request draws on a pixmap, which is not on the screen yet.
    pub(crate) hidden: bool,
    /// True if the requests draw on, show or move a window of this client.
    pub(crate) shows: bool,
    /// The requests that may cause events in other clients.
    pub(crate) causal_requests: Vec<CausalRequest>,
    /// The user-defined events that the requests start and end.
    pub(crate) tags: Tags,
    /// The last picture that the requests show with Present; `None` without a picture.
    pub(crate) shown: Option<Shown>,
    /// True if the client has requested an event when such pictures are on the screen.
    pub(crate) is_reported: bool,
    /// The open requests among the sent requests: those that other clients have to reply to.
    pub(crate) opened: Vec<OpenRequest>,
}
