//! The open connections of a recording: so that its end is known, and can end them.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use x11prof_trace::ConnectionId;

use crate::socket::Socket;

/// The connections, and the counts of a recording.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    state: Mutex<State>,
    none: Condvar,
    /// Bytes relayed, both ways.
    pub(crate) bytes: AtomicU64,
    /// Told of each connection that ends.
    pub(crate) ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    accepted: u32,
    open: Vec<Open>,
    cut_off: bool,
}

#[derive(Debug)]
struct Open {
    connection: ConnectionId,
    pid: Option<u32>,
    /// What its threads may wait for.
    sockets: Vec<Arc<Socket>>,
}

impl Connections {
    /// A new connection, which is open until it is closed.
    pub(crate) fn open(&self) -> ConnectionId {
        let mut state = self.state();
        state.accepted = state.accepted.saturating_add(1);
        let connection = ConnectionId(state.accepted);
        state.open.push(Open {
            connection,
            pid: None,
            sockets: Vec::new(),
        });
        connection
    }

    /// Notes which process an open connection is of.
    pub(crate) fn note_process(&self, connection: ConnectionId, pid: Option<u32>) {
        if let Some(open) = self.state().of(connection) {
            open.pid = pid;
        }
    }

    /// A socket of an open connection, which is shut down where all are cut off.
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

    /// The end of a connection.
    pub(crate) fn close(&self, connection: ConnectionId) {
        let mut state = self.state();
        state.open.retain(|open| open.connection != connection);
        self.none.notify_all();
        drop(state);
        self.ended.notify_one();
    }

    /// Ends all connections; those that still come end at once.
    pub(crate) fn cut_off(&self) {
        let mut state = self.state();
        state.cut_off = true;
        let sockets = state.open.iter().flat_map(|open| &open.sockets);
        sockets.for_each(|socket| socket.shut_down());
    }

    /// Whether it was for us that connections ended.
    pub(crate) fn are_cut_off(&self) -> bool {
        self.state().cut_off
    }

    /// Waits until none is open, and takes out those that have not ended in time, with their
    /// processes.
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

    /// Whether no connection is open.
    pub(crate) fn none_open(&self) -> bool {
        self.state().open.is_empty()
    }

    /// Connections so far.
    pub(crate) fn accepted(&self) -> u32 {
        self.state().accepted
    }

    /// Counts bytes that were relayed.
    pub(crate) fn relayed(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&mut self, connection: ConnectionId) -> Option<&mut Open> {
        let open = &mut self.open;
        open.iter_mut().find(|open| open.connection == connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Wait;
    use std::os::unix::net::UnixStream;
    use std::thread;

    #[test]
    fn a_connection_that_is_cut_off_wakes_its_threads() {
        let connections = Connections::default();
        let (peer, ours) = UnixStream::pair().unwrap();
        let connection = connections.open();
        connections.note_process(connection, Some(7));
        let socket = connections.share(connection, Socket::new(ours).unwrap());
        thread::scope(|scope| {
            let reader = scope.spawn(|| socket.receive(&mut [0; 8], Wait::Yes).unwrap().0);
            connections.cut_off();
            assert_eq!(reader.join().unwrap(), 0);
        });
        // One that comes too late.
        let late = connections.open();
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
