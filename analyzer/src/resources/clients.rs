//! The clients whose resources are tracked, with separate entries up to a limit.

use std::collections::BTreeMap;

use x11prof_protocol::Symbol;
use x11prof_session::ResourceKind;
use x11prof_trace::{ConnectionId, Timestamp};

use crate::resources::counts::ResourceCounts;
use crate::resources::kind_use::{KindUse, LISTED_LIMIT};

/// Maximum number of disconnected clients with separate entries. If there are twice as many, the half with the fewest
/// resources is merged into one entry.
const GONE_LIMIT: usize = 100;
/// Maximum number of clients with separate entries; later clients are not tracked.
const CLIENTS_LIMIT: usize = 10_000;

/// A group of equal resources that a client still held when it disconnected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remainder {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
}

impl Remainder {
    /// Adds the resources of another group to this group.
    pub(crate) fn join(&mut self, other: &Remainder) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// The key of a group of remaining resources: kind, creating request, width, height, depth, and the number of the
/// creating request's stack.
pub(crate) type RemainderKey = (ResourceKind, Symbol, u16, u16, u8, Option<u32>);

/// The resources that a client uses.
#[derive(Debug, Default)]
pub(crate) struct ClientUse {
    pub(crate) id_base: Option<u32>,
    pub(crate) kinds: BTreeMap<ResourceKind, KindUse>,
    pub(crate) closed: Option<Timestamp>,
    pub(crate) remained: BTreeMap<RemainderKey, Remainder>,
    pub(crate) opened: Timestamp,
}

impl ClientUse {
    fn new(opened: Timestamp) -> ClientUse {
        ClientUse {
            opened,
            ..ClientUse::default()
        }
    }

    /// The most bytes, and the most resources, that the client held, summed over the kinds.
    pub(crate) fn most(&self) -> (u64, u64) {
        let of = |part: fn(&KindUse) -> u64| {
            let parts = self.kinds.values().map(part);
            parts.fold(0, u64::saturating_add)
        };
        (
            of(|kind| kind.counts.most_bytes),
            of(|kind| kind.counts.most),
        )
    }

    fn start_afresh(&mut self, now: Timestamp) {
        self.opened = now;
        self.kinds.retain(|_, kind| kind.start_afresh(now));
    }
}

/// Removes the groups of a kind that are too small to be listed.
fn forget_small(remained: &mut BTreeMap<RemainderKey, Remainder>, kind: ResourceKind) {
    let of_kind = remained.iter().filter(|((of, ..), _)| *of == kind);
    let mut sizes: Vec<_> = of_kind
        .map(|(key, remainder)| ((remainder.bytes, remainder.count), *key))
        .collect();
    sizes.sort_unstable_by_key(|(size, _)| std::cmp::Reverse(*size));
    for (_, key) in sizes.iter().skip(LISTED_LIMIT) {
        remained.remove(key);
    }
}

/// The resources of all clients of a recording.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    apart: BTreeMap<ConnectionId, ClientUse>,
    gone: usize,
    /// The number of clients without a separate entry, and the sums of their resources by kind.
    pub(crate) others: (u64, BTreeMap<ResourceKind, ResourceCounts>),
}

impl Clients {
    /// The entry of a client. A new client gets an entry that begins at `now`; `None` if there are too many clients.
    pub(crate) fn entry(&mut self, id: ConnectionId, now: Timestamp) -> Option<&mut ClientUse> {
        if self.apart.len() >= CLIENTS_LIMIT && !self.apart.contains_key(&id) {
            return None;
        }
        let client = self.apart.entry(id);
        Some(client.or_insert_with(|| ClientUse::new(now)))
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut ClientUse> {
        self.apart.get_mut(&id)
    }

    /// The clients with separate entries, in the order of their connections.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ConnectionId, &ClientUse)> {
        self.apart.iter().map(|(id, client)| (*id, client))
    }

    /// Notes that a client disconnected at `now`, and still held the resources in `remained`.
    pub(crate) fn closed(
        &mut self,
        id: ConnectionId,
        now: Timestamp,
        remained: BTreeMap<RemainderKey, Remainder>,
    ) {
        let Some(client) = self.apart.get_mut(&id) else {
            return;
        };
        self.gone += usize::from(client.closed.is_none());
        client.closed = Some(now);
        client.remained = remained;
        for (kind, of) in &mut client.kinds {
            of.history.until(now);
            // Details that are not listed need not be kept.
            of.forget_small_sizes();
            forget_small(&mut client.remained, *kind);
        }
        if self.gone >= 2 * GONE_LIMIT {
            self.fold();
        }
    }

    /// Merges the half of the disconnected clients with the fewest resources.
    fn fold(&mut self) {
        let gone = self.apart.iter().filter(|(_, one)| one.closed.is_some());
        let mut gone: Vec<_> = gone.map(|(id, one)| (one.most(), *id)).collect();
        gone.sort_unstable();
        gone.truncate(gone.len().saturating_sub(GONE_LIMIT));
        for (_, id) in gone {
            let Some(client) = self.apart.remove(&id) else {
                continue;
            };
            self.gone -= 1;
            let (count, kinds) = &mut self.others;
            *count += 1;
            for (kind, of) in client.kinds {
                kinds.entry(kind).or_default().add(&of.counts);
            }
        }
    }

    /// Drops the disconnected clients, and restarts the counts of the other clients from the resources held at `now`.
    pub(crate) fn start_afresh(&mut self, now: Timestamp) {
        self.apart.retain(|_, client| client.closed.is_none());
        self.gone = 0;
        self.others = Default::default();
        for client in self.apart.values_mut() {
            client.start_afresh(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use x11prof_session::ResourceKind;
    use x11prof_trace::{ConnectionId, Timestamp};

    use super::{Clients, GONE_LIMIT, KindUse};

    #[test]
    fn closed_clients_are_merged_beyond_a_limit() {
        let now = Timestamp::from_nanos(1);
        let mut clients = Clients::default();
        // One client stays connected. Client 10 held more than the other disconnected clients.
        clients.entry(ConnectionId(0), now).unwrap();
        let many = 20 * GONE_LIMIT as u32;
        for id in 1..=many {
            let client = clients.entry(ConnectionId(id), now).unwrap();
            let mut gcs = KindUse::new(now);
            gcs.counts.created = 2;
            gcs.counts.most = if id == 10 { 9 } else { 1 };
            client.kinds.insert(ResourceKind::Gc, gcs);
            clients.closed(ConnectionId(id), now, BTreeMap::new());
        }
        let apart: Vec<u32> = clients.iter().map(|(id, _)| id.0).collect();
        assert!(apart.len() <= 2 * GONE_LIMIT);
        assert_eq!(apart[..2], [0, 10]);
        let (count, kinds) = &clients.others;
        assert_eq!(*count as usize + apart.len(), 1 + many as usize);
        let gcs = kinds[&ResourceKind::Gc];
        assert_eq!((gcs.created, gcs.most), (2 * count, 1));

        clients.start_afresh(now);
        assert_eq!((clients.iter().count(), clients.others.0), (1, 0));
    }
}
