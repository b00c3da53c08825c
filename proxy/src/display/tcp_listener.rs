//! Listens by TCP, for clients on other machines and in other containers.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, ToSocketAddrs};

/// The TCP port of display 0 (protocol, appendix "TCP Connections").
pub(crate) const FIRST_PORT: u32 = 6000;

/// Listens for display `number` at all addresses of `host`: a name, or an IPv4 or IPv6 address with or without
/// brackets. One address is sufficient, because machines without IPv6 still resolve to `::1`. An address that another
/// program already uses is an error.
pub(crate) fn listen(host: &str, number: u32) -> io::Result<Vec<TcpListener>> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let port = u16::try_from(FIRST_PORT + number)
        .map_err(|_| io::Error::other("the display number has no TCP port"))?;
    let (mut listeners, mut failure) = (Vec::new(), None);
    for address in (bare.unwrap_or(host), port).to_socket_addrs()? {
        match TcpListener::bind(address) {
            Ok(listener) => listeners.push(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(error),
            Err(error) => failure = Some(error),
        }
    }
    match (listeners.is_empty(), failure) {
        (false, _) => Ok(listeners),
        (true, Some(error)) => Err(error),
        (true, None) => Err(io::Error::other("the host has no address")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn tcp_display_listens_on_loopback_and_only_once() {
        let number = 305;
        let listeners = listen("localhost", number).unwrap();
        assert!(!listeners.is_empty());
        for listener in &listeners {
            let address = listener.local_addr().unwrap();
            assert!(address.ip().is_loopback());
            assert_eq!(address.port(), 6305);
            TcpStream::connect(address).unwrap();
        }
        let again = listen("127.0.0.1", number).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AddrInUse);
        assert!(listen("[::ffff:127.0.0.1]", 306).is_ok());
        assert!(listen("127.0.0.1", 59_536).is_err());
    }
}
