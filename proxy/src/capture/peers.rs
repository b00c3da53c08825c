//! The processes at the other ends of the clients' sockets and pipes.

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::fstat;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use x11prof_stacks::read_proc;
use x11prof_trace::WaitPeer;

/// The maximum number of sockets and pipes in the table. A full table is emptied.
const LINKS: usize = 256;
/// Searches may take at most 1/`SHARE` of the recording's time. Beyond this limit, [`Peers::of`] returns `None` for links
/// that are not in the table.
const SHARE: u32 = 50;

/// The processes found so far, by the link of a descriptor (`socket:[INODE]`, `pipe:[INODE]`). `None` if no process was found.
#[derive(Debug)]
pub(crate) struct Peers {
    known: HashMap<String, Option<u32>>,
    began: Instant,
    spent: Duration,
}

impl Default for Peers {
    fn default() -> Peers {
        Peers {
            known: HashMap::new(),
            began: Instant::now(),
            spent: Duration::ZERO,
        }
    }
}

impl Peers {
    /// The process other than `pid` at the other end of a descriptor with this link. `None` if the other
    /// end is x11prof, or if the process may not be inspected.
    pub(crate) fn of(&mut self, pid: u32, link: &str) -> Option<WaitPeer> {
        let peer = match self.known.get(link) {
            Some(known) => (*known)?,
            None if self.spent * SHARE > self.began.elapsed() => return None,
            None => {
                let began = Instant::now();
                let found = other_end(link).and_then(|end| owner(pid, &end));
                self.spent += began.elapsed();
                if self.known.len() >= LINKS {
                    self.known.clear();
                }
                self.known.insert(link.to_owned(), found);
                found?
            }
        };
        let stat = read_proc(format!("/proc/{peer}/stat")).ok()?;
        // PID (NAME) STATE: the name may contain parentheses (proc_pid_stat(5)).
        let (head, rest) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        Some(WaitPeer {
            pid: peer,
            name: name.to_owned(),
            stopped: matches!(rest.trim_start().chars().next(), Some('T' | 't')),
        })
    }
}

/// The process at the other end of a connection to x11prof.
pub(crate) fn connected_process(socket: impl AsFd) -> Option<u32> {
    let inode = u32::try_from(fstat(socket).ok()?.st_ino).ok()?;
    let link = format!("socket:[{}]", socket_peer(inode)?);
    owner(0, &link)
}

/// The link of the other end. Both ends of a pipe have the same link.
fn other_end(link: &str) -> Option<String> {
    if link.starts_with("pipe:") {
        return Some(link.to_owned());
    }
    let inode = link.strip_prefix("socket:[")?.strip_suffix(']')?;
    let peer = socket_peer(inode.parse().ok()?)?;
    Some(format!("socket:[{peer}]"))
}

/// The inode at the other end of a connected Unix socket (sock_diag(7)).
fn socket_peer(inode: u32) -> Option<u32> {
    const REQUEST: usize = 16 + 24;
    /// SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, UDIAG_SHOW_PEER.
    const BY_FAMILY: u16 = 20;
    const IS_REQUEST: u16 = 1;
    const SHOW_PEER: u32 = 4;
    let mut request = Vec::with_capacity(REQUEST);
    // nlmsghdr: length, type, flags, sequence, port.
    request.extend((REQUEST as u32).to_ne_bytes());
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(IS_REQUEST.to_ne_bytes());
    request.extend([0; 8]);
    // unix_diag_req: family (AF_UNIX), protocol, padding, states, inode, what to show, no cookie.
    request.extend([1, 0, 0, 0]);
    for word in [u32::MAX, inode, SHOW_PEER, u32::MAX, u32::MAX] {
        request.extend(word.to_ne_bytes());
    }
    let socket: OwnedFd = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )
    .ok()?;
    send(&socket, &request, SendFlags::empty()).ok()?;
    let mut reply = [0; 256];
    // The kernel replies within the call that sends the request.
    let (length, _) = recv(&socket, &mut reply, RecvFlags::DONTWAIT).ok()?;
    peer_in(reply.get(..length)?)
}

/// The peer's inode in a reply: nlmsghdr, unix_diag_msg, and attributes of length, type and value.
fn peer_in(reply: &[u8]) -> Option<u32> {
    const PEER: u16 = 2;
    let half = |at: usize| Some(u16::from_ne_bytes(reply.get(at..at + 2)?.try_into().ok()?));
    if half(4)? != 20 {
        return None;
    }
    let mut at = 16 + 16;
    loop {
        let (length, kind) = (usize::from(half(at)?), half(at + 2)?);
        if kind == PEER {
            let value = reply.get(at + 4..at + 8)?;
            return Some(u32::from_ne_bytes(value.try_into().ok()?));
        }
        at += length.max(4).next_multiple_of(4);
    }
}

/// A process other than `pid` that has a descriptor with this link open. `None` if there is none, or if x11prof has
/// the link open.
fn owner(pid: u32, link: &str) -> Option<u32> {
    let has = |of: &str| {
        let open = fs::read_dir(format!("/proc/{of}/fd")).into_iter().flatten();
        let mut links = open
            .flatten()
            .filter_map(|one| fs::read_link(one.path()).ok());
        links.any(|one| one == Path::new(link))
    };
    if has("self") {
        return None;
    }
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // The latest process is a child rather than a parent that has left its end open.
    let others = numbers.filter(|of| *of != pid);
    others.filter(|of| has(&of.to_string())).max()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    use super::*;

    fn link(of: &impl AsRawFd) -> String {
        let path = format!("/proc/self/fd/{}", of.as_raw_fd());
        fs::read_link(path).unwrap().to_string_lossy().into_owned()
    }

    #[test]
    fn socket_peer_is_the_process_at_the_other_end() {
        let (own, other) = UnixStream::pair().unwrap();
        let (mine, its) = (link(&own), link(&other));
        assert_eq!(other_end(&mine), Some(its.clone()));
        // This process has both ends.
        assert_eq!(owner(0, &its), None);
        let mut command = Command::new("sh");
        command.args(["-c", "echo ready; read line"]);
        command.stdin(Stdio::from(OwnedFd::from(other)));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        // The command has a copy of the descriptor.
        drop(command);
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let mut peers = Peers::default();
        // A child of another test may have the other end for a moment.
        let found = loop {
            let found = peers.of(0, &mine).unwrap();
            if found.pid == child.id() {
                break found;
            }
            peers = Peers::default();
        };
        assert_eq!((found.name.as_str(), found.stopped), ("sh", false));
        let mut own = own;
        own.write_all(b"\n").unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn cut_replies_have_no_peer() {
        let mut reply = vec![0; 40];
        reply[4] = 20;
        (reply[32], reply[34], reply[36]) = (8, 2, 9);
        assert_eq!(peer_in(&reply), Some(9));
        for end in 0..reply.len() {
            assert_eq!(peer_in(&reply[..end]), None);
        }
    }
}
