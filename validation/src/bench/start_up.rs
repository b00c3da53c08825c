//! The start-up rows of `cargo xtask bench proxy`: the duration of programs that connect, draw and exit, alternately
//! direct and through a running recorder, without pinning.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::way::{Way, median, x11prof};
use super::x_server::XServer;
use xtask::packages::on_path;

/// The name of the row in the benchmark.
pub(super) const NAME: &str = "start-up";
/// The processors of the server and of all other processes.
const ANY_CPU: &str = "0-1";
/// The recorder's display.
const DISPLAY: u32 = 484;
/// The accepted extra time of a recorded start-up: the greater of the two.
const MAX_EXTRA_MS: f64 = 1.0;
const MAX_EXTRA_SHARE: f64 = 0.02;
/// Turns of each program for each round of the bench.
const TURNS: usize = 10;

const PROGRAMS: &[&[&str]] = &[
    &["xdpyinfo"],
    &["xterm", "-e", "true"],
    &["emacs", "-Q", "--eval", "(kill-emacs)"],
];

/// Measures, and prints a row for each program.
pub(super) fn bench(rounds: usize, folder: &Path) -> Result<(), String> {
    let server = XServer::start(ANY_CPU)?;
    let direct = Way {
        name: "direct",
        display: server.display(),
        authority: PathBuf::from("/dev/null"),
        relay: None,
        is_printer: false,
    };
    let recorded = x11prof(&server, folder, DISPLAY)?;
    println!("start-up, ms, in turns, medians:");
    for program in PROGRAMS.iter().filter(|program| on_path(program[0])) {
        let mut taken = [Vec::new(), Vec::new()];
        for turn in 0..=rounds * TURNS {
            for place in [turn % 2, 1 - turn % 2] {
                let way = [&direct, &recorded][place];
                let ms = run(program, way)?;
                // The first turn only loads the program's files into memory.
                if turn > 0 {
                    taken[place].push(ms);
                }
            }
        }
        let [direct, recorded] = taken.map(|mut all| median(&mut all));
        let (more, share) = (recorded - direct, recorded / direct - 1.0);
        let verdict = match more <= MAX_EXTRA_MS || share <= MAX_EXTRA_SHARE {
            true => "reached",
            false => "missed",
        };
        println!(
            "{:<12} direct {direct:7.2}  recorded {recorded:7.2}  {more:+.2} ms ({:+.1} %), \
             1 ms or 2 % wanted: {verdict}",
            program[0],
            100.0 * share
        );
    }
    Ok(())
}

/// The duration of one start-up, in milliseconds.
fn run(program: &[&str], way: &Way) -> Result<f64, String> {
    let start = Instant::now();
    let status = Command::new(program[0])
        .args(&program[1..])
        .env("DISPLAY", &way.display)
        .env("XAUTHORITY", &way.authority)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run {}: {error}", program[0]))?;
    match status.success() {
        true => Ok(start.elapsed().as_secs_f64() * 1e3),
        false => Err(format!("{} failed: {status}", program[0])),
    }
}
