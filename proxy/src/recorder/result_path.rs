//! The path of a result. Other users cannot redirect it to other files while the result is written.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC, fstatfs, mkdirat, open, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The maximum number of links on a path, as in the kernel.
const MOST_LINKS: usize = 40;

/// A path for a result: an open folder, and a name in it that is no link.
#[derive(Debug)]
pub struct ResultPath {
    /// Keeps the number in `path` valid.
    _folder: OwnedFd,
    path: PathBuf,
    is_nameless: bool,
}

/// Renames the file at `path` to `FILE.old`. An empty file is not kept.
///
/// # Errors
/// Fails if there is a file that cannot be renamed.
pub(super) fn keep_as_old(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    fs::rename(path, old(path))
}

/// The name of a result's earlier contents.
pub(super) fn old(path: &Path) -> PathBuf {
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    old.into()
}

impl ResultPath {
    /// Resolves `path`. The last part need not exist. If it is a link, its target is replaced and the link is kept.
    ///
    /// # Errors
    /// Fails if there is no such folder, or if a link on the path belongs to another user, who could redirect the
    /// result to any file of this user.
    pub fn of(path: &Path) -> io::Result<ResultPath> {
        let (folder, name, is_nameless) = walk(path, None)?;
        let name = name.ok_or(ErrorKind::IsADirectory)?;
        Ok(ResultPath {
            path: at(&folder, &name),
            _folder: folder,
            is_nameless,
        })
    }

    /// Renames the file to `FILE.old`, if there is one that is not empty.
    ///
    /// # Errors
    /// Fails if the file cannot be renamed.
    pub fn keep_as_old(&self) -> io::Result<()> {
        keep_as_old(&self.path)
    }

    /// The path for system calls: `/proc/self/fd/N/NAME`, where `N` is the folder's descriptor.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True for an open file without a name, which `/dev/stdout` may be.
    pub fn is_nameless(&self) -> bool {
        self.is_nameless
    }

    /// The file with this path; `None` if there is none.
    pub fn metadata(&self) -> Option<Metadata> {
        match self.is_nameless {
            true => fs::metadata(&self.path).ok(),
            false => fs::symlink_metadata(&self.path).ok(),
        }
    }
}

/// The path of `name` in an open folder.
fn at(folder: &OwnedFd, name: &OsStr) -> PathBuf {
    let folder = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    folder.join(name)
}

/// Converts a [`ResultPath::path`] to the file's current name, for messages.
pub(crate) fn shown(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| fs::read_link(folder).ok());
    let name = path.file_name().unwrap_or_default();
    folder.map_or_else(|| path.to_owned(), |folder| folder.join(name))
}

/// Creates a folder and its parents, with a mode that the umask limits.
///
/// # Errors
/// Fails if the path leads through a link of another user, who could redirect the results to any folder of this user.
pub fn create_folder(path: &Path, mode: u32) -> io::Result<()> {
    let (folder, ..) = walk(path, Some(Mode::from_raw_mode(mode)))?;
    match File::from(folder).metadata()?.is_dir() {
        true => Ok(()),
        false => Err(ErrorKind::NotADirectory.into()),
    }
}

/// Opens the parts of `path`, each in the folder before it. Returns the last folder, the name in it, and true if the
/// name is of an open file without a name. With a `mode`, the whole path is a folder, missing parts are created, and
/// the name is `None`.
fn walk(path: &Path, mode: Option<Mode>) -> io::Result<(OwnedFd, Option<OsString>, bool)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut folder = openat(CWD, ".", flags, Mode::empty())?;
    let (mut rest, mut steps) = (parts(path), 0);
    while let Some(part) = rest.pop() {
        if part == "/" {
            folder = open("/", flags, Mode::empty())?;
            continue;
        }
        let found = match (openat(&folder, &part, flags, Mode::empty()), mode) {
            (Ok(found), _) => File::from(found),
            (Err(Errno::NOENT), Some(mode)) if steps < MOST_LINKS => {
                steps += 1;
                match mkdirat(&folder, &part, mode) {
                    Ok(()) | Err(Errno::EXIST) => rest.push(part),
                    Err(error) => return Err(error.into()),
                }
                continue;
            }
            (Err(Errno::NOENT), None) if rest.is_empty() => return Ok((folder, Some(part), false)),
            (Err(error), _) => return Err(error.into()),
        };
        // The owner and the target are those of one link, even if another user replaces the link meanwhile.
        let about = found.metadata()?;
        if !about.is_symlink() {
            if rest.is_empty() && mode.is_none() {
                return Ok((folder, Some(part), false));
            }
            folder = found.into();
            continue;
        }
        if !is_ours(&about) {
            return Err(io::Error::other("a link of another user; name its target"));
        }
        steps += 1;
        if steps > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = if fstatfs(&found)?.f_type == PROC_SUPER_MAGIC {
            // The kernel follows such a link to an open file, which may have no name.
            match fs::canonicalize(at(&folder, &part)) {
                Ok(target) => target,
                Err(_) if rest.is_empty() => return Ok((folder, Some(part), true)),
                Err(error) => return Err(error),
            }
        } else {
            let target = readlinkat(&found, "", Vec::new())?;
            PathBuf::from(OsStr::from_bytes(target.as_bytes()))
        };
        rest.extend(parts(&target));
    }
    Ok((folder, None, false))
}

pub(crate) fn is_ours(found: &Metadata) -> bool {
    found.uid() == 0 || found.uid() == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way_are_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap();
        let link = |target: &str, name: &str| symlink(target, place.join(name)).unwrap();
        fs::create_dir_all(place.join("a/b")).unwrap();
        link("a/b", "short");
        link("../b/./y", "a/b/up");
        link(place.join("short").to_str().unwrap(), "whole");
        link("loop", "loop");
        let of = |path: &str| ResultPath::of(&place.join(path));
        for (path, target) in [
            ("short/new", "a/b/new"),
            ("whole/../new", "a/new"),
            ("whole/up", "a/b/y"),
            ("./new", "new"),
        ] {
            let found = shown(of(path).unwrap().path());
            assert_eq!(found, place.join(target), "{path}");
        }
        for (path, why) in [
            ("loop", "symbolic links"),
            ("none/new", "No such file"),
            ("/", "directory"),
        ] {
            let refused = of(path).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
        create_folder(&place.join("short/../x/y"), 0o700).unwrap();
        assert!(place.join("a/x/y").is_dir());
        fs::write(place.join("file"), "").unwrap();
        create_folder(&place.join("file"), 0o700).unwrap_err();
    }

    #[test]
    fn a_folder_that_a_link_replaces_stays_the_folder_of_the_result() {
        let dir = tempfile::tempdir().unwrap();
        let [out, moved, victim] = ["out", "moved", "victim"].map(|name| dir.path().join(name));
        for folder in [&out, &victim] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("result"), "old").unwrap();
        }
        let result = ResultPath::of(&out.join("result")).unwrap();
        fs::rename(&out, &moved).unwrap();
        symlink(&victim, &out).unwrap();
        fs::write(result.path(), "new").unwrap();
        assert_eq!(fs::read_to_string(victim.join("result")).unwrap(), "old");
        assert_eq!(fs::read_to_string(moved.join("result")).unwrap(), "new");
    }
}
