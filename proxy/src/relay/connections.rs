//! The open connections of a recording. The recording ends after all connections have ended, or shuts them down.

use std::collections::BTreeSet;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use x11prof_trace::ConnectionId;

use crate::sockets::socket::Socket;

/// The open connections and the counters of a recording.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    state: Mutex<State>,
    none: Condvar,
    /// The number of bytes that were relayed in both directions.
    pub(crate) bytes: AtomicU64,
    /// A condition that is notified when a connection ends.
    pub(crate) ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    accepted: u32,
    open: Vec<OpenConnection>,
    cut_off: bool,
}

#[derive(Debug)]
struct OpenConnection {
    connection: ConnectionId,
    pid: Option<u32>,
    /// True for a client on a Unix socket.
    is_local: bool,
    /// The sockets on which the connection's threads may wait.
    sockets: Vec<Arc<Socket>>,
    /// The time since which the setup is awaited; `None` once it has arrived.
    awaited: Option<Instant>,
}

/// The maximum number of connections that may wait for their setups. Any process that can reach the socket can open a
/// connection without a cookie, and each connection needs a descriptor and a thread.
const MAX_AWAITED_SETUPS: usize = 256;
/// A setup that takes longer than this does not come from a busy client.
const SLOW: Duration = Duration::from_secs(1);

impl Connections {
    /// Opens a connection, and returns its number. The connection stays open until `close`.
    pub(crate) fn open(&self, is_local: bool) -> ConnectionId {
        let mut state = self.state();
        state.accepted = state.accepted.saturating_add(1);
        let connection = ConnectionId(state.accepted);
        state.open.push(OpenConnection {
            connection,
            pid: None,
            is_local,
            sockets: Vec::new(),
            awaited: Some(Instant::now()),
        });
        connection
    }

    /// True if another connection may wait for its setup; `is_local` is true for a Unix socket. If too many connections
    /// wait, those that have waited long are ended.
    pub(crate) fn has_room(&self, is_local: bool) -> bool {
        // Clients from other hosts connect by TCP, and must neither use up the slots of this machine's clients nor end them.
        let most = if is_local {
            MAX_AWAITED_SETUPS
        } else {
            MAX_AWAITED_SETUPS / 2
        };
        let mut state = self.state();
        let is_counted =
            |open: &OpenConnection| open.awaited.is_some() && (is_local || !open.is_local);
        let waiting = state.open.iter().filter(|open| is_counted(open)).count();
        let mut excess = (waiting + 1).saturating_sub(most);
        for open in state.open.iter_mut().filter(|open| is_counted(open)) {
            if excess > 0 && open.awaited.is_some_and(|since| since.elapsed() > SLOW) {
                open.awaited = None;
                open.sockets.iter().for_each(|socket| socket.shut_down());
                excess -= 1;
            }
        }
        excess == 0
    }

    /// Call this when a connection no longer waits for its setup, because the setup has arrived or will not arrive.
    pub(crate) fn introduced(&self, connection: ConnectionId) {
        if let Some(open) = self.state().of(connection) {
            open.awaited = None;
        }
    }

    /// Stores the process id of an open connection.
    pub(crate) fn note_process(&self, connection: ConnectionId, pid: Option<u32>) {
        if let Some(open) = self.state().of(connection) {
            open.pid = pid;
        }
    }

    /// The process of an open connection.
    pub(crate) fn process_of(&self, connection: ConnectionId) -> Option<u32> {
        self.state().of(connection)?.pid
    }

    /// The open connections with known process ids, and their sockets to the clients.
    pub(crate) fn with_processes(&self) -> Vec<(ConnectionId, u32, Arc<Socket>)> {
        let state = self.state();
        let open = state.open.iter();
        let known = open.filter_map(|open| {
            let client = open.sockets.first()?;
            Some((open.connection, open.pid?, Arc::clone(client)))
        });
        known.collect()
    }

    /// Shares a socket of an open connection, so that `cut_off` can shut it down.
    pub(crate) fn share(&self, connection: ConnectionId, socket: Socket) -> Arc<Socket> {
        let socket = Arc::new(socket);
        let mut state = self.state();
        if state.cut_off {
            socket.shut_down();
        }
        if let Some(open) = state.of(connection) {
            open.sockets.push(Arc::clone(&socket));
        }
        socket
    }

    /// Closes the connection with this number.
    pub(crate) fn close(&self, connection: ConnectionId) {
        self.introduced(connection);
        let mut state = self.state();
        state.open.retain(|open| open.connection != connection);
        self.none.notify_all();
        drop(state);
        self.ended.notify_one();
    }

