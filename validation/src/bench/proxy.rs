//! `cargo xtask bench proxy`: x11perf directly, through x11prof recording to disk, through a relay that only copies,
//! and through xtrace and xscope if they are installed.
//!
//! All connections alternate in each round, with the same pinning: the server on processor 0, the client on 1, the
//! relays on either. The rates of each x11perf run are printed as they are measured; at the end, medians over the
//! rounds and their ratios to the direct connection and to the copying relay. Relays that print messages are slow, so
//! they run only in the first round, with fast tests. Start-ups (`start_up.rs`) and round trips (`round_trip.rs`) come first.

use std::path::Path;
use std::process::Command;

use super::way::{Way, median, relay, x11prof};
use super::x_server::XServer;
use super::x11perf::rates;
use super::{round_trip, start_up, trace_size};
use xtask::packages::{DEMO, TEST, ensure, on_path};
use xtask::run::{cargo, run, target};

/// The tests, each with the minimum acceptable ratio and its reference.
const TESTS: &[(&str, f64, &str)] = &[
    ("noop", 0.50, "direct"),
    ("rect10", 0.95, "direct"),
    ("ftext", 0.95, "direct"),
    ("putimage10", 0.60, "direct"),
    ("putimage500", 0.75, "direct"),
    ("shmput500", 0.95, "direct"),
    ("getimage10", 0.95, "copy"),
    ("prop", 0.95, "copy"),
];
/// The tests for relays that print messages.
const QUICK_PRINTED: &[&str] = &["noop", "getimage10", "prop"];
const SERVER_CPU: &str = "0";
const CLIENT_CPU: &str = "1";
/// The first display number for the relays.
const FIRST_DISPLAY: u32 = 480;

/// Runs the benchmark. The first of `arguments` is the number of rounds, the others select tests.
pub(crate) fn bench(arguments: &[String]) -> Result<(), String> {
    let rounds = match arguments.first() {
        Some(number) => number
            .parse()
            .map_err(|_| format!("{number} is no number of rounds"))?,
        None => 3,
    };
    let wanted = arguments.get(1..).unwrap_or_default();
    let tests: Vec<_> = TESTS
        .iter()
        .filter(|(test, ..)| wanted.is_empty() || wanted.iter().any(|wanted| wanted == test))
        .collect();
    ensure(&[DEMO, TEST])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    if wanted.is_empty() || wanted.iter().any(|wanted| wanted == start_up::NAME) {
        start_up::bench(rounds, &folder)?;
    }
    let round_trips = wanted.is_empty() || wanted.iter().any(|wanted| wanted == round_trip::NAME);
    if tests.is_empty() && !round_trips {
        return Ok(());
    }
    let server = XServer::start(SERVER_CPU)?;
    let ways = ways(&server, &folder)?;
    if round_trips {
        round_trip::bench(rounds, &ways, CLIENT_CPU)?;
    }
    if tests.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = tests.iter().map(|(test, ..)| *test).collect();
    let mut results = vec![vec![Vec::new(); ways.len()]; tests.len()];
    println!("operations per second, as they come (xtrace, xscope: once, and not all tests):");
    for round in 1..=rounds {
        for (at, way) in ways.iter().enumerate() {
            let names: Vec<&str> = if !way.is_printer {
                names.clone()
            } else if round == 1 {
                let quick = names.iter().filter(|name| QUICK_PRINTED.contains(name));
                quick.copied().collect()
            } else {
                continue;
            };
            if names.is_empty() {
                continue;
            }
            let measured = match rates(&names, &way.display, &way.authority, CLIENT_CPU) {
                Err(error) if way.is_printer => {
                    println!("round {round}  {:<8} nothing: {error}", way.name);
                    continue;
                }
                measured => measured?,
            };
            let mut row = format!("round {round}  {:<8}", way.name);
            for (name, rate) in names.iter().zip(measured) {
                row += &format!("  {name} {rate:.0}");
                let test = tests.iter().position(|(test, ..)| test == name);
                if let Some(results) = test.and_then(|test| results.get_mut(test)) {
                    results[at].push(rate);
                }
            }
            println!("{row}");
        }
    }
    print(&tests, &ways, &mut results);
    let trace = std::fs::metadata(folder.join("bench.mcap")).map_or(0, |meta| meta.len());
    println!("the trace of all rounds: {} MB", trace / 1_000_000);
    trace_size::print(&folder)
}

