//! The round-trip times of this machine's TCP connections, as the kernel measures them (sock_diag(7)).

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, getpeername, getsockname,
    netlink, recv, send, socket_with,
};

/// The kernel's SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST and INET_DIAG_INFO.
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const INFO: u16 = 2;
/// The lengths in bytes of a message's header and of the description of a connection. The attributes follow them.
const HEADER: usize = 16;
const DESCRIPTION: usize = 72;
/// The offset of `tcpi_min_rtt` in `struct tcp_info`.
const SHORTEST: usize = 148;

/// The shortest round trip of a connected TCP socket in nanoseconds; `None` for other sockets.
pub(crate) fn of_socket(socket: impl AsFd) -> Option<u64> {
    let ours = SocketAddr::try_from(getsockname(&socket).ok()?).ok()?;
    let theirs = SocketAddr::try_from(getpeername(&socket).ok()??).ok()?;
    round_trip_ns(ours, theirs)
}

/// The shortest round trip of the ssh connection in which this process runs, in nanoseconds; `None` outside of ssh.
pub(crate) fn of_ssh() -> Option<u64> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    let words: Vec<&str> = connection.split(' ').collect();
    let [theirs, their_port, ours, our_port] = words[..] else {
        return None;
    };
    let address =
        |ip: &str, port: &str| Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?));
    round_trip_ns(address(ours, our_port)?, address(theirs, their_port)?)
}

fn round_trip_ns(ours: SocketAddr, theirs: SocketAddr) -> Option<u64> {
    let flags = SocketFlags::CLOEXEC;
    let protocol = Some(netlink::SOCK_DIAG);
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol).ok()?;
    send(&kernel, &request(ours, theirs), SendFlags::empty()).ok()?;
    let mut reply = [0; 4096];
    let (length, _) = recv(&kernel, &mut reply, RecvFlags::empty()).ok()?;
    shortest(reply.get(..length)?)
}

/// A request for one connection (`struct inet_diag_req_v2`).
fn request(ours: SocketAddr, theirs: SocketAddr) -> Vec<u8> {
    let [ours, theirs] = [ours, theirs].map(|one| (one.ip().to_canonical(), one.port()));
    let family = if ours.0.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let ip = |ip: IpAddr| {
        let mut bytes = match ip {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        bytes.resize(16, 0);
        bytes
    };
    let mut bytes = vec![family.as_raw() as u8, 6, 1 << (INFO - 1), 0];
    // All states, and any interface and cookie.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend([ours.1, theirs.1].map(u16::to_be_bytes).concat());
    bytes.extend([ip(ours.0), ip(theirs.0)].concat());
    bytes.extend([0, u32::MAX, u32::MAX].map(u32::to_ne_bytes).concat());
    let length = (HEADER + bytes.len()) as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend([BY_FAMILY, REQUEST].map(u16::to_ne_bytes).concat());
    message.extend([0; 8]);
    message.extend(bytes);
    message
}

/// The shortest round trip in a reply, in nanoseconds; `None` if the reply contains none.
fn shortest(reply: &[u8]) -> Option<u64> {
    let number = |at: usize| Some(u16::from_ne_bytes(reply.get(at..at + 2)?.try_into().ok()?));
    let mut at = HEADER + DESCRIPTION;
    if number(4)? != BY_FAMILY {
        return None;
    }
    loop {
        let length = usize::from(number(at)?);
        if number(at + 2)? == INFO {
            let info = reply.get(at + 4..at + length)?;
            let micros = info.get(SHORTEST..SHORTEST + 4)?.try_into().ok()?;
            // Without a measurement, the time is the largest number.
            let micros = Some(u32::from_ne_bytes(micros)).filter(|one| *one != u32::MAX);
            return micros.map(|micros| u64::from(micros) * 1000);
        }
        at += length.max(4).next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn round_trip_of_a_connection_is_known() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A system without IPv6 does not have this address.
            let Ok(listener) = TcpListener::bind(host) else {
                assert!(host.starts_with('['));
                continue;
            };
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut accepted, _) = listener.accept().unwrap();
            client.write_all(b"ping").unwrap();
            accepted.read_exact(&mut [0; 4]).unwrap();
            let trip = of_socket(&client).unwrap();
            assert!(trip < 1_000_000_000, "{trip}");
            let listens = listener.local_addr().unwrap();
            assert_eq!(
                round_trip_ns(
                    client.local_addr().unwrap(),
                    SocketAddr::new(listens.ip(), 1)
                ),
                None
            );
        }
        assert_eq!(of_socket(UnixStream::pair().unwrap().0), None);
    }

    #[test]
    fn damaged_replies_have_no_round_trip() {
        let mut reply = vec![0; HEADER + DESCRIPTION];
        reply[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        for attribute in [
            vec![],
            vec![0; 200],
            vec![255; 8],
            [[2, 0, 2, 0].as_slice(), &[0; 300]].concat(),
        ] {
            assert_eq!(shortest(&[reply.clone(), attribute].concat()), None);
        }
        assert_eq!(shortest(&[]), None);
    }
}
