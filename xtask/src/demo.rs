//! `cargo xtask demo`: records a program and prints its execution profile.

use std::process::Command;

use crate::packages::{DEMO, ensure};
use crate::run::{cargo, run, target};

/// Builds, calibrates a private Xvfb, records xterm in it and reports.
pub(crate) fn demo() -> Result<(), String> {
    ensure(&[DEMO])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let x11prof = target().join("release/x11prof");
    let folder = target().join("demo");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let (parameters, trace) = (folder.join("xvfb.toml"), folder.join("xterm.mcap"));
    eprintln!("\n1. What does each request cost a private Xvfb? (about half a minute)");
    run(Command::new(&x11prof)
        .args(["calibrate", "--quick", "--server", "xvfb", "-o"])
        .arg(&parameters))?;
    eprintln!("\n2. Record xterm listing a directory tree in another one.");
    run(Command::new(&x11prof)
        .args(["record", "--server", "xvfb", "-o"])
        .arg(&trace)
        .args(["--", "xterm", "-e", "ls -laR /usr/share/doc"]))?;
    eprintln!("\n3. Where did the time go?");
    run(Command::new(&x11prof)
        .arg("report")
        .arg(&trace)
        .arg("--params")
        .arg(&parameters))
}
