//! Detects a server that ends with its last client (`-terminate`). If no client is connected, attaching to such a
//! server and disconnecting ends the server.

use std::fs;

use crate::display::display_name::{DisplayName, Endpoint};
use crate::processes::process_info::ProcessInfo;

/// States of a Unix socket (/proc/net/unix; SS_UNCONNECTED and SS_CONNECTED of the kernel).
const LISTENS: &str = "01";
const CONNECTED: &str = "03";

/// True if a local server would end after a client connected and disconnected now. The check does not connect to the
/// server, because even a connection without a setup ends the server.
pub(super) fn would_end(display: &DisplayName) -> bool {
    if !matches!(display.endpoint(), Endpoint::Local) {
        return false;
    }
    let path = format!("/tmp/.X11-unix/X{}", display.number());
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let ends = || {
        let mut listening = inodes(&sockets, &path, LISTENS).filter_map(holder);
        listening.any(|pid| {
            ProcessInfo::of(pid)
                .command
                .iter()
                .any(|one| one == "-terminate")
        })
    };
    inodes(&sockets, &path, CONNECTED).count() == 0 && ends()
}

/// Returns the inodes of the sockets in `sockets` that have the name `path`, or the same abstract name, and are in the
/// state `state`.
fn inodes<'a>(sockets: &'a str, path: &'a str, state: &'a str) -> impl Iterator<Item = &'a str> {
    sockets.lines().filter_map(move |line| {
        let mut fields = line.split_ascii_whitespace().skip(5);
        let right = fields.next() == Some(state);
        let inode = fields.next()?;
        let name = fields.next()?.trim_start_matches('@');
        (right && name == path).then_some(inode)
    })
}

/// Returns a process that has the socket `inode` open, if the process's open files can be listed.
fn holder(inode: &str) -> Option<u32> {
    let socket = format!("socket:[{inode}]");
    let pids = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = pids.filter_map(|one| one.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let files = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let mut links = files.flatten().flat_map(|file| fs::read_link(file.path()));
        links.any(|link| link.as_os_str() == socket.as_str())
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn display_sockets_are_found_by_state() {
        let sockets = "Num       RefCount Protocol Flags    Type St Inode Path\n\
             0000: 00000002 00000000 00010000 0001 01 9 /tmp/.X11-unix/X7\n\
             0000: 00000003 00000000 00000000 0001 03 8 /tmp/.X11-unix/X7\n\
             0000: 00000003 00000000 00000000 0001 03 7 @/tmp/.X11-unix/X7\n\
             0000: 00000003 00000000 00000000 0001 03 6 /tmp/.X11-unix/X77\n\
             0000: 00000003 00000000 00000000 0001 03 5\n";
        let of = |state| super::inodes(sockets, "/tmp/.X11-unix/X7", state).collect::<Vec<_>>();
        assert_eq!(of("01"), ["9"]);
        assert_eq!(of("03"), ["8", "7"]);
    }
}
