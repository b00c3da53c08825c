//! The link from one episode's request to an event of another client.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

/// An episode of a trace: the client, and the number of the client's earlier episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct EpisodeId {
    pub(crate) client: ConnectionId,
    pub(crate) number: u64,
}

/// The position of an episode in a tree of episodes that caused each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreePosition {
    pub(crate) id: EpisodeId,
    /// The episode that the tree began with.
    pub(crate) root: EpisodeId,
    /// The episode that caused this one; the root is its own parent.
    pub(crate) parent: EpisodeId,
    /// The number of episodes above this one.
    pub(crate) depth: usize,
}

impl TreePosition {
    /// The position below the episode that `link` comes from.
    pub(crate) fn of(id: EpisodeId, link: Option<&CausalEdge>) -> TreePosition {
        TreePosition {
            id,
            root: link.map_or(id, |link| link.root),
            parent: link.map_or(id, |link| link.from),
            depth: link.map_or(0, |link| link.depth),
        }
    }
}

/// A request in one client's episode, and the event that the server therefore sent to another client. Times in
/// nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CausalEdge {
    /// The episode that sent the request.
    pub(crate) from: EpisodeId,
    pub(crate) root: EpisodeId,
    /// The number of episodes above the one that the event begins.
    pub(crate) depth: usize,
    /// The client whose request began the episode that sent the request; `None` if no other client's did.
    pub(crate) after: Option<ConnectionId>,
    pub(crate) request: Symbol,
    /// The time at which the client sent the request.
    pub(crate) sent: u64,
    /// The time at which the event was delivered.
    pub(crate) delivered: u64,
    /// The part of that time in which the server had no processor.
    pub(crate) unserved: u64,
    /// True if the event is a step of a loop of two clients.
    pub(crate) looped: bool,
}

impl CausalEdge {
    /// True if the request has no effect until another client acts: the server redirects the request to that client, or
    /// the request is addressed to it.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(
            self.request.as_str(),
            "MapWindow"
                | "MapSubwindows"
                | "ConfigureWindow"
                | "CirculateWindow"
                | "ConvertSelection"
                | "SendEvent"
        )
    }
}
