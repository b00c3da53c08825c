//! Prices beside x11perf's rates on the same server, and whether the server set them: a client
//! that sends more slowly than the server works measures itself.

use std::fs;
use std::process::Command;
use std::time::Instant;

use x11prof_cost_model::{Clock, CostTable, ServerParameters, Substitutions, TransportPrices};

use super::measure::operation;
use crate::bench::x_server::XServer;

/// The server sets the rate where it is at work for this part of the time.
const BUSY: f64 = 0.95;
/// Seconds of the shorter of two runs, and how much longer the other is.
const SHORTER: f64 = 1.5;
const LONGER: u64 = 3;
/// A run this long tells how many repetitions a second has.
const LONG_ENOUGH: f64 = 0.2;

const SOLID: &str = "PolyFillRectangle fillstyle=FillSolid gxmode=GXcopy";

/// A test of x11perf, and the request that it sends.
struct Test {
    name: &'static str,
    request: &'static str,
    size: f64,
    items: usize,
    bytes: f64,
    /// What it counts in a request: rectangles, characters of lines of 80.
    counted: f64,
}

const TESTS: [Test; 5] = [
    Test {
        name: "noop",
        request: "NoOperation",
        size: 0.0,
        items: 1,
        bytes: 4.0,
        counted: 1.0,
    },
    Test {
        name: "rect10",
        request: SOLID,
        size: 100.0,
        items: 100,
        bytes: 812.0,
        counted: 100.0,
    },
    Test {
        name: "rect500",
        request: SOLID,
        size: 250_000.0,
        items: 1,
        bytes: 20.0,
        counted: 1.0,
    },
    Test {
        name: "putimage500",
        request: "PutImage depth=24 format=ZPixmap gxmode=GXcopy",
        size: 250_000.0,
        items: 1,
        bytes: 1_000_028.0,
        counted: 1.0,
    },
    Test {
        name: "fitext",
        request: "ImageText8 fontname=6x13",
        size: 80.0,
        items: 1,
        bytes: 96.0,
        counted: 80.0,
    },
];

/// Compares the prices of `parameters` with x11perf's rates at `server`, x11perf on `cpu`.
pub(super) fn compare(
    server: &XServer,
    parameters: &ServerParameters,
    cpu: &str,
) -> Result<(), String> {
    println!("x11perf, µs a request: two runs of it differ by what it times, not by its start");
    for test in &TESTS {
        let own = |clock| test.price(parameters, clock);
        let (wall, processor) = (own(Clock::Wall), own(Clock::Cpu));
        let reps = repetitions(server, test, cpu)?;
        let shorter = run(server, test, cpu, reps)?;
        let longer = run(server, test, cpu, reps * LONGER)?;
        let each = longer.since(&shorter);
        let busy = each.processor / each.wall;
        let transport = TransportPrices::with_clock(parameters, Clock::Cpu);
        let wakeup = transport
            .wakeup_other_cpu()
            .unwrap_or_else(|| transport.wakeup(Default::default()));
        let woken = processor + each.wakeups * wakeup.time.0;
        println!(
            "  -{}: x11perf {:.4} wall, the server {:.4} CPU, {:.5} wakeups, busy {:.0} %; \
             ours {wall:.4} wall, {processor:.4} CPU, {woken:.4} with the wakeups",
            test.name,
            each.wall,
            each.processor,
            each.wakeups,
            100.0 * busy
        );
        if busy >= BUSY {
            let off = 100.0 * (wall / each.wall - 1.0);
            println!("    the server set the rate: wall {off:+.1} % (goal 10 %)");
        } else {
            let bare = 100.0 * (processor / each.processor - 1.0);
            let off = 100.0 * (woken / each.processor - 1.0);
            let wall = 100.0 * (wall / each.wall - 1.0);
            let kept = each.kept / each.wall;
            let why = if busy + kept < BUSY {
                "the server waited for x11perf, the bottleneck"
            } else {
                "other processes kept the server from its processor"
            };
            println!(
                "    {why} ({:.0} % waiting to run): CPU {off:+.1} % (goal 10 %), without wakeups \
                 {bare:+.1} %; wall {wall:+.1} % says nothing",
                100.0 * kept
            );
        }
    }
    Ok(())
}

