//! A value for each client of a recording.

use rustc_hash::FxHashMap;
use x11prof_trace::ConnectionId;

/// Maximum number of clients that are tracked at the same time. An X server accepts up to 2048 clients (`-maxclients`);
/// a trace with more open clients is not a recording of a server.
pub(crate) const MAX_CLIENTS: usize = 4096;

/// A map with one value for each client, up to [`MAX_CLIENTS`] clients.
#[derive(Debug, Clone)]
pub(crate) struct PerClient<T>(FxHashMap<ConnectionId, T>);

impl<T> Default for PerClient<T> {
    fn default() -> PerClient<T> {
        PerClient(FxHashMap::default())
    }
}

impl<T> PerClient<T> {
    pub(crate) fn get(&self, client: ConnectionId) -> Option<&T> {
        self.0.get(&client)
    }

    pub(crate) fn get_mut(&mut self, client: ConnectionId) -> Option<&mut T> {
        self.0.get_mut(&client)
    }

    /// Sets the value of a client. Does nothing for a new client beyond the limit.
    pub(crate) fn insert(&mut self, client: ConnectionId, value: T) {
        if self.has_room(client) {
            self.0.insert(client, value);
        }
    }

    /// The value of a client. A new client gets a default value; `None` beyond the limit of clients.
    pub(crate) fn entry(&mut self, client: ConnectionId) -> Option<&mut T>
    where
        T: Default,
    {
        self.has_room(client)
            .then(|| self.0.entry(client).or_default())
    }

    pub(crate) fn remove(&mut self, client: ConnectionId) -> Option<T> {
        self.0.remove(&client)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ConnectionId, &T)> {
        self.0.iter().map(|(client, value)| (*client, value))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    fn has_room(&self, client: ConnectionId) -> bool {
        self.0.len() < MAX_CLIENTS || self.0.contains_key(&client)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::ConnectionId;

    use super::{MAX_CLIENTS, PerClient};

    #[test]
    fn clients_beyond_the_limit_have_no_value() {
        let mut counts: PerClient<u32> = PerClient::default();
        for client in 0..=MAX_CLIENTS as u32 {
            if let Some(count) = counts.entry(ConnectionId(client)) {
                *count += 1;
            }
        }
        assert_eq!(counts.values().sum::<u32>(), MAX_CLIENTS as u32);
        assert_eq!(counts.remove(ConnectionId(0)), Some(1));
        counts.insert(ConnectionId(u32::MAX), 7);
        assert_eq!(counts.get(ConnectionId(u32::MAX)), Some(&7));
    }
}
