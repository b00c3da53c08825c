//! The lock file of a display number, compatible with the X server's lock files.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};

use crate::display::listen_error::{ListenError, in_use};

/// The length of a lock file in bytes: a process id in ten columns, and a line feed.
const LOCK_LEN: u64 = 11;

/// The path of a file that is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct RemovedOnDrop(pub(crate) PathBuf);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        // The file may be gone already.
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) fn lock_path(number: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/.X{number}-lock"))
}

/// Locks a display number as the X server does (os/utils.c, LockServer): writes a complete file under another name,
/// then links the file to the lock's name. The link fails if the lock exists. Replaces the lock of a process that has
/// ended.
pub(crate) fn take_lock(number: u32) -> Result<RemovedOnDrop, ListenError> {
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
        .map_err(|error| match error.kind() {
            // The file belongs to another user, who can block only this number with it.
            ErrorKind::AlreadyExists => in_use(number, format!("{}", ours.0.display())),
            _ => failed(error),
        })?;
    file.write_all(format!("{pid:10}\n").as_bytes())
        .map_err(failed)?;
    file.set_permissions(fs::Permissions::from_mode(0o444))
        .map_err(failed)?;
    // A stale lock is removed only once. A second lock belongs to another process that was faster.
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

/// The process that holds a lock. Any user may have created any kind of file there.
fn holder(lock: &Path) -> Holder {
    let text = match lock_text(lock) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Holder::Gone,
        Err(_) => return Holder::Alive(format!("the owner of {}", lock.display())),
    };
    let text = String::from_utf8_lossy(&text);
    match text.trim().parse().ok().and_then(Pid::from_raw) {
        Some(pid) if test_kill_process(pid) == Err(rustix::io::Errno::SRCH) => Holder::Gone,
        Some(pid) => Holder::Alive(format!("process {pid}")),
        // Like the X server, replaces a lock that does not contain a number.
        None => Holder::Gone,
    }
}

/// The eleven bytes of a lock file. Fails if the file is not a regular file.
pub(crate) fn lock_text(lock: &Path) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(lock)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = Vec::new();
    file.take(LOCK_LEN).read_to_end(&mut text)?;
    Ok(text)
}
