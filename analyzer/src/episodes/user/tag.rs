//! Marks on the way of an event or a request through the episodes: it starts or ends something that the
//! user defined.

/// Tags of one episode, at most.
pub(crate) const MAX_TAGS: usize = 64;
/// Resources kept for an episode, at most.
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

/// A resource that a client makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) id: u32,
    /// The number of the request that made it: ids are used again.
    pub(crate) sequence: u64,
    pub(crate) bytes: u64,
}

/// The user's own events that an episode starts and ends, and resources that it makes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tags {
    pub(crate) tags: Vec<Tag>,
    pub(crate) made: Vec<Made>,
}

impl Tags {
    /// Adds the data of another part of it.
    pub(crate) fn add(&mut self, more: &Tags) {
        let room = MAX_TAGS.saturating_sub(self.tags.len());
        self.tags.extend(more.tags.iter().take(room));
        let room = MAX_MADE.saturating_sub(self.made.len());
        self.made.extend(more.made.iter().take(room));
    }
}
