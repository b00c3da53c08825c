//! Tags: marks on a message that starts or ends a user-defined event. An episode has the tags of its messages.

/// Maximum number of tags of one episode; further ones are ignored.
pub(crate) const MAX_TAGS: usize = 64;
/// Maximum number of created resources kept for an episode; further ones are ignored.
pub(crate) const MAX_MADE: usize = 4096;

/// A mark on a message that starts or ends a user-defined event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The index of the event's definition in the file.
    pub(crate) of: usize,
    pub(crate) ends: bool,
    /// The window that the message is about; `None` if there is none.
    pub(crate) window: Option<u32>,
    /// The time at which the message was seen, in nanoseconds.
    pub(crate) time: u64,
}

/// A resource on the server that a client creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) id: u32,
    /// The sequence number of the request that created the resource; ids alone are reused.
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
    /// Adds the tags and the resources of another part of the episode, up to the limits.
    pub(crate) fn add(&mut self, more: &Tags) {
        let room = MAX_TAGS.saturating_sub(self.tags.len());
        self.tags.extend(more.tags.iter().take(room));
        let room = MAX_MADE.saturating_sub(self.made.len());
        self.made.extend(more.made.iter().take(room));
    }
}
