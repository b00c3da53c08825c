//! Claims a free display number, with a lock file as the X server does, and listens on it.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{geteuid, umask};

use crate::display::display_lock::{RemovedOnDrop, take_lock};
use crate::display::listen_error::{FIRST_NUMBER, LAST_NUMBER, ListenError, in_use};
use crate::display::tcp_listener::{self, FIRST_PORT};

/// The folder of the sockets of local displays.
pub(crate) const SOCKET_DIR: &str = "/tmp/.X11-unix";
/// A claimed display number with its listening sockets. The lock file and the sockets are removed on drop.
#[derive(Debug)]
pub(crate) struct Claimed {
    number: u32,
    /// The Unix socket at the display's path; `abstract_listener` is the socket at the abstract name.
    pub(crate) path_listener: UnixListener,
    pub(crate) abstract_listener: UnixListener,
    /// The TCP sockets on which the recorder listens; empty if TCP was not requested.
    pub(crate) tcp_listeners: Vec<TcpListener>,
    _socket: RemovedOnDrop,
    _lock: RemovedOnDrop,
}

impl Claimed {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

/// Claims the display number `wanted`, or the first free number. Also listens by TCP at the host `tcp`, if given.
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
    // The same permissions as the X server's: cookie and peer credentials decide who may connect. No chmod follows,
    // because another file could be there by then.
    let _open = Umask::set(Mode::empty());
    make_socket_dir(Path::new(SOCKET_DIR)).map_err(failed)?;
    check_socket_dir(Path::new(SOCKET_DIR)).map_err(|why| ListenError::Folder {
        path: SOCKET_DIR.to_owned(),
        why,
    })?;
    if path.symlink_metadata().is_ok() {
        // The recorder holds the lock, so a program that listens here has no lock file (a container's server,
        // Xwayland).
        if is_listened_on(&path) {
            return Err(in_use(number, "a program without a lock file"));
        }
        fs::remove_file(&path).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::NotFound => {
                in_use(number, "a socket of another user")
            }
            _ => failed(error),
        })?;
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
    let path_listener = UnixListener::bind(&path).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => in_use(number, "a socket of another user"),
        _ => failed(error),
    })?;
    let socket = RemovedOnDrop(path.clone());
    Ok(Claimed {
        number,
        path_listener,
        abstract_listener,
        tcp_listeners,
        _socket: socket,
        _lock: lock,
    })
}

/// True if a program listens on the socket at `path`, even if its queue is full.
fn is_listened_on(path: &Path) -> bool {
    matches!(connect_at_once(path), Ok(_) | Err(Errno::AGAIN))
}

/// Connects to the socket at `path`. If its queue is full, fails with `EAGAIN` instead of waiting.
pub(crate) fn connect_at_once(path: &Path) -> Result<UnixStream, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
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

/// A temporary umask. It applies to the whole process, so no other thread may create files meanwhile, and the lock
/// serializes its users.
struct Umask(
    Mode,
    #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>,
);

static ONE_UMASK: Mutex<()> = Mutex::new(());

impl Umask {
    fn set(mask: Mode) -> Umask {
        let only = ONE_UMASK.lock().unwrap_or_else(PoisonError::into_inner);
        Umask(umask(mask), only)
    }
}

impl Drop for Umask {
    fn drop(&mut self) {
        umask(self.0);
    }
}

