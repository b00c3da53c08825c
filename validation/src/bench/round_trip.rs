//! The round-trip rows of `cargo xtask bench proxy`: the time from GetInputFocus to its reply, for a client that sends
//! each request at once or after a pause, in which every process falls asleep.

use std::process::Command;
use std::time::{Duration, Instant};

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::ConnectionExt as _;

use super::way::{Way, median};

/// The name of the rows in the benchmark.
pub(super) const NAME: &str = "round-trip";
/// The first argument of the client's process.
pub(super) const CLIENT: &str = "round-trips";
/// The pauses between round trips, in microseconds.
const PAUSES: [u64; 2] = [0, 2000];
/// Round trips of each client.
const ROUND_TRIPS: usize = 1000;
/// Turns for each round of the bench.
const TURNS: usize = 5;

/// Measures the median round trips of `ways` in turns, and prints a row for each pause.
pub(super) fn bench(rounds: usize, ways: &[Way], cpu: &str) -> Result<(), String> {
    println!("round trip of GetInputFocus, µs, in turns, medians:");
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let ways = || ways.iter().filter(|way| !way.is_printer);
    for pause in PAUSES {
        let mut taken = vec![Vec::new(); ways().count()];
        for _ in 0..rounds * TURNS {
            for (way, taken) in ways().zip(&mut taken) {
                let output = Command::new("taskset")
                    .args(["-c", cpu])
                    .arg(&this)
                    .args(["bench", CLIENT, &pause.to_string()])
                    .env("DISPLAY", &way.display)
                    .env("XAUTHORITY", &way.authority)
                    .output()
                    .map_err(|error| format!("cannot run taskset: {error}"))?;
                let text = String::from_utf8_lossy(&output.stdout);
                taken.push(text.trim().parse::<f64>().map_err(|_| {
                    format!("{}: {}", way.name, String::from_utf8_lossy(&output.stderr))
                })?);
            }
        }
        print!("pause {pause:>4} µs");
        for (way, taken) in ways().zip(&mut taken) {
            let middle = median(taken);
            let (least, most) = (taken[0], taken[taken.len() - 1]);
            print!("  {} {middle:.1} [{least:.1} to {most:.1}]", way.name);
        }
        println!();
    }
    Ok(())
}

/// Makes round trips, each after the pause in the first argument (microseconds), and prints their median.
pub(super) fn client(arguments: &[String]) -> Result<(), String> {
    let pause = arguments.first().and_then(|pause| pause.parse().ok());
    let pause = Duration::from_micros(pause.ok_or("the pause is no number")?);
    let (connection, _) = x11rb::connect(None).map_err(|error| error.to_string())?;
    let mut taken = Vec::new();
    for _ in 0..ROUND_TRIPS {
        std::thread::sleep(pause);
        let start = Instant::now();
        let asked = connection.get_input_focus();
        connection.flush().map_err(|error| error.to_string())?;
        let asked = asked.map_err(|error| error.to_string())?;
        asked.reply().map_err(|error| error.to_string())?;
        taken.push(start.elapsed().as_secs_f64() * 1e6);
    }
    println!("{:.2}", median(&mut taken));
    Ok(())
}
