//! A directory that only this user can look into, removed at the end.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};

/// A fresh directory of mode 0700 under the user's runtime directory, or under the temporary
/// one where the session has none. It goes away with its contents on drop.
#[derive(Debug)]
pub(crate) struct PrivateDir(PathBuf);

impl PrivateDir {
    pub(crate) fn new() -> io::Result<PrivateDir> {
        let base = std::env::var_os("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute() && dir.is_dir())
            .unwrap_or_else(std::env::temp_dir);
        let path = base.join(format!("x11prof-{:016x}", u64::from_ne_bytes(random()?)));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(PrivateDir(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // Nothing can be done about a directory that does not go away.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Random bytes of the kernel.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += getrandom(rest, GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
