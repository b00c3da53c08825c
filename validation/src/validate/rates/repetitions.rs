//! Watches x11perf while it runs: the time of each repetition by x11perf's clock, by the server's CPU clock, and by
//! the kernel's scheduler.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::bench::x_server::XServer;
use crate::bench::x11perf::label;

/// Maximum duration of one x11perf run, and approximate duration of a repetition, in seconds.
const PATIENCE: &str = "90";
const EACH: &str = "1";
/// The number of repetitions of a test. The time between two printed lines belongs to the second line's repetition. The
/// time before the first line includes the preparation of the test and is ignored.
const REPEAT: &str = "3";

/// The time of one counted item of a test, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Taken {
    /// The time by x11perf's own clock.
    pub(super) wall: f64,
    /// The server's CPU time, from the kernel.
    pub(super) processor: f64,
    /// The share of the time in which the server ran.
    pub(super) busy: f64,
    /// The share of the time in which the server was runnable but had no processor.
    pub(super) kept: f64,
    /// The number of times that the server slept.
    pub(super) wakeups: f64,
}

/// The kernel's counters of a process.
#[derive(Clone, Copy)]
struct Seen {
    at: Instant,
    run: f64,
    waited: f64,
    slept: f64,
}

/// Runs `tests` in one x11perf on processor `cpu`, and returns the times of the repetitions of each.
pub(super) fn run(server: &XServer, tests: &[&str], cpu: &str) -> Result<Vec<Vec<Taken>>, String> {
    let labels = tests
        .iter()
        .map(|test| label(test))
        .collect::<Result<Vec<_>, _>>()?;
    // If the output were a pipe without line buffering, all lines would arrive at once.
    let mut child = Command::new("timeout")
        .args([PATIENCE, "taskset", "-c", cpu, "stdbuf", "-oL", "x11perf"])
        .args(["-display", &server.display()])
        .args(["-repeat", REPEAT, "-time", EACH])
        .args(tests.iter().map(|test| format!("-{test}")))
        .env("XAUTHORITY", "/dev/null")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run x11perf: {error}"))?;
    let stdout = child.stdout.take().ok_or("no pipe from x11perf")?;
    let mut taken = vec![Vec::new(); tests.len()];
    let mut last: Option<(usize, Seen)> = None;
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|error| format!("x11perf: {error}"))?;
        let Some((rate, test)) = rate(&line, &labels) else {
            continue;
        };
        let now = Seen::now(server.pid())?;
        if let Some((_, before)) = last.filter(|(of, _)| *of == test)
            && let Some(taken) = taken.get_mut(test)
        {
            taken.push(now.since(&before, rate));
        }
        last = Some((test, now));
    }
    let status = child.wait().map_err(|error| format!("x11perf: {error}"))?;
    match taken.iter().position(Vec::is_empty) {
        Some(test) => Err(format!(
            "x11perf -{} printed no rates ({status})",
            tests.get(test).copied().unwrap_or_default()
        )),
        None => Ok(taken),
    }
}

/// Parses the rate and the test in a line such as `  9000 reps @   0.1134 msec (  8820.0/sec): GetProperty`; `None` for
/// the summary line.
fn rate(line: &str, labels: &[String]) -> Option<(f64, usize)> {
    let (_, rest) = line.split_once(" reps @")?;
    let (rate, of) = rest.split_once('(')?.1.split_once("/sec): ")?;
    let test = labels.iter().position(|label| label == of)?;
    Some((rate.trim().parse().ok()?, test))
}

impl Seen {
    fn now(pid: u32) -> Result<Seen, String> {
        let path = format!("/proc/{pid}/schedstat");
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let mut words = text.split_whitespace().map(str::parse::<f64>);
        let (Some(Ok(run)), Some(Ok(waited))) = (words.next(), words.next()) else {
            return Err(format!("{path}: {text}"));
        };
        Ok(Seen {
            at: Instant::now(),
            run: run / 1e3,
            waited: waited / 1e3,
            slept: sleeps(pid)?,
        })
    }

    /// The times of one item since `before`. The shares of time are the same with both clocks. x11perf's clock excludes
    /// its own pauses, so the counted time is estimated from its rate.
    fn since(&self, before: &Seen, rate: f64) -> Taken {
        let gone = (self.at - before.at).as_secs_f64() * 1e6;
        let wall = 1e6 / rate;
        let share = |time: f64| time / gone;
        Taken {
            wall,
            processor: share(self.run - before.run) * wall,
            busy: share(self.run - before.run),
            kept: share(self.waited - before.waited),
            wakeups: share(self.slept - before.slept) * wall,
        }
    }
}

/// The number of times that a process has slept.
fn sleeps(pid: u32) -> Result<f64, String> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let mut lines = text.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let count = count.and_then(|count| count.trim().parse().ok());
    count.ok_or(format!("{path}: no voluntary_ctxt_switches"))
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn repetition_line_yields_rate_and_test() {
        let labels = ["Dot".to_owned(), "10x10 rectangle".to_owned()];
        let line = "  40000 reps @   0.0257 msec ( 38900.0/sec): 10x10 rectangle";
        assert_eq!(rate(line, &labels), Some((38900.0, 1)));
        let sum = " 160000 trep @   0.0257 msec ( 38900.0/sec): 10x10 rectangle";
        assert_eq!(rate(sum, &labels), None);
        assert_eq!(rate("x11perf - X11 performance program", &labels), None);
    }
}
