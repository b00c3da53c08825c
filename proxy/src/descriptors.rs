//! Whether file descriptors are on their way through a socket.

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;

/// What a socket tells of the descriptors that wait in it to be read.
#[derive(Debug)]
pub(crate) enum Descriptors {
    /// It can carry none.
    Never,
    /// The kernel counts them here: `scm_fds` of proc_pid_fdinfo(5), for Unix sockets.
    Counted(File),
    /// The kernel does not tell.
    Unknown,
}

impl Descriptors {
    /// Those of `socket`, for as long as it is open.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> Descriptors {
        if let Ok(AddressFamily::INET | AddressFamily::INET6) = socket_domain(socket) {
            return Descriptors::Never;
        }
        let info = File::open(format!("/proc/self/fdinfo/{}", socket.as_raw_fd()));
        info.map_or(Descriptors::Unknown, Descriptors::Counted)
    }

    /// True where there certainly are none.
    pub(crate) fn none_waiting(&self) -> bool {
        match self {
            Descriptors::Never => true,
            Descriptors::Unknown => false,
            Descriptors::Counted(info) => {
                let mut text = [0; 512];
                let len = info.read_at(&mut text, 0).unwrap_or(0);
                let text = text.get(..len).unwrap_or_default();
                text.split(|&byte| byte == b'\n')
                    .filter_map(|line| line.strip_prefix(b"scm_fds:"))
                    .any(|count| count.trim_ascii() == b"0")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{IoSlice, Read};
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    use super::Descriptors;

    #[test]
    fn a_descriptor_on_its_way_is_seen_until_it_is_read() {
        let (a, mut b) = UnixStream::pair().unwrap();
        let waiting = Descriptors::of(b.as_fd());
        assert!(waiting.none_waiting());
        let fds = [a.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&a, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
        assert!(!waiting.none_waiting());
        b.read_exact(&mut [0]).unwrap();
        assert!(waiting.none_waiting());
    }
}
