//! The link from one episode's request to an event of another client.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

/// Maximum nesting depth of episodes; deeper episodes count at this depth.
const DEEPEST: usize = 8;

/// The identity of an episode in a trace: its client, and the number of earlier episodes of that client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct EpisodeId {
    pub(crate) client: ConnectionId,
    pub(crate) number: u64,
}

/// The position of an episode in a tree of episodes that caused each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreePosition {
    pub(crate) id: EpisodeId,
    /// The first episode of the tree.
    pub(crate) root: EpisodeId,
    /// The episode that caused this one; the root is its own parent.
    pub(crate) parent: EpisodeId,
    /// The number of the episode's ancestors in the tree.
    pub(crate) depth: usize,
    /// The time at which the episode began, in nanoseconds.
    pub(crate) begun: u64,
}

impl TreePosition {
    /// The position of episode `id`, which began at `begun` (nanoseconds), as a child of the episode that `link` comes
    /// from; the root of a new tree without `link`.
    pub(crate) fn of(id: EpisodeId, link: Option<&CausalEdge>, begun: u64) -> TreePosition {
        TreePosition {
            id,
            root: link.map_or(id, |link| link.root),
            parent: link.map_or(id, |link| link.from),
            depth: link.map_or(0, |link| link.depth),
            begun,
        }
    }
}

/// A request in one client's episode, and the event that the server sent to another client because of it. Times are in
/// nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CausalEdge {
    /// The episode in which the request was sent.
    pub(crate) from: EpisodeId,
    pub(crate) root: EpisodeId,
    /// The number of ancestors that the episode that the event begins has in its tree.
    pub(crate) depth: usize,
    /// The parent of `from`: the episode whose request began it; `None` if no other client caused `from`.
    pub(crate) after: Option<EpisodeId>,
    /// The time at which the episode `from` began, in nanoseconds.
    pub(crate) begun: u64,
    pub(crate) request: Symbol,
    /// The time at which the client sent the request, in nanoseconds.
    pub(crate) sent: u64,
    /// The time at which the event that the request caused was delivered, in nanoseconds.
    pub(crate) delivered: u64,
    /// The client whose grab of the server held up the request after `sent`, and for how many nanoseconds; `None`
    /// without a grab.
    pub(crate) held: Option<(ConnectionId, u64)>,
    /// The nanoseconds after `sent`, without those of the grab, in which the server had no processor.
    pub(crate) unserved: u64,
    /// True if the event is a step of a loop between two clients.
    pub(crate) looped: bool,
}

impl CausalEdge {
    /// Returns the edge with its depth limited to [`DEEPEST`]. Beyond it, the event counts as an effect of the cause of
    /// the episode `from`.
    pub(crate) fn bounded(self) -> CausalEdge {
        match self.after {
            Some(after) if self.depth > DEEPEST => CausalEdge {
                from: after,
                depth: DEEPEST,
                ..self
            },
            _ => self,
        }
    }

    /// Returns true if the request has no effect until the receiving client acts: the server redirects the request to
    /// this client, or the request is an event that is sent to it.
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
