//! `cargo xtask validate replay same`: one server against itself, twenty times. `replay --times` must report a real
//! difference in at most one trial.

use std::process::Command;

use serde_json::Value;

use super::programs::PROGRAMS;
use super::reported;
use xtask::run::target;

const TRIALS: usize = 20;
/// The number of replays to each server in a trial.
const TIMES: &str = "6";
const SERVER: &str = "Xvfb -screen 0 1280x1024x24";

/// Records the first program, and compares equal servers.
pub(super) fn validate() -> Result<(), String> {
    let folder = target().join("validate/replay-same");
    std::fs::create_dir_all(&folder).map_err(reported)?;
    let trace = folder.join("recorded.mcap");
    super::carried::record(&PROGRAMS[0], &trace)?;
    println!("| trial | change | smallest distinguished change | reported |");
    println!("|---:|---:|---:|---|");
    let mut reported_as_real = 0;
    for trial in 1..=TRIALS {
        let servers = [SERVER; 2].map(|server| ["--server-command", server]);
        let output = Command::new(target().join("release/x11prof"))
            .arg("replay")
            .arg(&trace)
            .args(servers.as_flattened())
            .args(["--times", TIMES, "--pace", "full", "--format", "json", "-o"])
            .arg(folder.join("replay.mcap"))
            .output()
            .map_err(reported)?;
        let compared: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let replays = &compared["servers"][2]["replays"];
        let of = |name: &str| replays[name].as_f64().ok_or("no change");
        let (change, margin) = (of("change_percent")?, of("margin_percent")?);
        let is_real = change.abs() > margin;
        reported_as_real += usize::from(is_real);
        let verdict = if is_real { "real" } else { "not real" };
        println!("| {trial} | {change:+.1} % | {margin:.1} % | {verdict} |");
    }
    println!("\nEqual servers: {reported_as_real} of {TRIALS} trials report a real difference.");
    match reported_as_real <= TRIALS / 20 {
        true => Ok(()),
        false => Err("equal servers differ".to_owned()),
    }
}