fn make_socket_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o1777).create(dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Checks the sockets' folder by the rules of Xtrans and Wayland compositors: root or this user owns it, and other users
/// cannot remove or rename entries (the folder is sticky). The error names the problem.
fn check_socket_dir(dir: &Path) -> Result<(), &'static str> {
    let about = fs::symlink_metadata(dir).map_err(|_| "it cannot be read")?;
    let writable = about.mode() & 0o022 != 0;
    match about.uid() {
        _ if !about.is_dir() => Err("it is no folder"),
        uid if uid != 0 && uid != geteuid().as_raw() => Err("it belongs to another user"),
        _ if writable && about.mode() & 0o1000 == 0 => {
            Err("others may replace what is in it (it is not sticky)")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::display::display_lock::{lock_path, lock_text};

    /// The number of a display that only this process and this test use.
    fn display(test: u32) -> u32 {
        1000 + std::process::id() % 5000 * 8 + test
    }

    /// Ends the listening at once. Closing the descriptor is not enough: a program that another test starts has a copy of
    /// it from `fork` until `exec`.
    fn stop_listening(listener: &UnixListener) {
        rustix::net::shutdown(listener, rustix::net::Shutdown::Both).unwrap();
    }

    #[test]
    fn claimed_display_is_locked_listening_and_released() {
        let number = display(0);
        let claimed = claim(Some(number), None).unwrap();
        let lock = fs::read(lock_path(number)).unwrap();
        assert_eq!(lock, format!("{:10}\n", std::process::id()).into_bytes());
        assert_eq!(lock.len(), 11);
        let mode = |path: PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(lock_path(number)), 0o444);
        assert_eq!(mode(socket_path(number)), 0o777);
        UnixStream::connect(socket_path(number)).unwrap();
        let name = SocketAddr::from_abstract_name(format!("/tmp/.X11-unix/X{number}")).unwrap();
        UnixStream::connect_addr(&name).unwrap();
        assert!(matches!(
            claim(Some(number), None),
            Err(ListenError::InUse { .. })
        ));
        drop(claimed);
        assert!(!lock_path(number).exists());
        assert!(!socket_path(number).exists());
        assert!(!Path::new(&format!("/tmp/.tX{number}-lock-{}", std::process::id())).exists());
    }

    #[test]
    fn stale_lock_and_socket_are_replaced() {
        let number = display(1);
        // A process that has ended and was reaped.
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        fs::write(lock_path(number), format!("{:10}\n", gone.id())).unwrap();
        make_socket_dir(Path::new(SOCKET_DIR)).unwrap();
        let _ = fs::remove_file(socket_path(number));
        stop_listening(&UnixListener::bind(socket_path(number)).unwrap());
        let claimed = claim(Some(number), None).unwrap();
        assert_eq!(claimed.number(), number);
        UnixStream::connect(socket_path(number)).unwrap();
    }

    #[test]
    fn live_socket_without_lock_file_is_in_use() {
        let number = display(2);
        make_socket_dir(Path::new(SOCKET_DIR)).unwrap();
        let _ = fs::remove_file(socket_path(number));
        let other = UnixListener::bind(socket_path(number)).unwrap();
        assert!(matches!(
            claim(Some(number), None),
            Err(ListenError::InUse { .. })
        ));
        assert!(!lock_path(number).exists());
        // The queue is full from the second connection on, so an ordinary connection would block.
        rustix::net::listen(&other, 0).unwrap();
        for _ in 0..3 {
            assert!(is_listened_on(&socket_path(number)));
        }
        stop_listening(&other);
        assert!(!is_listened_on(&socket_path(number)));
        fs::remove_file(socket_path(number)).unwrap();
    }

    #[test]
    fn irregular_lock_files_never_block() {
        let number = display(5);
        let lock = lock_path(number);
        let in_use = || matches!(claim(Some(number), None), Err(ListenError::InUse { .. }));
        let _ = fs::remove_file(&lock);
        // A pipe, on which an ordinary open would wait for a writer.
        rustix::fs::mkfifoat(rustix::fs::CWD, &lock, Mode::RUSR | Mode::WUSR).unwrap();
        assert!(in_use());
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &lock).unwrap();
        assert!(in_use());
        fs::remove_file(&lock).unwrap();
        // A file of 6 GB. Only eleven bytes are read, and they name no process.
        fs::File::create(&lock).unwrap().set_len(6 << 30).unwrap();
        assert_eq!(lock_text(&lock).unwrap().len(), 11);
        assert_eq!(claim(Some(number), None).unwrap().number(), number);
        assert!(!lock.exists());
    }

    #[test]
    fn insecure_socket_folder_is_rejected() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("sockets");
        {
            let _open = Umask::set(Mode::empty());
            make_socket_dir(&dir).unwrap();
        }
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o7777, 0o1777);
        assert_eq!(check_socket_dir(&dir), Ok(()));
        let mode = |mode| fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o777);
        assert!(check_socket_dir(&dir).unwrap_err().contains("sticky"));
        mode(0o755);
        assert_eq!(check_socket_dir(&dir), Ok(()));
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&dir, &link).unwrap();
        assert_eq!(check_socket_dir(&link), Err("it is no folder"));
        // A folder of another user, which only root can create.
        if geteuid().is_root() {
            std::os::unix::fs::chown(&dir, Some(12_345), None).unwrap();
            assert_eq!(check_socket_dir(&dir), Err("it belongs to another user"));
        }
    }
}
