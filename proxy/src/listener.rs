//! Claims a free display number by the X server's own protocol, and listens on it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use thiserror::Error;

use crate::tcp_listener::{self, FIRST_PORT};

/// Where the sockets of local displays live.
pub(crate) const SOCKET_DIR: &str = "/tmp/.X11-unix";
/// Where we begin to look for a number: above those of seats (0 on) and of ssh (10 on).
const FIRST_NUMBER: u32 = 80;
/// Where we give up.
const LAST_NUMBER: u32 = 1000;

/// Why a display could not be claimed.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The number asked for is another's.
    #[error(
        "display :{number} is in use by {by}; choose another number, or none to get a free one"
    )]
    InUse {
        /// The number.
        number: u32,
        /// Who has it, as far as is known.
        by: String,
    },
    /// All numbers that we try are taken.
    #[error(
        "no free display number from :{FIRST_NUMBER} to :{LAST_NUMBER}; name one with --listen"
    )]
    NoneFree,
    /// There is no listening at that address.
    #[error("cannot listen by TCP at {host}: {source}; name an address of this machine")]
    Tcp {
        /// The address that was asked for.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// A lock file or socket could not be made.
    #[error("cannot listen on display :{number}: {path}: {source}")]
    Io {
        /// The number.
        number: u32,
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// A display number that is ours, with its listening sockets. Lock file and sockets are
/// removed on drop.
#[derive(Debug)]
pub(crate) struct Claimed {
    number: u32,
    /// By path, and by the abstract name where that is free.
    pub(crate) path_listener: UnixListener,
    pub(crate) abstract_listener: UnixListener,
    /// None where TCP was not asked for.
    pub(crate) tcp_listeners: Vec<TcpListener>,
    _socket: RemovedOnDrop,
    _lock: RemovedOnDrop,
}

impl Claimed {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

#[derive(Debug)]
struct RemovedOnDrop(PathBuf);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to do.
        let _ = fs::remove_file(&self.0);
    }
}

/// Claims the display `wanted`, or the first free one; at the host `tcp` as well, where given.
pub(crate) fn claim(wanted: Option<u32>, tcp: Option<&str>) -> Result<Claimed, ListenError> {
    if let Some(number) = wanted {
        return try_claim(number, tcp);
    }
    for number in FIRST_NUMBER..=LAST_NUMBER {
        match try_claim(number, tcp) {
            Err(ListenError::InUse { .. }) => {}
            claimed_or_failed => return claimed_or_failed,
        }
    }
    Err(ListenError::NoneFree)
}

fn try_claim(number: u32, tcp: Option<&str>) -> Result<Claimed, ListenError> {
    let lock = take_lock(number)?;
    let path = socket_path(number);
    let failed = |source| ListenError::Io {
        number,
        path: path.display().to_string(),
        source,
    };
    make_socket_dir(Path::new(SOCKET_DIR)).map_err(failed)?;
    if path.exists() {
        // The lock is ours, so whoever listens here made none (a container's server, Xwayland).
        if UnixStream::connect(&path).is_ok() {
            return Err(in_use(number, "a program without a lock file"));
        }
        fs::remove_file(&path).map_err(failed)?;
    }
    let tcp_listeners = match tcp {
        Some(host) => listen_by_tcp(host, number)?,
        None => Vec::new(),
    };
    let abstract_listener = SocketAddr::from_abstract_name(path.as_os_str().as_encoded_bytes())
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => in_use(number, "a program on its abstract socket"),
            _ => failed(error),
        })?;
    let path_listener = UnixListener::bind(&path).map_err(failed)?;
    let socket = RemovedOnDrop(path.clone());
    // As the X server's: who may connect is decided by cookie and peer credentials.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).map_err(failed)?;
    Ok(Claimed {
        number,
        path_listener,
        abstract_listener,
        tcp_listeners,
        _socket: socket,
        _lock: lock,
    })
}

fn listen_by_tcp(host: &str, number: u32) -> Result<Vec<TcpListener>, ListenError> {
    tcp_listener::listen(host, number).map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => in_use(
            number,
            format!("a program on TCP port {}", FIRST_PORT + number),
        ),
        _ => ListenError::Tcp {
            host: host.to_owned(),
            source,
        },
    })
}

pub(crate) fn socket_path(number: u32) -> PathBuf {
    Path::new(SOCKET_DIR).join(format!("X{number}"))
}

fn lock_path(number: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/.X{number}-lock"))
}

fn in_use(number: u32, by: impl Into<String>) -> ListenError {
    ListenError::InUse {
        number,
        by: by.into(),
    }
}

