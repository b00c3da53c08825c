//! `cargo xtask validate timed [KIND…]`: compares the handler time of each request with a handler that spins for a
//! known time, and counts the requests that have a handler time at all.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::IoSlice;
use std::path::Path;
use std::process::{Command, Stdio};

use x11prof_trace::{Reader, Record};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::xproto::ConnectionExt as _;

use super::{quantile, reported};
use xtask::packages::{DEMO, Needed, TEST, ensure};
use xtask::run::{cargo, run, target};

const KINDS: [&str; 4] = ["xvfb", "xvnc", "xephyr", "xorg-dummy"];
/// The lengths of the handler, in units of 5 µs, and the requests of each.
const LENGTHS: [u8; 6] = [1, 2, 4, 20, 100, 200];
const EACH: usize = 300;
/// The limits of an error. The larger one applies.
const SHARE: f64 = 0.02;
const MICROS: f64 = 0.2;
/// The argument that makes the program run as the client.
const CLIENT: &str = "client";

/// Runs the check on each kind of server.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    if arguments.first().is_some_and(|word| word == CLIENT) {
        return client();
    }
    const COMPILER: &[Needed] = &[Needed {
        program: "cc",
        package: "gcc",
    }];
    ensure(&[DEMO, TEST, COMPILER])?;
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let folder = target().join("validate/timed");
    fs::create_dir_all(&folder).map_err(reported)?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/e2e/timed/spin.c");
    let library = folder.join("spin.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-DQUIET", "-O2", "-shared", "-fPIC", "-o"]);
    run(compiler.arg(&library).arg(source))?;
    let kinds: Vec<&str> = match arguments {
        [] => KINDS.to_vec(),
        named => named.iter().map(String::as_str).collect(),
    };
    println!(
        "| server | handler, µs | requests | with a time | off, µs: median, 1 % and 99 %, largest | within {:.0} % or {MICROS} µs |",
        SHARE * 100.0
    );
    println!("|---|---:|---:|---:|---|---:|");
    for kind in kinds {
        let trace = folder.join(format!("{kind}.mcap"));
        let mut record = Command::new(target().join("release/x11prof"));
        record
            .args(["record", "--server", kind, "-o"])
            .arg(&trace)
            .arg("--")
            .arg(std::env::current_exe().map_err(reported)?)
            .args(["validate", "timed", CLIENT])
            .env("LD_PRELOAD", &library)
            .stderr(Stdio::null());
        run(&mut record)?;
        rows(kind, &trace)?;
    }
    Ok(())
}

/// Runs as the client: requests of each length in turn, each followed by a round trip, so that equal requests never
/// follow each other.
fn client() -> Result<(), String> {
    const NO_OPERATION: u8 = 127;
    let (x, _) = x11rb::connect(None).map_err(reported)?;
    for _ in 0..EACH {
        for length in LENGTHS {
            let request = [NO_OPERATION, length, 1, 0];
            x.send_request_without_reply(&[IoSlice::new(&request)], Vec::new())
                .map_err(reported)?;
            x.get_input_focus()
                .map_err(reported)?
                .reply()
                .map_err(reported)?;
        }
    }
    x.flush().map_err(reported)
}

/// Prints a row for each length.
fn rows(kind: &str, trace: &Path) -> Result<(), String> {
    let mut reader = Reader::new(File::open(trace).map_err(reported)?).map_err(reported)?;
    // Times by client and sequence number.
    let mut times: HashMap<u16, HashMap<u16, f64>> = HashMap::new();
    while let Some(record) = reader.next().map_err(reported)? {
        let Record::HandlerTimes(of) = record else {
            continue;
        };
        for time in of {
            for nth in 0..time.count as u16 {
                let each = time.took_ns as f64 / f64::from(time.count) / 1e3;
                let number = time.sequence.wrapping_add(nth);
                times.entry(time.client).or_default().insert(number, each);
            }
        }
    }
    let of_client = times.into_values().max_by_key(HashMap::len);
    let times = of_client.ok_or_else(|| format!("{}: no handler is timed", trace.display()))?;
    // x11rb's own requests come first, so only the last pairs of NoOperation and round trip count.
    let all = LENGTHS.len() * EACH * 2;
    let last = times.keys().copied().max().unwrap_or(0);
    let first = last + 1 - all as u16;
    for (nth, length) in LENGTHS.iter().enumerate() {
        let truth = f64::from(*length) * 5.0;
        let numbers = (0..EACH).map(|round| first + ((round * LENGTHS.len() + nth) * 2) as u16);
        let off: Vec<f64> = numbers
            .filter_map(|number| Some(times.get(&number)? - truth))
            .collect();
        let within = off
            .iter()
            .filter(|off| off.abs() <= MICROS.max(SHARE * truth))
            .count();
        println!(
            "| {kind} | {truth} | {EACH} | {:.2} % | {:.2}, {:.2} and {:.2}, {:.1} | {:.1} % |",
            100.0 * off.len() as f64 / EACH as f64,
            quantile(&off, 0.5),
            quantile(&off, 0.01),
            quantile(&off, 0.99),
            off.iter().copied().fold(0.0, f64::max),
            100.0 * within as f64 / off.len().max(1) as f64
        );
    }
    Ok(())
}
