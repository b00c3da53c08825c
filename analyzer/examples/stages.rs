//! How many requests a second each stage of the analysis takes: `stages TRACE [memory|file] [PARAMETERS]`.
//!
//! Prints a line a stage: its name, requests, seconds. Each stage does the work of those before it
//! as well. The stages in memory begin with the trace's records, the last one with its file; `file`
//! runs that one only, once, and prints the peak of resident memory as well.
#![allow(clippy::print_stdout, reason = "a command-line tool")]

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::time::{Duration, Instant};

use x11prof_analyzer::{Blocking, Observation, Pipeline, Profile, profile_trace};
use x11prof_cost_model::{ServerParameters, Substitutions, built_in};
use x11prof_protocol::{Connection, Extensions, Input, Message, Side};
use x11prof_trace::{ConnectionId, Direction, Part, Reader, Record};

/// Rounds of each stage; the fastest counts, for what disturbs only ever slows down.
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let trace = arguments
        .next()
        .ok_or("usage: stages TRACE [memory|file] [PARAMETERS]")?;
    let what = arguments.next().unwrap_or_else(|| "memory".to_owned());
    let name = arguments.next().unwrap_or_else(|| "sun4-ipc".to_owned());
    let parameters = match built_in().iter().find(|known| known.name == name) {
        Some(known) => known.parameters()?,
        None => ServerParameters::from_toml(&std::fs::read_to_string(&name)?)?,
    };
    let open = || Ok::<_, Box<dyn Error>>(Reader::new(BufReader::new(File::open(&trace)?))?);
    if what == "memory" {
        let mut reader = open()?;
        let mut records = Vec::new();
        while let Some(record) = reader.next()? {
            records.push(record);
        }
        stage("framing", ROUNDS, || framing(&records, false));
        stage("decoding", ROUNDS, || framing(&records, true));
        stage("operations", ROUNDS, || operations(&records));
        stage("prices", ROUNDS, || prices(&records, &parameters));
    }
    let mut failed = None;
    stage("prices, from the file", 1, || {
        let count = || {
            let mut profiles = [profile(&parameters)];
            profile_trace(&mut open()?, &mut profiles)?;
            Ok::<u64, Box<dyn Error>>(count(&profiles[0]))
        };
        count().unwrap_or_else(|error| {
            failed = Some(error);
            0
        })
    });
    if what == "file" {
        println!("peak\t{}", peak()?);
    }
    failed.map_or(Ok(()), Err)
}

/// The peak of resident memory so far, in bytes (proc(5), VmHWM).
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    Ok(kib.ok_or("no VmHWM in /proc/self/status")? * 1024)
}

fn stage(name: &str, rounds: usize, mut run: impl FnMut() -> u64) {
    let mut best = Duration::MAX;
    let mut requests = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        requests = black_box(run());
        best = best.min(start.elapsed());
    }
    println!("{name}\t{requests}\t{}", best.as_secs_f64());
}

/// Message boundaries, names, numbers and pairs; and each request's fields too with `decode`.
fn framing(records: &[Record], decode: bool) -> u64 {
    let mut connections: HashMap<ConnectionId, Connection> = HashMap::new();
    let mut extensions = Extensions::new();
    let mut requests = 0;
    for record in records {
        let Record::Block(block) = record else {
            continue;
        };
        let side = match block.direction {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        };
        let connection = connections.entry(block.connection).or_default();
        for part in block.parts() {
            let input = match part {
                Part::Kept(bytes) => Input::Bytes(bytes),
                Part::Left(len) => Input::Omitted(len),
            };
            connection.feed(side, input, &mut extensions, |message, extensions| {
                if let Message::Request(request) = message {
                    requests += 1;
                    if decode {
                        let _ = black_box(request.decode(extensions));
                    }
                }
            });
        }
    }
    requests
}

fn operations(records: &[Record]) -> u64 {
    let mut pipeline = Pipeline::new();
    let mut requests = 0;
    for record in records {
        pipeline.feed(record, |observation| {
            if let Observation::Message(seen) = observation
                && seen.operation.is_some()
            {
                requests += 1;
            }
        });
    }
    requests
}

fn prices(records: &[Record], parameters: &ServerParameters) -> u64 {
    let mut pipeline = Pipeline::new();
    let mut profile = profile(parameters);
    for record in records {
        pipeline.feed(record, |observation| profile.observe(observation));
    }
    count(&profile)
}

fn profile(parameters: &ServerParameters) -> Profile {
    Profile::new(parameters, &Substitutions::default(), Blocking::default())
}

fn count(profile: &Profile) -> u64 {
    profile.lines().map(|(_, line)| line.count).sum()
}
