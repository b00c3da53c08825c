//! The picture of `top`, on a private display.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::display::xvfb;
use super::terminal::svg;
use crate::run::{cargo, run, target};

/// The programs, with typical desktop names, and their commands.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("viewer", &["redraw", "400"]),
    ("launcher", &["grab"]),
    ("player", &["leak"]),
    ("eyes", &["poll"]),
];
/// Texts on the screen when `top` has found each of the four problems.
const FOUND: [&str; 4] = ["% of the server", "grabbed the server", "grow by", "polls:"];
/// Time limit for finding them.
const PATIENCE: Duration = Duration::from_secs(40);
const COLUMNS: usize = 80;

/// Writes the picture to `path`.
pub(super) fn picture(path: &Path) -> Result<(), String> {
    run(cargo().args(["build", "--locked", "--example", "troubles"]))?;
    // An earlier run may have left files.
    let folder = target().join("pictures");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let (mut processes, display) = xvfb(&target().join("debug/x11prof"))?;
    for (name, does) in PROGRAMS {
        let program = folder.join(name);
        symlink(target().join("debug/examples/troubles"), &program)
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let started = Command::new(&program)
            .args(does)
            .env("DISPLAY", &display)
            .stdout(Stdio::null())
            .spawn();
        processes
            .0
            .push(started.map_err(|error| format!("cannot run {name}: {error}"))?);
    }
    let socket = folder.join("tmux");
    let tmux = |words: &[&str]| -> Result<String, String> {
        let mut tmux = Command::new("tmux");
        let done = tmux.arg("-S").arg(&socket).args(words).output();
        let done = done.map_err(|error| format!("cannot run tmux: {error}"))?;
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let top = format!(
        "{} top --display {display}",
        target().join("debug/x11prof").display()
    );
    let size = COLUMNS.to_string();
    tmux(&[
        "-f",
        "/dev/null",
        "new-session",
        "-d",
        "-x",
        &size,
        "-y",
        "24",
        &top,
    ])?;
    let began = Instant::now();
    let screen = loop {
        std::thread::sleep(Duration::from_millis(500));
        let screen = tmux(&["capture-pane", "-p"])?;
        let all = FOUND.iter().all(|found| screen.contains(found));
        // By then `top`'s window of five seconds is full.
        if all && began.elapsed() > Duration::from_secs(8) {
            break screen;
        }
        if began.elapsed() > PATIENCE {
            tmux(&["kill-server"])?;
            return Err(format!("not all of {FOUND:?} is on the screen:\n{screen}"));
        }
    };
    tmux(&["kill-server"])?;
    let lines: Vec<&str> = screen.trim_end().lines().collect();
    let picture = svg(&lines, COLUMNS, |line| line.contains('▾'));
    std::fs::write(path, picture).map_err(|error| format!("{}: {error}", path.display()))
}
