//! Why an instant of an episode is not the client's work.

/// Why a client does not run in the middle of an episode (thesis, section 4.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// It could run, and another thread does.
    Processor,
    /// It sleeps of its own will.
    Sleeping,
    /// It waits for another of its threads: a lock, a condition.
    Synchronisation,
    /// It waits for a file: a disk, or a page of it.
    File,
    /// It waits in poll: for its next frame, a timer, another program.
    Poll,
    /// It waits for a process, a pipe, or for what the trace does not tell.
    Elsewhere,
}

/// Why an instant is the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerCause {
    /// The client waits for a reply, or for what it sent to be taken.
    Reply,
    /// The same, while another client has grabbed the server.
    Grabbed,
    /// It draws what was asked last.
    Drawing,
    /// It could run, and no processor was free for it.
    Processor,
}
