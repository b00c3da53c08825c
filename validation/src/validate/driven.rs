//! `cargo xtask validate network driven`: compares forecast latencies of keys over a link with recordings of the same
//! session over that link. A session is a start-up, a click and letters. xdotool sends them to the server directly, so
//! the link delays only the program.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use super::forecast::{
    LINKS, LONGEST, Pair, SECONDS, build, over_link, program, record, start_up, summary,
};
use super::{median, reported};
use crate::bench::x_server::XServer;
use xtask::packages::{DEMO, MORE_PROGRAMS, Needed, TEST, ensure};
use xtask::run::target;

/// The programs.
const PROGRAMS: [(&str, &[&str]); 6] = [
    ("xterm", &["xterm", "-e", "cat"]),
    ("xedit", &["xedit"]),
    ("featherpad", &["featherpad"]),
    ("mousepad", &["mousepad"]),
    ("emacs", &["emacs", "-Q"]),
    ("xfig", &["xfig"]),
];
/// The letters of a session.
const KEYS: &str = "network ";
/// The time from one letter to the next: in round trips and in seconds more, and at least so many forecast latencies.
const GAP: (f64, f64, f64) = (8.0, 0.4, 1.5);
/// The time in which a program handles the click after its start-up, in seconds.
const REST: f64 = 2.0;

/// Runs the programs whose names contain one of `arguments`, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let xdotool = Needed {
        program: "xdotool",
        package: "xdotool",
    };
    ensure(&[DEMO, TEST, MORE_PROGRAMS, &[xdotool]])?;
    build()?;
    let folder = target().join("validate/driven");
    std::fs::create_dir_all(&folder).map_err(reported)?;
    let (here, there) = (folder.join("here.mcap"), folder.join("there.mcap"));
    let mut pairs = Vec::new();
    for (name, command) in PROGRAMS {
        if !arguments.is_empty() && !arguments.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        // The first run reads the program's files from the disk.
        record(command, &[], SECONDS, &here)?;
        let mut links = Vec::new();
        for (link, speed, rtt) in LINKS {
            let Some(local) = start_up(&here, link)? else {
                println!("{name}: no first frame");
                break;
            };
            match local.forecast_ms > LONGEST {
                true => println!(
                    "{name} {link}: not recorded, start-up {:.0} ms",
                    local.forecast_ms
                ),
                false => links.push((link, speed, rtt, over_link(&local))),
            }
        }
        // On each link, the start-up ends before the click, also in a forecast from this recording.
        let start = links.iter().map(|link| link.3).fold(SECONDS, f64::max);
        session(command, None, start, GAP.1, &here)?;
        for (link, speed, rtt, start) in links {
            let Some((forecast, bytes, trips)) = keys(&here, Some(link))? else {
                println!("{name} {link}: no keys");
                continue;
            };
            let here_ms = keys(&here, None)?.map_or(f64::NAN, |(latency, ..)| latency);
            let gap = (GAP.1 + GAP.0 * rtt / 1e3).max(GAP.2 * forecast / 1e3);
            session(command, Some(link), start, gap, &there)?;
            let Some((measured, ..)) = keys(&there, None)? else {
                println!("{name} {link}: no keys were recorded over the link");
                continue;
            };
            let pair = Pair {
                forecast,
                equation_7: here_ms + bytes / speed * 1e3 + trips * rtt,
                measured,
            };
            println!(
                "{name} {link}: here {here_ms:.1} ms, forecast {forecast:.1} ms, measured {measured:.1} ms, {:+.1} % ({:+.1} ms)",
                100.0 * (forecast / measured - 1.0),
                forecast - measured
            );
            pairs.push(pair);
        }
    }
    summary("simulated", &pairs, |pair| pair.forecast);
    summary("equation 7", &pairs, |pair| pair.equation_7);
    Ok(())
}

/// Records a session. `start` is the time until the click, and `gap` the time from one letter to the next, in seconds.
fn session(
    command: &[&str],
    link: Option<&str>,
    start: f64,
    gap: f64,
    trace: &Path,
) -> Result<(), String> {
    let server = XServer::start("0")?;
    let display = server.display();
    let seconds = start + REST + gap * (KEYS.len() as f64 + 2.0) + REST;
    let mut recorder = Command::new(program())
        .args(["record", "-o"])
        .arg(trace)
        .args(link.iter().flat_map(|link| ["--net", link]))
        .args(["--", "timeout", "-k", "1", &seconds.to_string()])
        .args(command)
        .current_dir(trace.parent().unwrap_or(Path::new(".")))
        .env("DISPLAY", &display)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(reported)?;
    sleep(Duration::from_secs_f64(start));
    let driven = drive(&display, gap);
    recorder.wait().map_err(reported)?;
    driven
}

/// Clicks into the program's window, and types.
fn drive(display: &str, gap: f64) -> Result<(), String> {
    let xdotool = |words: &[&str]| {
        Command::new("xdotool")
            .args(words)
            .env("DISPLAY", display)
            .stdout(Stdio::null())
            .status()
            .map(drop)
            .map_err(reported)
    };
    xdotool(&["mousemove", "150", "150", "click", "1"])?;
    sleep(Duration::from_secs_f64(REST));
    for letter in KEYS.chars() {
        let key = if letter == ' ' {
            "space".to_owned()
        } else {
            letter.to_string()
        };
        xdotool(&["key", &key])?;
        sleep(Duration::from_secs_f64(gap));
    }
    Ok(())
}

/// The median latency of the keys in a trace in milliseconds, as recorded or over a link, and the bytes and round trips
/// of a key; `None` without keys.
fn keys(trace: &Path, link: Option<&str>) -> Result<Option<(f64, f64, f64)>, String> {
    let output = Command::new(program())
        .args(["episodes", "--all", "--format", "json"])
        .args(link.iter().flat_map(|link| ["--net", link]))
        .arg(trace)
        .output()
        .map_err(reported)?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let is_key = |episode: &&Value| {
        let landmark = episode["landmark"].as_str();
        landmark.is_some_and(|name| name.starts_with("KeyPress"))
    };
    let episodes = report["episodes"].as_array().into_iter().flatten();
    let keys: Vec<&Value> = episodes.filter(is_key).collect();
    let of = |name: &str| median(keys.iter().filter_map(|key| key[name].as_f64()));
    Ok((!keys.is_empty()).then(|| (of("latency_ms"), of("bytes"), of("round_trips"))))
}
