//! Why the client does not work during an instant of an episode.

/// Why a client does not run in the middle of an episode (thesis, section 4.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The thread is ready, but runs on no processor because another thread occupies it.
    Processor,
    /// The thread sleeps.
    Sleeping,
    /// The thread waits for another thread of the client: a lock, a condition.
    Synchronisation,
    /// The thread waits for a file: a disk, or a page of the file.
    File,
    /// The thread waits in poll: for its next frame, a timer, another program.
    Poll,
    /// The thread waits for a process, for a pipe, or for an object that is not in the trace.
    Elsewhere,
}

/// Why an instant of an episode counts as server time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerCause {
    /// The client waits for a reply, or until the server accepts the client's data.
    Reply,
    /// Another client has grabbed the server, so the server does not read the client's requests.
    Grabbed,
    /// The server draws the client's last requests.
    Drawing,
    /// The server is ready, but no processor is free.
    Processor,
}
