//! Prices beside x11perf's rates on the same server.
//!
//! Both are had in turns, for the machine drifts, and in the same places: what a price is on the
//! wall was measured with the sender on another processor than the server, and its processor time
//! with both on one, where the two neither wait for nor slow each other. So x11perf runs in each
//! place, and its rate is held against the price on the wall in the first, the server's
//! processor time against the price on that clock in the second. Where the server empties its socket
//! and sleeps, it did so behind the calibration's sender as well, so no wakeups are added.

mod watched;

use std::time::Duration;

use x11prof_cost_model::{Clock, CostTable, ServerParameters, Substitutions, TransportPrices};
use x11prof_session::Operation;
use x11prof_xmeasure::Plan;

use self::watched::Taken;
use super::measure::{calibrate, operation};
use crate::bench::x_server::XServer;

/// How long the calibration of a turn takes.
const FRESH: Duration = Duration::from_secs(14);
/// How often calibration and x11perf take turns.
const TURNS: usize = 3;

/// The server sets the rate where it is at work for this part of the time.
const BUSY: f64 = 0.95;

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

/// What one turn found of a test: what x11perf took in either place, and the prices of a
/// calibration of that moment.
struct Turn {
    apart: Taken,
    together: Taken,
    wall: f64,
    processor: f64,
}

/// Compares the prices of `parameters` and of fresh calibrations as `plan` says with x11perf's rates
/// at `server`, x11perf on the server's processor and on another one.
pub(super) fn compare(
    server: &XServer,
    parameters: &ServerParameters,
    plan: &Plan,
    [same, other]: [&str; 2],
) -> Result<(), String> {
    let plan = Plan {
        wanted: TESTS.iter().map(Test::operation).collect(),
        time_limit: Some(FRESH),
        ..plan.clone()
    };
    let names = TESTS.map(|test| test.name);
    let mut turns: Vec<Vec<Turn>> = TESTS.iter().map(|_| Vec::new()).collect();
    for _ in 0..TURNS {
        let fresh = calibrate(server, &plan)?;
        let apart = watched::run(server, &names, other)?;
        let together = watched::run(server, &names, same)?;
        for (at, (test, turns)) in TESTS.iter().zip(&mut turns).enumerate() {
            let middle = |all: &[Vec<Taken>]| all.get(at).map(|taken| test.middle(taken));
            let (Some(apart), Some(together)) = (middle(&apart), middle(&together)) else {
                continue;
            };
            turns.push(Turn {
                apart,
                together,
                wall: test.price(&fresh, Clock::Wall),
                processor: test.price(&fresh, Clock::Cpu),
            });
        }
    }
    println!("x11perf, µs a request, medians of {TURNS} turns; prices beside it (goal 10 %)");
    println!("            on the wall, apart                    server's CPU, together");
    println!("            x11perf     CPU   busy  fresh   file     x11perf wakeups  fresh   file");
    for (test, turns) in TESTS.iter().zip(&turns) {
        test.report(turns, parameters);
    }
    Ok(())
}

impl Test {
    /// Its request as an operation.
    fn operation(&self) -> Operation {
        let mut operation = operation(self.request);
        operation.items = vec![self.size; self.items];
        operation.op_size = self.size * self.items as f64;
        operation
    }

    /// Of several repetitions, what a request took in the one with the median rate.
    fn middle(&self, taken: &[Taken]) -> Taken {
        let each = |of: fn(&Taken) -> f64| median(taken.iter().map(of));
        Taken {
            wall: each(|it| it.wall) * self.counted,
            processor: each(|it| it.processor) * self.counted,
            wakeups: each(|it| it.wakeups) * self.counted,
            busy: each(|it| it.busy),
            kept: each(|it| it.kept),
        }
    }

    fn report(&self, turns: &[Turn], file: &ServerParameters) {
        let over = |of: &dyn Fn(&Turn) -> f64| median(turns.iter().map(of));
        let off = |of: &dyn Fn(&Turn) -> f64| 100.0 * (over(of) - 1.0);
        let (wall, processor) = (self.price(file, Clock::Wall), self.price(file, Clock::Cpu));
        println!(
            "{:12}{:8.4} {:7.4}  {:3.0} % {:+5.1} % {:+5.1} %   {:8.4} {:7.4} {:+5.1} % {:+5.1} %",
            self.name,
            over(&|it| it.apart.wall),
            over(&|it| it.apart.processor),
            100.0 * over(&|it| it.apart.busy + it.apart.kept),
            off(&|it| it.wall / it.apart.wall),
            off(&|it| wall / it.apart.wall),
            over(&|it| it.together.processor),
            over(&|it| it.together.wakeups),
            off(&|it| it.processor / it.together.processor),
            off(&|it| processor / it.together.processor),
        );
        if over(&|it| it.apart.busy + it.apart.kept) < BUSY {
            println!("            x11perf set the rate: its wall is not the server's");
        }
        let each = turns.iter().map(|it| {
            format!(
                "{:.4}/{:.4} {:.4}/{:.4}",
                it.wall, it.apart.wall, it.processor, it.together.processor
            )
        });
        println!(
            "            fresh/x11perf by turns: {}",
            each.collect::<Vec<_>>().join(", ")
        );
    }

    /// The price of one request, its bytes read.
    fn price(&self, parameters: &ServerParameters, clock: Clock) -> f64 {
        let operation = self.operation();
        let mut prices = CostTable::with_clock(parameters, &Substitutions::default(), clock);
        let bytes = TransportPrices::with_clock(parameters, clock).byte_read();
        prices.price(&operation).server.time.0 + bytes.time.0 * self.bytes
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
