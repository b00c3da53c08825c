//! The number and size of resources of one kind, of one client or of many.

use serde::{Deserialize, Serialize};

/// The number and size of resources of one kind, at the end of the connection or of the trace, and before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceCounts {
    /// The number of resources held at the end.
    pub held: u64,
    /// The number of bytes of the held resources: pixels of pixmaps, images of glyphs, shared memory of known size, and
    /// the stored pixels of windows.
    pub held_bytes: u64,
    /// The largest number of resources that one client held at the same time.
    #[serde(rename = "peak")]
    pub most: u64,
    /// The largest number of bytes that one client held at the same time.
    #[serde(rename = "peak_bytes")]
    pub most_bytes: u64,
    /// The number of resources created.
    pub created: u64,
    /// The number of resources freed before the connection ended.
    pub freed: u64,
    /// The number of resources that the client freed in the same write in which it created them. The bytes that the
    /// recorder read at once count as one write.
    pub freed_at_once: u64,
}

impl ResourceCounts {
    /// Adds the resources of another client.
    pub(crate) fn add(&mut self, other: &ResourceCounts) {
        self.held += other.held;
        self.held_bytes = self.held_bytes.saturating_add(other.held_bytes);
        self.most = self.most.max(other.most);
        self.most_bytes = self.most_bytes.max(other.most_bytes);
        self.created += other.created;
        self.freed += other.freed;
        self.freed_at_once += other.freed_at_once;
    }

    /// Replaces a held resource of `before` bytes by one of `after` bytes.
    pub(crate) fn replace_bytes(&mut self, before: u64, after: u64) {
        let kept = self.held_bytes.saturating_sub(before);
        self.held_bytes = kept.saturating_add(after);
        self.most_bytes = self.most_bytes.max(self.held_bytes);
    }
}
