//! Measures the requests a second of each stage of the analysis: `stages TRACE [memory|file|STAGE]
//! [PARAMETERS]`.
//!
//! Prints a line a stage: its name, requests, seconds of processor time. The work of a stage includes the
//! stages that it needs. The stages in memory begin with the trace's records; `file` reads the trace and
//! costs it, once, and prints the peak of resident memory as well. A STAGE runs once, for a program that
//! counts instructions.
#![allow(clippy::print_stdout, reason = "a command-line tool")]

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use x11prof_analyzer::{
    EpisodeOptions, Episodes, FRAME_MS, Observation, Pipeline, Profile, RoundTripOptions,
    RoundTrips, Stalls, Statistics, TraceSummary, profile_trace,
};
use x11prof_cost_model::{Network, ServerParameters, Substitutions, built_in};
use x11prof_protocol::{Connection, Extensions, Input, Message, Side};
use x11prof_trace::{ConnectionId, Direction, Part, Reader, Record};

/// The stages that work on records in memory. The stage `reading` does nothing with the records.
const STAGES: [&str; 8] = [
    "framing",
    "decoding",
    "operations",
    "costs",
    "report",
    "statistics",
    "round trips",
    "episodes",
];
/// The stages that take equal requests together, as their commands do.
const TOGETHER: [&str; 5] = ["costs", "report", "statistics", "round trips", "episodes"];
/// The number of rounds of each stage. The fastest round counts, because disturbances only slow a round down.
const ROUNDS: usize = 3;
/// The number of bytes of records that are read ahead, so that reading is not measured and memory is bounded.
const BATCH: usize = 64 << 20;

/// True if processor time is measured.
static TIMED: AtomicBool = AtomicBool::new(true);

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
    match what.as_str() {
        "memory" => {
            for name in STAGES {
                best(name, || once(name, &trace, &parameters))?;
            }
            Ok(())
        }
        "file" => {
            let start = processor_time();
            let mut profiles = [profile(&parameters)];
            profile_trace(&mut open(&trace)?, &mut profiles)?;
            let took = processor_time().saturating_sub(start);
            print("costs, from the file", count(&profiles[0]), took);
            println!("peak\t{}", peak()?);
            Ok(())
        }
        stage => {
            TIMED.store(false, Ordering::Relaxed);
            let (requests, took) = once(stage, &trace, &parameters)?;
            print(stage, requests, took);
            Ok(())
        }
    }
}

/// Runs a stage once. Returns the number of requests and the CPU time.
fn once(
    stage: &str,
    trace: &str,
    parameters: &ServerParameters,
) -> Result<(u64, Duration), Failure> {
    let options = RoundTripOptions {
        link: Network::parse("none,30ms").ok(),
        ..RoundTripOptions::default()
    };
    match stage {
        "reading" | "framing" | "decoding" => {
            let mut frames = Frames::default();
            let took = batches(trace, |record| match stage {
                "reading" => {
                    black_box(record);
                }
                stage => frames.record(record, stage == "decoding"),
            })?;
            Ok((frames.requests, took))
        }
        "operations" => observed(stage, trace, |_| {}),
        "costs" => {
            let mut profile = profile(parameters);
            observed(stage, trace, |observation| profile.observe(observation))
        }
        "report" => {
            let (mut profile, mut summary) = (profile(parameters), TraceSummary::default());
            let mut stalls = Stalls::new(parameters, &Substitutions::default(), FRAME_MS);
            observed(stage, trace, |observation| {
                summary.observe(observation);
                profile.observe(observation);
                stalls.observe_with_cost(observation, profile.last_cost());
            })
        }
        "statistics" => {
            let mut statistics = Statistics::new(Vec::new());
            observed(stage, trace, |observation| statistics.observe(observation))
        }
        "round trips" => {
            let mut round_trips = RoundTrips::new(&options);
            observed(stage, trace, |observation| round_trips.observe(observation))
        }
        "episodes" => {
            let mut episodes = Episodes::new(&EpisodeOptions::default());
            observed(stage, trace, |observation| episodes.observe(observation))
        }
        other => Err(format!("no stage is called {other}").into()),
    }
}

/// Passes the pipeline's observations of the trace to `on`.
fn observed(
    stage: &str,
    trace: &str,
    mut on: impl FnMut(&Observation<'_>),
) -> Result<(u64, Duration), Failure> {
    let (mut pipeline, mut requests) = (Pipeline::new(), 0);
    if TOGETHER.contains(&stage) {
        pipeline.take_together();
    }
    let mut on = |observation: &Observation<'_>| {
        if let Observation::Message(seen) = observation {
            requests += u64::from(seen.operation.is_some()) * seen.times;
        }
        on(observation);
    };
    let took = batches(trace, |record| pipeline.feed(record.clone(), &mut on))?;
    let start = processor_time();
    pipeline.end(&mut on);
    let took = took + processor_time().saturating_sub(start);
    Ok((requests, took))
}

fn open(trace: &str) -> Result<Reader<BufReader<File>>, Failure> {
    Ok(Reader::new(BufReader::new(File::open(trace)?))?)
}

/// Runs a stage several times and prints the fastest round.
fn best(
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

/// Passes all records of the trace to `on`. Returns the CPU time of `on`.
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
/// count in it. None where a stage runs once: valgrind does not run rustix's clock.
fn processor_time() -> Duration {
    if !TIMED.load(Ordering::Relaxed) {
        return Duration::ZERO;
    }
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

/// Decodes the message boundaries, names, numbers and request-reply pairs, and with `decode` also each request's
/// fields.
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
    Profile::new(parameters, &Substitutions::default())
}

fn count(profile: &Profile) -> u64 {
    profile.lines().map(|(_, line)| line.count).sum()
}
