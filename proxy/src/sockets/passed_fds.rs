//! Received file descriptors. A separate thread closes them, because closing a file may take long on some file
//! systems (FUSE, NFS), and the relay's thread serves all clients.

use std::os::fd::OwnedFd;
use std::sync::LazyLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Maximum number of lists that wait to be closed. Beyond it, the relay closes them itself.
const QUEUE: usize = 256;

static CLOSER: LazyLock<SyncSender<Vec<OwnedFd>>> = LazyLock::new(|| {
    let (sender, waiting) = sync_channel(QUEUE);
    // Without the thread, the queue is closed, and the relay closes the descriptors itself.
    let _ = thread::Builder::new()
        .name("x11prof-close".to_owned())
        .spawn(move || waiting.iter().for_each(drop::<Vec<OwnedFd>>));
    sender
});

/// The descriptors that were received with one read.
#[derive(Debug, Default)]
pub(crate) struct PassedFds(pub(crate) Vec<OwnedFd>);

impl Drop for PassedFds {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            // A full queue returns the descriptors, and they are closed here.
            drop(CLOSER.try_send(std::mem::take(&mut self.0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use rustix::net::sockopt::set_socket_linger;

    use super::PassedFds;

    #[test]
    fn slow_close_of_a_descriptor_does_not_keep_its_owner() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        // Closing the socket waits until the peer has read all bytes.
        let longest = Duration::from_secs(60);
        set_socket_linger(&near, Some(longest)).unwrap();
        near.set_nonblocking(true).unwrap();
        loop {
            match near.write(&[0; 1 << 16]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        near.set_nonblocking(false).unwrap();
        let start = Instant::now();
        drop(PassedFds(vec![near.into()]));
        assert!(start.elapsed() < longest / 2);
        far.read_to_end(&mut Vec::new()).unwrap();
    }
}
