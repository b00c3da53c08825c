//! Detects whether a viewer is connected to a server that sends its screen over a connection. Xvnc encodes changes only
//! for viewers.

use std::fs;
use std::path::Path;

/// The states of a socket in /proc/net/tcp (net/tcp_states.h) and in /proc/net/unix.
const ESTABLISHED: &str = "01";
const LISTENS: &str = "0A";
const CONNECTED: &str = "03";
/// X11's own sockets, which do not belong to viewers.
const X11: &str = "/.X11-unix/X";
const X11_PORTS: std::ops::Range<u16> = 6000..6064;

/// True if a viewer is connected to the server `pid` of that executable. `None` if the server has no viewers, or if the
/// kernel does not report which sockets belong to the server.
pub(crate) fn is_viewed(pid: u32, executable: &str) -> Option<bool> {
    let name = Path::new(executable).file_name()?.to_str()?;
    if !["Xvnc", "Xtigervnc"].contains(&name) {
        return None;
    }
    let mut inodes = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten() {
        let Ok(link) = fs::read_link(entry.path()) else {
            continue;
        };
        let link = link.to_string_lossy();
        let inode = link.strip_prefix("socket:[");
        inodes.extend(inode.and_then(|name| Some(name.strip_suffix(']')?.to_owned())));
    }
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/net/{name}"));
    let unix = read("unix").unwrap_or_default();
    let tcp = [read("tcp"), read("tcp6")].map(Result::unwrap_or_default);
    Some(by_unix(&unix, &inodes) || tcp.iter().any(|table| by_tcp(table, &inodes)))
}

/// A connection through a socket in the file system, except X11's.
fn by_unix(table: &str, inodes: &[String]) -> bool {
    table.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Columns: Num, RefCount, Protocol, Flags, Type, St, Inode, Path.
        let (Some(state), Some(inode), Some(path)) = (words.get(5), words.get(6), words.get(7))
        else {
            return false;
        };
        *state == CONNECTED && !path.contains(X11) && inodes.iter().any(|known| known == inode)
    })
}

/// A connection at a port on which the server listens, except X11's.
fn by_tcp(table: &str, inodes: &[String]) -> bool {
    let mut own = Vec::new();
    for line in table.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Columns: sl, local_address, rem_address, st, …; the tenth is the inode.
        if let (Some(local), Some(state), Some(inode)) = (words.get(1), words.get(3), words.get(9))
            && let Some((_, port)) = local.rsplit_once(':')
            && let Ok(port) = u16::from_str_radix(port, 16)
            && inodes.iter().any(|known| known == inode)
        {
            own.push((port, *state));
        }
    }
    let listens = |port| own.contains(&(port, LISTENS));
    own.iter()
        .any(|(port, state)| *state == ESTABLISHED && !X11_PORTS.contains(port) && listens(*port))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{by_tcp, by_unix, is_viewed};

    #[test]
    fn viewers_and_clients_are_distinguished() {
        let inodes = ["7".to_owned(), "8".to_owned(), "9".to_owned()];
        let client = "0: 3 0 0 0001 03 7 @/tmp/.X11-unix/X5\n0: 2 0 10000 0001 01 8 /run/vnc\n";
        assert!(!by_unix(client, &inodes));
        assert!(by_unix("0: 3 0 0 0001 03 9 /run/vnc\n", &inodes));
        assert!(!by_unix("0: 3 0 0 0001 03 10 /run/vnc\n", &inodes));
        let listens = " 0: 0100007F:170D 00000000:0000 0A 0:0 0:0 0 0 0 7 1\n";
        let viewer = " 1: 0100007F:170D 0100007F:9999 01 0:0 0:0 0 0 0 8 1\n";
        // A connection that the server itself opened.
        let other = " 1: 0100007F:AAAA 0100007F:9999 01 0:0 0:0 0 0 0 8 1\n";
        assert!(by_tcp(&[listens, viewer].concat(), &inodes));
        assert!(!by_tcp(&[listens, other].concat(), &inodes));
        assert!(!by_tcp(listens, &inodes));
    }

    #[test]
    fn only_vnc_servers_have_viewers() {
        // A separate process, because other tests have connections in this one.
        let mut process = Command::new("sleep").arg("60").spawn().unwrap();
        let viewed = |executable| is_viewed(process.id(), executable);
        let (xvfb, xvnc) = (viewed("/usr/bin/Xvfb"), viewed("/usr/bin/Xvnc"));
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!((xvfb, xvnc), (None, Some(false)));
    }
}
