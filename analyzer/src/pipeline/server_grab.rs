//! The client that has grabbed the server. Another client's GrabServer waits meanwhile, like any of its requests, and
//! succeeds when the first client ungrabs the server. The pipeline has the only instance.

use std::collections::VecDeque;

use x11prof_trace::ConnectionId;

/// Maximum number of clients that wait for the grab; further ones are ignored.
const WAITING: usize = 64;

/// The client that has grabbed the server, and the clients that wait for the grab.
#[derive(Debug, Default)]
pub(crate) struct ServerGrab {
    by: Option<ConnectionId>,
    waiting: VecDeque<ConnectionId>,
}

impl ServerGrab {
    /// The client that has grabbed the server; `None` without a grab.
    pub(crate) fn by(&self) -> Option<ConnectionId> {
        self.by
    }

    /// Processes a request of `client` with this major opcode.
    pub(crate) fn request(&mut self, client: ConnectionId, major: u8) {
        // GrabServer, UngrabServer (protocol, appendix B).
        match major {
            36 => self.grab(client),
            37 => self.release(client),
            _ => {}
        }
    }

    /// Notes that a client sends GrabServer.
    fn grab(&mut self, client: ConnectionId) {
        match self.by {
            None => self.by = Some(client),
            Some(by) if by == client => {}
            Some(_) => {
                if self.waiting.len() < WAITING && !self.waiting.contains(&client) {
                    self.waiting.push_back(client);
                }
            }
        }
    }

    /// Releases the grab of a client that sends UngrabServer or disconnects. A client that still waits for the grab no
    /// longer gets it.
    pub(crate) fn release(&mut self, client: ConnectionId) {
        if self.by == Some(client) {
            self.by = self.waiting.pop_front();
        } else {
            self.waiting.retain(|one| *one != client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionId, ServerGrab};

    #[test]
    fn waiting_client_gets_the_server_grab_next() {
        let mut grab = ServerGrab::default();
        let [one, two, three] = [1, 2, 3].map(ConnectionId);
        grab.grab(one);
        grab.grab(two);
        grab.grab(three);
        assert_eq!(grab.by(), Some(one));
        // The client had requested the grab, and no longer does.
        grab.release(two);
        assert_eq!(grab.by(), Some(one));
        grab.release(one);
        assert_eq!(grab.by(), Some(three));
        grab.release(one);
        assert_eq!(grab.by(), Some(three));
        grab.release(three);
        assert_eq!(grab.by(), None);
    }
}