    /// Shuts down all connections. Later connections end at once.
    pub(crate) fn cut_off(&self) {
        let mut state = self.state();
        state.cut_off = true;
        let sockets = state.open.iter().flat_map(|open| &open.sockets);
        sockets.for_each(|socket| socket.shut_down());
    }

    /// True if the recorder has shut down the connections.
    pub(crate) fn are_cut_off(&self) -> bool {
        self.state().cut_off
    }

    /// Waits until no connection is open, for at most `patience`. Removes the connections that have not ended in time,
    /// and returns them with their process ids.
    pub(crate) fn await_none(&self, patience: Duration) -> Vec<(ConnectionId, Option<u32>)> {
        let still = |state: &mut State| !state.open.is_empty();
        let mut state = self
            .none
            .wait_timeout_while(self.state(), patience, still)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        let left = mem::take(&mut state.open).into_iter();
        left.map(|open| (open.connection, open.pid)).collect()
    }

    /// The process ids of the open connections, without unknown ones.
    pub(crate) fn open_processes(&self) -> BTreeSet<u32> {
        let state = self.state();
        state.open.iter().filter_map(|open| open.pid).collect()
    }

    /// True if the client of an open connection has ended, so that only its last bytes are still relayed.
    pub(crate) fn has_last_bytes(&self) -> bool {
        let state = self.state();
        let mut clients = state.open.iter().filter_map(|open| open.sockets.first());
        clients.any(|client| client.is_hung_up())
    }

    /// True if no connection is open.
    pub(crate) fn none_open(&self) -> bool {
        self.state().open.is_empty()
    }

    /// The number of connections that were opened up to now.
    pub(crate) fn accepted(&self) -> u32 {
        self.state().accepted
    }

    /// Adds to the number of relayed bytes.
    pub(crate) fn relayed(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one step, so the state is consistent even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&mut self, connection: ConnectionId) -> Option<&mut OpenConnection> {
        let open = &mut self.open;
        open.iter_mut().find(|open| open.connection == connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockets::socket::Wait;
    use std::os::unix::net::UnixStream;
    use std::thread;

    #[test]
    fn pending_setups_are_limited() {
        let connections = Connections::default();
        for is_local in [false, true] {
            for _ in 0..MAX_AWAITED_SETUPS / 2 {
                assert!(connections.has_room(is_local));
                connections.open(is_local);
            }
        }
        assert!(!connections.has_room(true) && !connections.has_room(false));
        let first = connections.state().open[0].connection;
        connections.introduced(first);
        assert!(connections.has_room(true) && connections.has_room(false));
        connections.open(false);
        // A connection without a setup makes room for another.
        let (peer, ours) = UnixStream::pair().unwrap();
        let silent = connections.state().open[MAX_AWAITED_SETUPS - 1].connection;
        let socket = connections.share(silent, Socket::new(ours).unwrap());
        connections.state().of(silent).unwrap().awaited = Instant::now().checked_sub(2 * SLOW);
        assert!(!connections.has_room(false));
        assert!(connections.has_room(true));
        assert_eq!(socket.receive(&mut [0; 8], Wait::Yes).unwrap().0, 0);
        connections.close(silent);
        assert!(connections.has_room(true));
        connections.open(true);
        assert!(!connections.has_room(true));
        drop(peer);
    }

    #[test]
    fn disconnecting_wakes_blocked_threads() {
        let connections = Connections::default();
        let (peer, ours) = UnixStream::pair().unwrap();
        let connection = connections.open(true);
        connections.note_process(connection, Some(7));
        let socket = connections.share(connection, Socket::new(ours).unwrap());
        thread::scope(|scope| {
            let reader = scope.spawn(|| socket.receive(&mut [0; 8], Wait::Yes).unwrap().0);
            connections.cut_off();
            assert_eq!(reader.join().unwrap(), 0);
        });
        // A connection that is accepted after the end.
        let late = connections.open(true);
        let socket = connections.share(late, Socket::new(peer).unwrap());
        assert_eq!(socket.receive(&mut [0; 8], Wait::Yes).unwrap().0, 0);
        connections.close(late);
        assert!(!connections.none_open());
        let left = connections.await_none(Duration::ZERO);
        assert_eq!(left, [(connection, Some(7))]);
        assert!(connections.none_open());
        assert_eq!(connections.accepted(), 2);
    }
}
