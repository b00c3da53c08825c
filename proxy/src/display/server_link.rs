//! The address of a real display server: its sockets and its cookie.

use std::io;
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::display::authority::{self, Cookie, Peer};
use crate::display::display_name::{DisplayName, Endpoint};
use crate::display::listener;
use crate::display::tcp_listener::FIRST_PORT;

/// A TCP connection must succeed within this time.
const TCP_PATIENCE: Duration = Duration::from_secs(30);

/// The address of a display server, to which connections can be opened.
#[derive(Debug, Clone)]
pub struct ServerLink {
    name: DisplayName,
    /// The file with the server's cookie; the user's authority file if `None`.
    authority_file: Option<PathBuf>,
}

/// A blocking connection to a server, over which no byte has been sent.
#[derive(Debug)]
pub enum Connected {
    /// A connection over a Unix socket.
    Unix(UnixStream),
    /// A connection over TCP.
    Tcp(TcpStream),
}

impl Connected {
    /// The name of the transport: `unix` or `tcp`.
    pub(crate) fn transport(&self) -> &'static str {
        match self {
            Connected::Unix(_) => "unix",
            Connected::Tcp(_) => "tcp",
        }
    }
}

impl From<Connected> for OwnedFd {
    fn from(connected: Connected) -> OwnedFd {
        match connected {
            Connected::Unix(stream) => stream.into(),
            Connected::Tcp(stream) => stream.into(),
        }
    }
}

impl ServerLink {
    /// The address of the server of this name. Its cookie is in `authority_file`, or in the user's authority file.
    pub fn new(name: DisplayName, authority_file: Option<PathBuf>) -> ServerLink {
        ServerLink {
            name,
            authority_file,
        }
    }

    pub(crate) fn name(&self) -> &DisplayName {
        &self.name
    }

    /// Connects to the server, and looks up the cookie in the current authority file. The call may block: on a Unix
    /// socket while the server's queue is full, by TCP until the host responds.
    ///
    /// # Errors
    /// Fails if the server cannot be reached.
    pub fn connect(&self) -> io::Result<(Connected, Option<Cookie>)> {
        let (connected, peer) = match self.name.endpoint() {
            Endpoint::Local => (Connected::Unix(self.local()?), Peer::Local),
            Endpoint::Path(path) => (Connected::Unix(UnixStream::connect(path)?), Peer::Local),
            Endpoint::Tcp { host } => self.tcp(host)?,
        };
        let file = self.authority_file.clone().or_else(authority::users_file);
        let cookie = file.and_then(|file| authority::look_up(&file, &peer, self.name.number()));
        Ok((connected, cookie))
    }

    /// Connects to the socket's path first: any user may claim an abstract name, and would receive the cookie.
    fn local(&self) -> io::Result<UnixStream> {
        let path = listener::socket_path(self.name.number());
        UnixStream::connect(&path).or_else(|error| {
            let bytes = path.as_os_str().as_encoded_bytes();
            SocketAddr::from_abstract_name(bytes)
                .and_then(|name| UnixStream::connect_addr(&name))
                .map_err(|_| error)
        })
    }

    fn tcp(&self, host: &str) -> io::Result<(Connected, Peer)> {
        // `DisplayName` limits the number, so the port fits.
        let port = u16::try_from(FIRST_PORT + self.name.number()).unwrap_or(u16::MAX);
        let mut failure = None;
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, TCP_PATIENCE) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok((Connected::Tcp(stream), peer_of(address.ip())));
                }
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| io::Error::other("the host has no address")))
    }
}

/// The peer of an address, by libxcb's rules: the loopback interface counts as local, and ssh stores its cookies this
/// way.
fn peer_of(ip: IpAddr) -> Peer {
    match ip.to_canonical() {
        ip if ip.is_loopback() => Peer::Local,
        ip => Peer::Address(ip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_counts_as_local() {
        for ip in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(peer_of(ip.parse().unwrap()), Peer::Local);
        }
        let ten: IpAddr = "10.0.0.1".parse().unwrap();
        assert_eq!(
            peer_of("::ffff:10.0.0.1".parse().unwrap()),
            Peer::Address(ten)
        );
    }

    #[test]
    fn abstract_socket_display_is_found() {
        let name = SocketAddr::from_abstract_name(b"/tmp/.X11-unix/X303").unwrap();
        let _listener = std::os::unix::net::UnixListener::bind_addr(&name).unwrap();
        let link = ServerLink::new(DisplayName::local(303), None);
        assert!(matches!(link.connect(), Ok((Connected::Unix(_), _))));
        let link = ServerLink::new(DisplayName::local(304), None);
        assert!(link.connect().is_err());
    }
}