/// The lock protocol of the X server (os/utils.c, LockServer): a complete file under another
/// name, then link() to the lock's name, which fails where it exists; the lock of a process
/// that is gone is taken over.
fn take_lock(number: u32) -> Result<RemovedOnDrop, ListenError> {
    let path = lock_path(number);
    let failed = |source| ListenError::Io {
        number,
        path: path.display().to_string(),
        source,
    };
    let pid = std::process::id();
    let ours = RemovedOnDrop(PathBuf::from(format!("/tmp/.tX{number}-lock-{pid}")));
    let _ = fs::remove_file(&ours.0);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(&ours.0)
        .map_err(failed)?;
    file.write_all(format!("{pid:10}\n").as_bytes())
        .map_err(failed)?;
    file.set_permissions(fs::Permissions::from_mode(0o444))
        .map_err(failed)?;
    // A stale lock is removed once: a second one is another claimant that was faster.
    for attempt in 0..2 {
        match fs::hard_link(&ours.0, &path) {
            Ok(()) => return Ok(RemovedOnDrop(path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => match holder(&path) {
                Holder::Alive(holder) => return Err(in_use(number, holder)),
                Holder::Gone if attempt == 0 => match fs::remove_file(&path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => {
                        return Err(in_use(number, format!("a stale lock, {}", path.display())));
                    }
                    _ => {}
                },
                Holder::Gone => return Err(in_use(number, "another claimant")),
            },
            Err(error) => return Err(failed(error)),
        }
    }
    Err(in_use(number, "another claimant"))
}

enum Holder {
    Alive(String),
    Gone,
}

fn holder(lock: &Path) -> Holder {
    let Ok(text) = fs::read_to_string(lock) else {
        // Removed in the meantime, or another user's: the retry tells.
        return match lock.exists() {
            true => Holder::Alive("another user".to_owned()),
            false => Holder::Gone,
        };
    };
    match text.trim().parse().ok().and_then(Pid::from_raw) {
        Some(pid) if test_kill_process(pid) == Err(rustix::io::Errno::SRCH) => Holder::Gone,
        Some(pid) => Holder::Alive(format!("process {pid}")),
        // The X server takes over a lock that holds no number as well.
        None => Holder::Gone,
    }
}

fn make_socket_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o1777).create(dir) {
        // The umask took bits away.
        Ok(()) => fs::set_permissions(dir, fs::Permissions::from_mode(0o1777)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_display_is_locked_listened_on_and_given_back() {
        let number = 300;
        let claimed = claim(Some(number), None).unwrap();
        let lock = fs::read(lock_path(number)).unwrap();
        assert_eq!(lock, format!("{:10}\n", std::process::id()).into_bytes());
        assert_eq!(lock.len(), 11);
        let mode = fs::metadata(lock_path(number))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o444);
        UnixStream::connect(socket_path(number)).unwrap();
        let name = SocketAddr::from_abstract_name(b"/tmp/.X11-unix/X300").unwrap();
        UnixStream::connect_addr(&name).unwrap();
        assert!(matches!(
            claim(Some(number), None),
            Err(ListenError::InUse { number: 300, .. })
        ));
        drop(claimed);
        assert!(!lock_path(number).exists());
        assert!(!socket_path(number).exists());
        assert!(!Path::new(&format!("/tmp/.tX300-lock-{}", std::process::id())).exists());
    }

    #[test]
    fn the_lock_and_socket_of_a_dead_process_are_taken_over() {
        let number = 301;
        // A process that has ended and was waited for.
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        fs::write(lock_path(number), format!("{:10}\n", gone.id())).unwrap();
        make_socket_dir(Path::new(SOCKET_DIR)).unwrap();
        let _ = fs::remove_file(socket_path(number));
        drop(UnixListener::bind(socket_path(number)).unwrap());
        let claimed = claim(Some(number), None).unwrap();
        assert_eq!(claimed.number(), number);
        UnixStream::connect(socket_path(number)).unwrap();
    }

    #[test]
    fn a_display_without_a_lock_file_is_left_alone() {
        let number = 302;
        make_socket_dir(Path::new(SOCKET_DIR)).unwrap();
        let _ = fs::remove_file(socket_path(number));
        let other = UnixListener::bind(socket_path(number)).unwrap();
        assert!(matches!(
            claim(Some(number), None),
            Err(ListenError::InUse { number: 302, .. })
        ));
        assert!(!lock_path(number).exists());
        drop(other);
        fs::remove_file(socket_path(number)).unwrap();
    }
}
