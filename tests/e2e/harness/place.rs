//! A test's scratch folder, and x11prof run in it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::awake::keep_awake;
use super::programs::Finished;
use super::turns::{Turn, side_by_side};

/// A scratch folder with commands run in it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    _turn: Turn,
}

impl Place {
    pub(crate) fn new() -> Place {
        keep_awake();
        Place {
            folder: tempfile::tempdir().expect("a scratch folder"),
            _turn: side_by_side(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a scratch file");
        path
    }

    /// The permissions of a file.
    pub(crate) fn mode(&self, name: &str) -> u32 {
        let file = std::fs::metadata(self.path(name)).expect("a file");
        file.permissions().mode() & 0o777
    }

    /// An x11prof command in this folder, without the user's display and cookies.
    pub(crate) fn x11prof<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_x11prof"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("DISPLAY")
            .env_remove("XAUTHORITY")
            .env("HOME", self.folder.path())
            // All tests share one probe of this machine.
            .env(
                "XDG_DATA_HOME",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/data"),
            )
            // Files that a killed x11prof leaves behind are removed with the folder.
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs x11prof to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Finished {
        Finished::of(&mut self.x11prof(arguments))
    }

    /// Runs x11prof, asserts success, and returns its standard output.
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        self.run(arguments).succeeded()
    }

    /// Compares all reports on a recording with each other.
    pub(crate) fn audit(&self, trace: impl AsRef<Path>) -> x11prof_audit::Audit {
        let x11prof = || self.x11prof([""; 0]);
        x11prof_audit::recording(&x11prof, trace.as_ref(), None).expect("reports")
    }

    /// Asserts that no report on a recording contradicts another one.
    pub(crate) fn passes_audit(&self, trace: &str) {
        let found = self.audit(trace);
        assert!(found.violations.is_empty() && found.made() > 0, "{found}");
    }

    /// Runs x11prof and parses the JSON that it prints.
    pub(crate) fn json<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> serde_json::Value {
        let text = self.ok(arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}):\n{text}"))
    }
}

/// Keeps a file or folder beyond its `Place`, for sharing between all tests of this process. Removes the kept files
/// of processes that have ended.
pub(crate) fn keep(place: Place, file: PathBuf) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept");
    for of in std::fs::read_dir(&all).into_iter().flatten().flatten() {
        if !Path::new("/proc").join(of.file_name()).exists() {
            // Another test may have removed it.
            let _ = std::fs::remove_dir_all(of.path());
        }
    }
    let name = file.file_name().expect("a file's name");
    // Several tests may keep files with the same name.
    static KEPT: AtomicUsize = AtomicUsize::new(0);
    let number = KEPT.fetch_add(1, Ordering::Relaxed).to_string();
    let mine = all.join(std::process::id().to_string()).join(number);
    std::fs::create_dir_all(&mine).expect("a folder for shared files");
    let kept = mine.join(name);
    let copied = Command::new("cp").arg("-r").arg(&file).arg(&kept).status();
    assert!(copied.is_ok_and(|status| status.success()), "{kept:?}");
    drop(place);
    kept
}
