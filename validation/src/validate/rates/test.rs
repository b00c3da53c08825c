//! A test of x11perf, and the costs of the requests that it sends.

use x11prof_cost_model::{
    Clock, CostTable, Micros, ServerParameters, Substitutions, TransportEstimates,
};
use x11prof_session::Operation;

use super::repetitions::Taken;
use crate::validate::calibration::operation;

const SOLID: &str = "PolyFillRectangle fillstyle=FillSolid gxmode=GXcopy";
const IMAGE: &str = "PutImage depth=24 format=ZPixmap gxmode=GXcopy";

/// A test of x11perf, and the requests that it sends for one counted operation.
pub(super) struct Test {
    pub(super) name: &'static str,
    pub(super) sends: &'static [Sent],
    /// The number of counted items: rectangles, or characters in lines of 80.
    pub(super) counted: f64,
}

/// A request, with the number of times it is sent.
pub(super) struct Sent {
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

pub(super) const TESTS: [Test; 5] = [
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
    // Xlib sends an image of over 256 KiB with several requests (XPutImage, PutSubImage), each with as many whole lines
    // as fit into 262,120 bytes.
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

impl Test {
    /// The medians over several repetitions, for all requests that the test counts.
    pub(super) fn middle(&self, taken: &[Taken]) -> Taken {
        let each = |of: fn(&Taken) -> f64| median(taken.iter().map(of));
        Taken {
            wall: each(|turn| turn.wall) * self.counted,
            processor: each(|turn| turn.processor) * self.counted,
            wakeups: each(|turn| turn.wakeups) * self.counted,
            busy: each(|turn| turn.busy),
            kept: each(|turn| turn.kept),
        }
    }

    /// The cost of the requests.
    pub(super) fn cost(&self, parameters: &ServerParameters, clock: Clock) -> f64 {
        self.sends
            .iter()
            .map(|send| send.times * send.cost(parameters, clock))
            .sum()
    }
}

impl Sent {
    /// The request as an operation.
    pub(super) fn operation(&self) -> Operation {
        let mut operation = operation(self.request);
        operation.items = vec![self.size; self.items];
        operation.op_size = self.size * self.items as f64;
        operation
    }

    /// The cost of one request, including reading its bytes.
    pub(super) fn cost(&self, parameters: &ServerParameters, clock: Clock) -> f64 {
        let operation = self.operation();
        let mut costs = CostTable::with_clock(parameters, &Substitutions::default(), clock);
        let bytes = TransportEstimates::with_clock(parameters, clock).byte_read();
        costs.cost(&operation).server.time.0 + bytes.time.0 * self.bytes
    }
}

/// The CPU time of a wakeup by a sender on the server's processor, and by a sender on another processor, for which the
/// cost table has the same cost.
pub(super) fn wakeups(parameters: &ServerParameters) -> [f64; 2] {
    let costs = TransportEstimates::with_clock(parameters, Clock::Cpu);
    let one = costs.wakeup(Micros::ZERO);
    [one.time.0; 2]
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
