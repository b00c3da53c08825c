//! Resource ids as keys: the creator of a resource, and tables of resources with a maximum size.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Request, SequenceNumber};

/// The number of a client's connection in the trace, which identifies the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// The resource id range of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRange {
    /// The first id of the range.
    pub first: u32,
    /// The bits in which the ids of the range differ.
    pub mask: u32,
    /// The client that the range is assigned to.
    pub client: ClientId,
    /// True if another client used the ids of the range earlier.
    pub reused: bool,
}

impl IdRange {
    /// True if `id` lies in the range.
    pub fn contains(&self, id: u32) -> bool {
        id & !self.mask == self.first
    }
}

/// The request of a client that created a resource or last changed it: the client and the sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct By {
    pub(crate) client: ClientId,
    pub(crate) sequence: SequenceNumber,
}

impl By {
    pub(crate) fn request(client: ClientId, request: &Request<'_>) -> By {
        By {
            client,
            sequence: request.sequence,
        }
    }

    /// True if the same client sent `other` after this request, so that `other` has overridden it.
    pub(crate) fn is_before(self, other: Option<By>) -> bool {
        other.is_some_and(|other| other.client == self.client && self.sequence < other.sequence)
    }
}

/// A condition on the request that created a resource.
pub(crate) type Made<'a> = &'a dyn Fn(By) -> bool;

/// The maximum number of resources of one kind, for which a hash table needs 2^18 entries. A display server has far
/// fewer. At this limit, the session ignores new resources.
const TABLE_LIMIT: usize = 7 << 15;

/// Resources of one kind by their ids, up to a maximum number.
#[derive(Debug)]
pub(crate) struct IdMap<V>(FxHashMap<u32, V>);

impl<V> Default for IdMap<V> {
    fn default() -> IdMap<V> {
        IdMap(FxHashMap::default())
    }
}

impl<V> IdMap<V> {
    /// Stores `value` under `id`, and drops an old value. Returns false if the table is full.
    pub(crate) fn insert(&mut self, id: u32, value: V) -> bool {
        let fits = self.0.len() < TABLE_LIMIT || self.0.contains_key(&id);
        if fits {
            self.0.insert(id, value);
        }
        fits
    }

    pub(crate) fn get(&self, id: u32) -> Option<&V> {
        self.0.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut V> {
        self.0.get_mut(&id)
    }

    /// The value that is stored for `id`, which is created if absent. Use the function only for a small number of ids,
    /// such as the ids of clients.
    pub(crate) fn entry(&mut self, id: u32) -> &mut V
    where
        V: Default,
    {
        self.0.entry(id).or_default()
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<V> {
        self.0.remove(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &V)> {
        self.0.iter().map(|(id, value)| (*id, value))
    }
}

#[cfg(test)]
mod tests {
    use super::IdMap;

    #[test]
    fn map_keeps_one_value_per_id() {
        let mut map = IdMap::default();
        map.insert(0x0020_0001, 'a');
        map.insert(0x0020_0001, 'b');
        map.insert(0x0040_0001, 'c');
        assert_eq!(map.get(0x0020_0001), Some(&'b'));
        assert_eq!(map.remove(0x0020_0001), Some('b'));
        assert_eq!(map.iter().collect::<Vec<_>>(), [(0x0040_0001, &'c')]);
        assert_eq!(map.remove(0x0040_0001), Some('c'));
        assert_eq!(map.remove(0x0040_0001), None);
    }
}
