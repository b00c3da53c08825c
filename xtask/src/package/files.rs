//! Files of a package, with modes that do not depend on the builder.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::run;

/// A folder with the files as they will be installed.
pub(super) struct Stage {
    folder: PathBuf,
}

impl Stage {
    /// Creates an empty stage.
    pub(super) fn new(folder: &Path) -> Result<Stage, String> {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| reported(folder, &error))?;
        }
        let stage = Stage {
            folder: folder.to_owned(),
        };
        stage.make_folder(Path::new(""))?;
        Ok(stage)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a file and its parent folders.
    pub(super) fn put(&self, path: &str, bytes: &[u8], mode: u32) -> Result<PathBuf, String> {
        let mut above: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            self.make_folder(folder)?;
        }
        let path = self.folder.join(path);
        write(&path, bytes, mode)?;
        Ok(path)
    }

    /// Writes a file compressed, without a time stamp.
    pub(super) fn put_compressed(&self, path: &str, bytes: &[u8]) -> Result<(), String> {
        let path = self.put(path, bytes, 0o644)?;
        run(Command::new("gzip").args(["-9nf"]).arg(&path))
    }

    fn make_folder(&self, folder: &Path) -> Result<(), String> {
        let folder = self.folder.join(folder);
        fs::create_dir_all(&folder).map_err(|error| reported(&folder, &error))?;
        set_mode(&folder, 0o755)
    }
}

/// Writes a file with this mode.
pub(super) fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| reported(path, &error))?;
    set_mode(path, mode)
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| reported(path, &error))
}

fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(|error| reported(path, &error))
}

pub(super) fn reported(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
