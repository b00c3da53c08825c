//! Prices beside x11perf's rates on the same server.
//!
//! Both are had in turns, for the machine drifts, and in the same places: what a price is on the
//! wall was measured with the sender on another processor than the server, and its processor time
//! with both on one, where the two neither wait for nor slow each other. So x11perf runs in each
//! place, and its rate is held against the price on the wall in the first, the server's
//! processor time against the price on that clock in the second. Where the server empties its socket
//! and sleeps, it did so for the calibration's sender as well, so no wakeups are added.

mod repetitions;
mod report;

use std::time::Duration;

use x11prof_cost_model::{
    Clock, CostTable, PriorSleep, ServerParameters, Substitutions, TransportPrices,
};
use x11prof_session::Operation;
use x11prof_xmeasure::Plan;

use self::repetitions::Taken;
use self::report::{Prices, Turn};
use super::measure::{calibrate, operation};
use crate::bench::x_server::XServer;

/// How long the calibration of a turn takes.
const FRESH: Duration = Duration::from_secs(14);
/// How often calibration and x11perf take turns.
const TURNS: usize = 3;

const SOLID: &str = "PolyFillRectangle fillstyle=FillSolid gxmode=GXcopy";
const IMAGE: &str = "PutImage depth=24 format=ZPixmap gxmode=GXcopy";

/// A test of x11perf, and the requests that it sends for one of what it counts in a line.
struct Test {
    name: &'static str,
    sends: &'static [Sent],
    /// What it counts in that: rectangles, characters of lines of 80.
    counted: f64,
}

/// A request, and how many of it are sent.
struct Sent {
    times: f64,
    request: &'static str,
    size: f64,
    items: usize,
    bytes: f64,
}

impl Sent {
    const fn one(request: &'static str, size: f64, items: usize, bytes: f64) -> Sent {
        Sent {
            times: 1.0,
            request,
            size,
            items,
            bytes,
        }
    }
}

const TESTS: [Test; 5] = [
    Test {
        name: "noop",
        sends: &[Sent::one("NoOperation", 0.0, 1, 4.0)],
        counted: 1.0,
    },
    Test {
        name: "rect10",
        sends: &[Sent::one(SOLID, 100.0, 100, 812.0)],
        counted: 100.0,
    },
    Test {
        name: "rect500",
        sends: &[Sent::one(SOLID, 250_000.0, 1, 20.0)],
        counted: 1.0,
    },
    // Xlib puts an image of over 256 KiB by several requests (XPutImage, PutSubImage): as many whole
    // lines as fit into 262,120 bytes in each.
    Test {
        name: "putimage500",
        sends: &[
            Sent {
                times: 3.0,
                ..Sent::one(IMAGE, 131.0 * 500.0, 1, 262_024.0)
            },
            Sent::one(IMAGE, 107.0 * 500.0, 1, 214_024.0),
        ],
        counted: 1.0,
    },
    Test {
        name: "fitext",
        sends: &[Sent::one("ImageText8 fontname=6x13", 80.0, 1, 96.0)],
        counted: 80.0,
    },
];

/// Compares the prices of `parameters` and of fresh calibrations as `plan` says with x11perf's rates
/// at `server`, x11perf on the server's processor and on another one.
pub(super) fn compare(
    server: &XServer,
    parameters: &ServerParameters,
    plan: &Plan,
    [same, other]: [&str; 2],
) -> Result<(), String> {
    let plan = Plan {
        needed: TESTS
            .iter()
            .flat_map(|test| test.sends)
            .map(Sent::operation)
            .collect(),
        time_limit: Some(FRESH),
        ..plan.clone()
    };
    let names = TESTS.map(|test| test.name);
    let mut turns: Vec<Vec<Turn>> = TESTS.iter().map(|_| Vec::new()).collect();
    for _ in 0..TURNS {
        let fresh = calibrate(server, &plan)?;
        let apart = repetitions::run(server, &names, other)?;
        let together = repetitions::run(server, &names, same)?;
        for (at, (test, turns)) in TESTS.iter().zip(&mut turns).enumerate() {
            let middle = |all: &[Vec<Taken>]| all.get(at).map(|taken| test.middle(taken));
            let (Some(apart), Some(together)) = (middle(&apart), middle(&together)) else {
                continue;
            };
            turns.push(Turn {
                apart,
                together,
                fresh: Prices::new(test, &fresh),
            });
        }
    }
    let tests: Vec<(&Test, Vec<Turn>)> = TESTS.iter().zip(turns).collect();
    report::print(&tests, parameters);
    Ok(())
}

impl Test {
    /// Of several repetitions, what a request took in the one with the median rate.
    fn middle(&self, taken: &[Taken]) -> Taken {
        let each = |of: fn(&Taken) -> f64| median(taken.iter().map(of));
        Taken {
            wall: each(|turn| turn.wall) * self.counted,
            processor: each(|turn| turn.processor) * self.counted,
            wakeups: each(|turn| turn.wakeups) * self.counted,
            busy: each(|turn| turn.busy),
            kept: each(|turn| turn.kept),
        }
    }

    /// The price of what it sends.
    fn price(&self, parameters: &ServerParameters, clock: Clock) -> f64 {
        self.sends
            .iter()
            .map(|send| send.times * send.price(parameters, clock))
            .sum()
    }
}

impl Sent {
    /// The request as an operation.
    fn operation(&self) -> Operation {
        let mut operation = operation(self.request);
        operation.items = vec![self.size; self.items];
        operation.op_size = self.size * self.items as f64;
        operation
    }

    /// The price of one, its bytes read.
    fn price(&self, parameters: &ServerParameters, clock: Clock) -> f64 {
        let operation = self.operation();
        let mut prices = CostTable::with_clock(parameters, &Substitutions::default(), clock);
        let bytes = TransportPrices::with_clock(parameters, clock).byte_read();
        prices.price(&operation).server.time.0 + bytes.time.0 * self.bytes
    }

    /// How busy the server was while `parameters` got this request's point on the wall; of several
    /// points, at the nearest size.
    fn busy(&self, parameters: &ServerParameters) -> Option<f64> {
        let operation = self.operation();
        let mut entries = parameters.requests.iter();
        let entry = entries.find(|entry| {
            entry.name == operation.request.as_str()
                && entry.attribute_set() == operation.attributes
        })?;
        let off = |size: f64| (size - self.size).abs();
        let points = entry.points.iter();
        let nearest = points.min_by(|a, b| off(a.size).total_cmp(&off(b.size)))?;
        nearest.busy
    }
}

/// The processor time of a wakeup by a sender on the server's processor, and by one on another.
fn wakeups(parameters: &ServerParameters) -> [f64; 2] {
    let prices = TransportPrices::with_clock(parameters, Clock::Cpu);
    let one = prices.wakeup(PriorSleep::default());
    [one, prices.wakeup_other_cpu().unwrap_or(one)].map(|cost| cost.time.0)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
