//! A server that ends with its last client (`-terminate`). A recorder that attaches to an idle server, and leaves, ends
//! the server.

use crate::display_name::{DisplayName, Endpoint};
use crate::process_info::ProcessInfo;

/// The state of a Unix socket that is connected (/proc/net/unix; SS_CONNECTED of the kernel).
const CONNECTED: &str = "03";

/// True if a server of this machine would end after a client came and went now. Nothing is sent to the server: even a
/// connection without a setup ends it.
pub(super) fn would_end(display: &DisplayName) -> bool {
    let number = display.number();
    let lock = std::fs::read_to_string(format!("/tmp/.X{number}-lock")).unwrap_or_default();
    let local = matches!(display.endpoint(), Endpoint::Local);
    let server = lock.trim().parse().ok().filter(|_| local);
    let arguments = server.map(|pid| ProcessInfo::of(pid).command);
    if !arguments.is_some_and(|all| all.iter().any(|one| one == "-terminate")) {
        return false;
    }
    let path = format!("/tmp/.X11-unix/X{number}");
    std::fs::read_to_string("/proc/net/unix").is_ok_and(|all| clients(&all, &path) == 0)
}

/// The connections to a socket of this name, or of the same abstract name.
fn clients(sockets: &str, path: &str) -> usize {
    let lines = sockets.lines().map(|line| line.split_ascii_whitespace());
    let connected = lines.filter(|line| {
        let mut fields = line.clone().skip(5);
        fields.next() == Some(CONNECTED)
            && fields
                .nth(1)
                .is_some_and(|name| name.trim_start_matches('@') == path)
    });
    connected.count()
}

#[cfg(test)]
mod tests {
    #[test]
    fn connections_to_a_socket_are_counted() {
        let sockets = "Num       RefCount Protocol Flags    Type St Inode Path\n\
             0000: 00000002 00000000 00010000 0001 01 9 /tmp/.X11-unix/X7\n\
             0000: 00000003 00000000 00000000 0001 03 8 /tmp/.X11-unix/X7\n\
             0000: 00000003 00000000 00000000 0001 03 7 @/tmp/.X11-unix/X7\n\
             0000: 00000003 00000000 00000000 0001 03 6 /tmp/.X11-unix/X77\n\
             0000: 00000003 00000000 00000000 0001 03 5\n";
        assert_eq!(super::clients(sockets, "/tmp/.X11-unix/X7"), 2);
    }
}