fn ways(server: &XServer, folder: &Path) -> Result<Vec<Way>, String> {
    let none = folder.join("no-authority");
    let direct = Way {
        name: "direct",
        display: server.display(),
        authority: none.clone(),
        relay: None,
        is_printer: false,
    };
    let mut ways = vec![direct];
    let socket = |number: u32| format!("/tmp/.X11-unix/X{number}");
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let copy = FIRST_DISPLAY;
    // A killed benchmark may have left the socket behind.
    let _ = std::fs::remove_file(socket(copy));
    ways.push(relay(
        "copy",
        copy,
        none.clone(),
        Command::new(this).args(["bench", "plain-relay", &socket(copy), &server.socket()]),
    )?);
    let ours = FIRST_DISPLAY + 1;
    ways.push(x11prof(server, folder, ours)?);
    if on_path("xtrace") {
        let number = FIRST_DISPLAY + 2;
        let mut xtrace = Command::new("xtrace");
        xtrace.args([
            "-k",
            "-n",
            "-d",
            &server.display(),
            "-D",
            &format!(":{number}"),
            "-o",
        ]);
        xtrace.arg(folder.join("xtrace.txt"));
        ways.push(relay("xtrace", number, none.clone(), &mut xtrace)?);
    }
    if on_path("xscope") {
        let number = FIRST_DISPLAY + 3;
        let text = std::fs::File::create(folder.join("xscope.txt")).map_err(|e| e.to_string())?;
        let mut xscope = Command::new("xscope");
        xscope.arg(format!("-d{}", server.display().trim_start_matches(':')));
        xscope.arg(format!("-i{number}")).stdout(text);
        ways.push(relay("xscope", number, none, &mut xscope)?);
    }
    Ok(ways)
}

fn print(tests: &[&(&str, f64, &str)], ways: &[Way], rates: &mut [Vec<Vec<f64>>]) {
    print!("{:<12}", "test");
    for way in ways {
        print!(" {:>12}", way.name);
    }
    let (copy, ours) = (index(ways, "copy"), index(ways, "x11prof"));
    print!(
        " {:>11} {:>14} {:>12}",
        "copy/direct", "x11prof/direct", "x11prof/copy"
    );
    println!("  spread  goal");
    for ((test, goal, of), rates) in tests.iter().zip(rates) {
        let medians: Vec<f64> = rates.iter_mut().map(|rates| median(rates)).collect();
        print!("{test:<12}");
        for median in &medians {
            match median.is_nan() {
                true => print!(" {:>12}", "-"),
                false => print!(" {median:>12.0}"),
            }
        }
        print!(" {:>11.3}", medians[copy] / medians[0]);
        print!(" {:>14.3}", medians[ours] / medians[0]);
        print!(" {:>12.3}", medians[ours] / medians[copy]);
        let ratio = medians[ours] / medians[index(ways, of)];
        let spread = spread(&rates[ours]);
        let verdict = if ratio >= *goal { "reached" } else { "missed" };
        println!("  {spread:>5.1}%  {ratio:.3} of {of}, {goal} wanted: {verdict}");
    }
}

fn index(ways: &[Way], name: &str) -> usize {
    ways.iter().position(|way| way.name == name).unwrap_or(0)
}

/// Half the range of sorted `rates`, in percent of their median.
fn spread(rates: &[f64]) -> f64 {
    match (rates.first(), rates.last(), rates.get(rates.len() / 2)) {
        (Some(first), Some(last), Some(median)) => 50.0 * (last - first) / median,
        _ => f64::NAN,
    }
}
