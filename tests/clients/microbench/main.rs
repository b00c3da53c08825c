//! The eleven micro-benchmarks of LiLa (Jovic & Hauswirth 2008, Table 1) for X11: small programs whose handlers
//! take a known time and record the actual time of each handling.
//!
//!     microbench BENCHMARK WORK TRUTH MS…     runs; each action that works takes the next of MS
//!     microbench person BENCHMARK MS…         prints the actions of the person for xdotool
//!
//! The program prints `ready 0xWINDOW` when it waits for input, and exits after the last of MS.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for tests"
)]

mod benchmarks;
mod dialogs;
mod person;
mod popups;
mod screen;
mod truth;
mod work;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use benchmarks::{Bench, Benchmark};
use work::Work;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("microbench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["person", benchmark, times @ ..] if !times.is_empty() => {
            let words = person::words(Benchmark::named(benchmark)?, &durations(times)?);
            println!("{}", words.join(" "));
            Ok(())
        }
        [benchmark, work, truth, times @ ..] if !times.is_empty() => {
            let benchmark = Benchmark::named(benchmark)?;
            Bench::new(benchmark, Work::named(work)?, truth, durations(times)?)?.run()
        }
        _ => Err("usage: microbench [person] BENCHMARK WORK TRUTH MS…".into()),
    }
}

fn durations(times: &[&str]) -> Result<Vec<Duration>, std::num::ParseIntError> {
    times
        .iter()
        .map(|ms| ms.parse().map(Duration::from_millis))
        .collect()
}
