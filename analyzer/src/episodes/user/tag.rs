//! Tags that accompany an event or a request through the episodes: the message starts or ends a user-defined event.

/// Maximum number of tags of one episode.
pub(crate) const MAX_TAGS: usize = 64;
/// Maximum number of resources kept for an episode.
pub(crate) const MAX_MADE: usize = 4096;

/// A message starts or ends an event of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The number of the definition.
    pub(crate) of: usize,
    pub(crate) ends: bool,
    /// The window that the message is about.
    pub(crate) window: Option<u32>,
    /// The time at which the message was seen, in nanoseconds.
    pub(crate) time: u64,
}

/// A resource that a client creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) id: u32,
    /// The number of the request that created the resource, because IDs are reused.
    pub(crate) sequence: u64,
    pub(crate) bytes: u64,
}

/// The user-defined events that an episode starts and ends, and the resources that it creates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tags {
    pub(crate) tags: Vec<Tag>,
    pub(crate) made: Vec<Made>,
}

impl Tags {
    /// Adds the tags of another part of the episode.
    pub(crate) fn add(&mut self, more: &Tags) {
        let room = MAX_TAGS.saturating_sub(self.tags.len());
        self.tags.extend(more.tags.iter().take(room));
        let room = MAX_MADE.saturating_sub(self.made.len());
        self.made.extend(more.made.iter().take(room));
    }
}
