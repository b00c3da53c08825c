//! Finds the local process at the other end of a TCP connection. The kernel stores no credentials for TCP, but lists
//! both sockets.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::net::{getpeername, getsockname};

/// The kernel's lists of TCP sockets (proc(5)).
const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The id of the process that has the other end of a connected TCP socket; `None` if the other end is on another host,
/// or if permissions are missing. The search reads all processes' descriptors, which takes milliseconds.
pub(crate) fn process_at(socket: impl AsFd) -> Option<u32> {
    let ours = SocketAddr::try_from(getsockname(&socket).ok()?).ok()?;
    let theirs = SocketAddr::try_from(getpeername(&socket).ok()??).ok()?;
    let inode = LISTS.iter().find_map(|list| {
        let list = fs::read_to_string(list).ok()?;
        inode(&list, theirs, ours)
    })?;
    holder(inode)
}

/// The inode of the socket that is bound to `local` and connected to `remote`.
fn inode(list: &str, local: SocketAddr, remote: SocketAddr) -> Option<u64> {
    list.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let same = |field: &str, expected: SocketAddr| {
            address(field).is_some_and(|(ip, port)| {
                port == expected.port() && ip.to_canonical() == expected.ip().to_canonical()
            })
        };
        if !same(fields.next()?, local) || !same(fields.next()?, remote) {
            return None;
        }
        // Fields between: state, queues, timer, retransmissions, user, timeout. An inode of 0 means that no process
        // holds the socket any more.
        fields.nth(6)?.parse().ok().filter(|&inode| inode != 0)
    })
}

/// Parses an address such as `0100007F:1770`: 32-bit words in memory order, and a port.
fn address(field: &str) -> Option<(IpAddr, u16)> {
    let (words, port) = field.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |n: usize| {
        let digits = words.get(8 * n..8 * n + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip = match words.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let all = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = all.concat().try_into().ok()?;
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    Some((ip, port))
}

/// The process that has this socket open. If several processes have inherited it, the process with the smallest pid,
/// which is usually the first.
fn holder(inode: u64) -> Option<u32> {
    let socket = format!("socket:[{inode}]");
    let has = |pid: u32| {
        let Ok(fds) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            // The process has ended, or belongs to another user.
            return false;
        };
        fds.flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == Path::new(&socket)))
    };
    fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| has(pid))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn loopback_peer_process_is_found() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A system without IPv6 does not have this address.
            let Ok(listener) = TcpListener::bind(host) else {
                assert!(host.starts_with('['));
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            assert_eq!(process_at(&accepted), Some(std::process::id()));
            drop(client);
            assert_eq!(process_at(&accepted), None);
        }
    }

    #[test]
    fn unix_and_unconnected_sockets_have_no_tcp_peer() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(process_at(&one), None);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(process_at(&listener), None);
    }

    // The words are in native byte order. The test's data is in little endian.
    #[cfg(target_endian = "little")]
    #[test]
    fn kernel_socket_lists_are_parsed() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1770 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 20 4 30 10 -1\n\
             1: 0100007F:D431 0100007F:1770 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 20 4 30 10 -1\n\
             2: 0000000000000000FFFF00000100007F:D432 0000000000000000FFFF00000100007F:1770 01 \
             00000000:00000000 00:00000000 00000000  1000        0 13 1 0 20 4 30 10 -1\n\
             3: 0100007F:D433 0100007F:1770 06 00000000:00000000 03:00000A21 00000000     0        0 0 3\n\
             4: what: is this\n";
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let found = |port| inode(list, at(port), at(6000));
        assert_eq!(found(0xD431), Some(12));
        assert_eq!(found(0xD432), Some(13));
        assert_eq!(found(0xD433), None);
        assert_eq!(found(0xD434), None);
        let six = "00000000000000000000000001000000:1770";
        assert_eq!(address(six), Some((Ipv6Addr::LOCALHOST.into(), 6000)));
        assert_eq!(address("0100007F"), None);
        assert_eq!(address("0100007:1"), None);
    }
}