impl Test {
    /// The price of one request, its bytes read.
    fn price(&self, parameters: &ServerParameters, clock: Clock) -> f64 {
        let mut operation = operation(self.request);
        operation.items = vec![self.size; self.items];
        operation.op_size = self.size * self.items as f64;
        let mut prices = CostTable::with_clock(parameters, &Substitutions::default(), clock);
        let bytes = TransportPrices::with_clock(parameters, clock).byte_read();
        prices.price(&operation).server.time.0 + bytes.time.0 * self.bytes
    }
}

/// What a run of x11perf took, its start included; or, of two runs, what a request took.
struct Taken {
    requests: f64,
    /// Seconds that x11perf itself timed, its start left out; few digits.
    timed: f64,
    /// In microseconds.
    wall: f64,
    /// The server's, in microseconds, as the kernel's scheduler counts.
    processor: f64,
    /// How long it could have run but had no processor, in microseconds.
    kept: f64,
    /// How often the server went to sleep.
    wakeups: f64,
}

impl Taken {
    fn since(&self, shorter: &Taken) -> Taken {
        let requests = self.requests - shorter.requests;
        Taken {
            requests,
            timed: self.timed - shorter.timed,
            wall: (self.wall - shorter.wall) / requests,
            processor: (self.processor - shorter.processor) / requests,
            kept: (self.kept - shorter.kept) / requests,
            wakeups: (self.wakeups - shorter.wakeups) / requests,
        }
    }
}

/// Repetitions that x11perf needs for the shorter run.
fn repetitions(server: &XServer, test: &Test, cpu: &str) -> Result<u64, String> {
    let mut reps = 10;
    loop {
        let seconds = run(server, test, cpu, reps)?.timed;
        if seconds >= LONG_ENOUGH {
            return Ok((reps as f64 * SHORTER / seconds).ceil() as u64);
        }
        reps *= 5;
    }
}

/// Runs x11perf with that many repetitions: without its own search for their number, which would
/// take other time in every run.
fn run(server: &XServer, test: &Test, cpu: &str, reps: u64) -> Result<Taken, String> {
    let ((processor, kept), wakeups) = (scheduled(server.pid())?, sleeps(server.pid())?);
    let start = Instant::now();
    let output = Command::new("timeout")
        .args(["30", "taskset", "-c", cpu, "x11perf", "-display"])
        .args([&server.display(), "-repeat", "1", "-reps"])
        .args([&reps.to_string(), &format!("-{}", test.name)])
        .env("XAUTHORITY", "/dev/null")
        .output()
        .map_err(|error| format!("cannot run x11perf: {error}"))?;
    let wall = start.elapsed().as_secs_f64() * 1e6;
    let text = String::from_utf8_lossy(&output.stdout);
    let (counted, rate) = counted(&text).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("x11perf -{} printed no rate: {text}{said}", test.name)
    })?;
    let (processor_then, kept_then) = scheduled(server.pid())?;
    Ok(Taken {
        requests: counted / test.counted,
        timed: counted / rate,
        wall,
        processor: processor_then - processor,
        kept: kept_then - kept,
        wakeups: sleeps(server.pid())? - wakeups,
    })
}

/// The count and the rate in a line such as
/// `  9000 reps @   0.1134 msec (  8820.0/sec): GetProperty`.
fn counted(text: &str) -> Option<(f64, f64)> {
    let (count, rest) = text.lines().find_map(|line| line.split_once(" reps @"))?;
    let (rate, _) = rest.split_once('(')?.1.split_once("/sec)")?;
    Some((count.trim().parse().ok()?, rate.trim().parse().ok()?))
}

/// For how long a process has run so far, and waited to run, in microseconds.
fn scheduled(pid: u32) -> Result<(f64, f64), String> {
    let path = format!("/proc/{pid}/schedstat");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    match (words.next(), words.next()) {
        (Some(Ok(run)), Some(Ok(waited))) => Ok((run / 1e3, waited / 1e3)),
        _ => Err(format!("{path}: {text}")),
    }
}

/// How often a process went to sleep so far.
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
    use super::counted;

    #[test]
    fn the_count_stands_before_reps_and_the_rate_in_brackets() {
        let text = "x11perf\n\n  90000 reps @   0.0113 msec ( 88200.0/sec): GetProperty\n";
        assert_eq!(counted(text), Some((90000.0, 88200.0)));
        assert_eq!(counted("90000 trep @ 0.0 msec"), None);
    }
}
