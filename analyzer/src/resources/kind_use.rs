//! A client's resources of one kind: the number held, its maximum, created, freed, over time and by size.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use x11prof_session::Resource;
use x11prof_trace::Timestamp;

use crate::resources::counts::ResourceCounts;
use crate::resources::history::History;

/// Maximum number of listed groups of a kind; the largest groups are listed.
pub(crate) const LISTED_LIMIT: usize = 100;
/// Maximum number of sizes kept for a kind and client; beyond it, the smallest sizes are dropped.
const SIZES_LIMIT: usize = 1024;

/// The width and height of a window or pixmap in pixels, and its depth in bits.
pub(crate) type Size = (u16, u16, u8);

/// A resource that a client holds.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) resource: Resource,
    pub(crate) created: Timestamp,
    /// The number of the stack on which the resource was created; `None` if the trace does not have it.
    pub(crate) stack: Option<u32>,
}

/// The resources of one kind that a client uses.
#[derive(Debug)]
pub(crate) struct KindUse {
    pub(crate) counts: ResourceCounts,
    pub(crate) most_at: Timestamp,
    pub(crate) history: History,
    /// The number of created and of held resources, by size.
    pub(crate) sizes: FxHashMap<Size, (u64, u64)>,
}

impl KindUse {
    pub(crate) fn new(opened: Timestamp) -> KindUse {
        KindUse {
            counts: ResourceCounts::default(),
            most_at: opened,
            history: History::of(opened, 0),
            sizes: FxHashMap::default(),
        }
    }

    pub(crate) fn created(&mut self, now: Timestamp, held: &Held) {
        let counts = &mut self.counts;
        counts.created += 1;
        counts.held += 1;
        counts.replace_bytes(0, held.resource.bytes);
        if counts.held > counts.most {
            counts.most = counts.held;
            self.most_at = now;
        }
        self.history.set(now, counts.held);
        let size = size(&held.resource);
        if self.sizes.len() < SIZES_LIMIT || self.sizes.contains_key(&size) {
            let (created, held) = self.sizes.entry(size).or_default();
            *created += 1;
            *held += 1;
        }
    }

    pub(crate) fn freed(&mut self, now: Timestamp, held: &Held) {
        self.counts.freed += 1;
        // The resource was created and freed within one read from the socket.
        self.counts.freed_at_once += u64::from(held.created == now);
        self.gone(now, held);
    }

    pub(crate) fn undone(&mut self, now: Timestamp, held: &Held) {
        self.counts.created = self.counts.created.saturating_sub(1);
        if let Some((created, _)) = self.sizes.get_mut(&size(&held.resource)) {
            *created = created.saturating_sub(1);
        }
        self.gone(now, held);
    }

    /// Restarts the counts from the resources held at `now`. Returns false if the client holds none.
    pub(crate) fn start_afresh(&mut self, now: Timestamp) -> bool {
        let (held, held_bytes) = (self.counts.held, self.counts.held_bytes);
        self.counts = ResourceCounts {
            held,
            held_bytes,
            most: held,
            most_bytes: held_bytes,
            ..ResourceCounts::default()
        };
        self.most_at = now;
        self.history = History::of(now, held);
        self.sizes.retain(|_, (created, held)| {
            *created = 0;
            *held > 0
        });
        held > 0
    }

    /// Drops the smallest sizes, which would not be listed.
    pub(crate) fn forget_small_sizes(&mut self) {
        if self.sizes.len() > LISTED_LIMIT {
            let of = |(size, (created, _)): (&Size, &(u64, u64))| {
                (Reverse(pixels_created(*size, *created)), *size)
            };
            let mut sizes: Vec<_> = self.sizes.iter().map(of).collect();
            sizes.sort_unstable();
            for (_, size) in sizes.into_iter().skip(LISTED_LIMIT) {
                self.sizes.remove(&size);
            }
        }
        self.sizes.shrink_to_fit();
    }

    fn gone(&mut self, now: Timestamp, held: &Held) {
        let counts = &mut self.counts;
        counts.held = counts.held.saturating_sub(1);
        counts.replace_bytes(held.resource.bytes, 0);
        self.history.set(now, counts.held);
        if let Some((_, held)) = self.sizes.get_mut(&size(&held.resource)) {
            *held = held.saturating_sub(1);
        }
    }
}

/// The number of pixels in all created resources of a size, by which sizes are ordered.
pub(crate) fn pixels_created((width, height, _): Size, created: u64) -> u64 {
    created.saturating_mul(u64::from(width) * u64::from(height))
}

/// The size of a resource; zeros if it has no size.
pub(crate) fn size(resource: &Resource) -> Size {
    let (width, height) = resource.size;
    (width, height, resource.depth.unwrap_or(0))
}
