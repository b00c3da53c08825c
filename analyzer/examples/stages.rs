//! How many requests a second each stage of the analysis takes: `stages TRACE [memory|file] [PARAMETERS]`.
//!
//! Prints a line a stage: its name, requests, seconds of processor time. Each stage does the work of
//! those before it as well. The stages in memory begin with the trace's records, the last one with its
//! file; `file` runs that one only, once, and prints the peak of resident memory as well.
#![allow(clippy::print_stdout, reason = "a command-line tool")]

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::time::Duration;

use x11prof_analyzer::{Blocking, Observation, Pipeline, Profile, profile_trace};
use x11prof_cost_model::{ServerParameters, Substitutions, built_in};
use x11prof_protocol::{Connection, Extensions, Input, Message, Side};
use x11prof_trace::{ConnectionId, Direction, Part, Reader, Record};

/// Rounds of each stage; the fastest counts, for what disturbs only ever slows down.
const ROUNDS: usize = 3;
/// Bytes of records that are read ahead, so that reading is not measured and memory is bounded.
const BATCH: usize = 64 << 20;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
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
    if what == "memory" {
        stage("framing", || {
            let mut frames = Frames::default();
            let took = batches(&trace, |record| frames.record(record, false))?;
            Ok((frames.requests, took))
        })?;
        stage("decoding", || {
            let mut frames = Frames::default();
            let took = batches(&trace, |record| frames.record(record, true))?;
            Ok((frames.requests, took))
        })?;
        stage("operations", || {
            let (mut pipeline, mut requests) = (Pipeline::new(), 0);
            let took = batches(&trace, |record| {
                pipeline.feed(record.clone(), |observation| {
                    if let Observation::Message(seen) = observation {
                        requests += u64::from(seen.operation.is_some());
                    }
                });
            })?;
            Ok((requests, took))
        })?;
        stage("prices", || {
            let (mut pipeline, mut profile) = (Pipeline::new(), profile(&parameters));
            let took = batches(&trace, |record| {
                pipeline.feed(record.clone(), |observation| profile.observe(observation));
            })?;
            Ok((count(&profile), took))
        })?;
    }
    let from_file = || {
        let start = processor_time();
        let mut profiles = [profile(&parameters)];
        profile_trace(&mut open(&trace)?, &mut profiles)?;
        Ok((count(&profiles[0]), processor_time().saturating_sub(start)))
    };
    if what == "file" {
        let (requests, took) = from_file()?;
        print("prices, from the file", requests, took);
        println!("peak\t{}", peak()?);
        return Ok(());
    }
    stage("prices, from the file", from_file)
}

fn open(trace: &str) -> Result<Reader<BufReader<File>>, Failure> {
    Ok(Reader::new(BufReader::new(File::open(trace)?))?)
}

/// Runs a stage a few times and prints its best.
fn stage(
    name: &str,
    mut run: impl FnMut() -> Result<(u64, Duration), Failure>,
) -> Result<(), Failure> {
    let (mut requests, mut best) = run()?;
    for _ in 1..ROUNDS {
        let (again, took) = run()?;
        (requests, best) = (again, best.min(took));
    }
    print(name, requests, best);
    Ok(())
}

fn print(name: &str, requests: u64, took: Duration) {
    println!("{name}\t{requests}\t{}", took.as_secs_f64());
}

/// Hands all records of the trace to `on`, and gives the processor time that it took for them.
fn batches(trace: &str, mut on: impl FnMut(&Record)) -> Result<Duration, Failure> {
    let mut reader = open(trace)?;
    let mut took = Duration::ZERO;
    let mut batch = Vec::new();
    loop {
        let mut bytes = 0;
        while bytes < BATCH
            && let Some(record) = reader.next()?
        {
            if let Record::Block(block) = &record {
                bytes += block.bytes.len();
            }
            batch.push(record);
        }
        if batch.is_empty() {
            return Ok(took);
        }
        let start = processor_time();
        batch.iter().for_each(&mut on);
        took += processor_time().saturating_sub(start);
        batch.clear();
    }
}

/// Processor time of this thread, the only one: what other processes do on a busy machine does not
/// count in it.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

/// The peak of resident memory so far, in bytes (proc(5), VmHWM).
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    Ok(kib.ok_or("no VmHWM in /proc/self/status")? * 1024)
}

/// Message boundaries, names, numbers and pairs; and each request's fields too with `decode`.
#[derive(Default)]
struct Frames {
    connections: HashMap<ConnectionId, Connection>,
    extensions: Extensions,
    requests: u64,
}

impl Frames {
    fn record(&mut self, record: &Record, decode: bool) {
        let Record::Block(block) = record else {
            return;
        };
        let side = match block.direction {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        };
        let connection = self.connections.entry(block.connection).or_default();
        for part in block.parts() {
            let input = match part {
                Part::Kept(bytes) => Input::Bytes(bytes),
                Part::Left(len) => Input::Omitted(len),
            };
            let requests = &mut self.requests;
            connection.feed(side, input, &mut self.extensions, |message, extensions| {
                if let Message::Request(request) = message {
                    *requests += 1;
                    if decode {
                        let _ = black_box(request.decode(extensions));
                    }
                }
            });
        }
    }
}

fn profile(parameters: &ServerParameters) -> Profile {
    Profile::new(parameters, &Substitutions::default(), Blocking::default())
}

fn count(profile: &Profile) -> u64 {
    profile.lines().map(|(_, line)| line.count).sum()
}
