//! Files that are made once for all tests.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::place::{Place, keep};
use super::programs::{Finished, needs};
use super::turns::side_by_side;

/// A recording of xterm listing a tree, made once for all tests.
pub(crate) fn xterm_trace() -> &'static Path {
    static TRACE: OnceLock<PathBuf> = OnceLock::new();
    // The thread that makes the file must not wait for a turn while other threads wait for the file.
    let _turn = side_by_side();
    TRACE.get_or_init(|| {
        needs("Xvfb", "xvfb");
        needs("xterm", "xterm");
        let place = Place::new();
        let trace = place.path("xterm.mcap");
        let mut command = place.x11prof(["record", "--server", "xvfb", "-o"]);
        command
            .arg(&trace)
            .args(["--", "xterm", "-e", "ls -laR /usr/share/doc"]);
        Finished::of(&mut command).succeeded();
        keep(place, trace)
    })
}

/// Parameters of this machine's Xvfb, measured quickly, once for all tests.
pub(crate) fn xvfb_parameters() -> &'static Path {
    static PARAMETERS: OnceLock<PathBuf> = OnceLock::new();
    let _turn = side_by_side();
    PARAMETERS.get_or_init(|| {
        needs("Xvfb", "xvfb");
        let place = Place::new();
        let file = place.path("xvfb.toml");
        let mut command = place.x11prof(["calibrate", "--quick", "--server", "xvfb", "-o"]);
        Finished::of(command.arg(&file)).succeeded();
        keep(place, file)
    })
}
