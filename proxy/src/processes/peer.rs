//! Finds the process at the other end of a Unix socket.

use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};

/// The process at the other end of a Unix socket, as recorded by the kernel when the socket connected or listened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The process id; `None` if the process is in another pid namespace.
    pub(crate) pid: Option<u32>,
    pub(crate) uid: u32,
}

impl Peer {
    /// The process at the other end of a Unix socket; `None` for other sockets.
    pub(crate) fn of(socket: impl AsFd) -> Option<Peer> {
        let mut credentials = libc::ucred {
            pid: 0,
            uid: 0,
            gid: 0,
        };
        let mut len = libc::socklen_t::try_from(size_of::<libc::ucred>()).ok()?;
        // rustix also has this call, but treats a pid of 0, from another namespace, as no pid. SAFETY: the kernel
        // writes at most `len` bytes of plain integers into `credentials`.
        #[expect(unsafe_code, reason = "a pid of 0 must be distinguished from others")]
        let got = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut credentials).cast(),
                &raw mut len,
            )
        };
        // A socket without credentials, such as a TCP socket, has the user id of "nobody".
        (got == 0 && credentials.uid != u32::MAX).then_some(Peer {
            pid: u32::try_from(credentials.pid).ok().filter(|&pid| pid != 0),
            uid: credentials.uid,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Peer;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn peer_is_known_for_unix_but_not_tcp_sockets() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = Peer::of(&one).unwrap();
        assert_eq!(peer.pid, Some(std::process::id()));
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(Peer::of(&client), None);
    }
}
