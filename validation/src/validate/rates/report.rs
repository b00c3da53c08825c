//! Prints the comparison of x11perf's figures with the costs.

use x11prof_cost_model::{Clock, ServerParameters};

use super::repetitions::Taken;
use super::test::{Test, median, wakeups};

/// The server limits the rate if it is busy for this share of the time.
const BUSY: f64 = 0.95;

/// The costs of a test's requests, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestCosts {
    /// The server's CPU time.
    pub(super) processor: f64,
    /// The CPU time of one wakeup, by a sender on the same processor and by one on another processor.
    pub(super) wakeup: f64,
    pub(super) wakeup_other: f64,
}

impl RequestCosts {
    pub(super) fn new(test: &Test, parameters: &ServerParameters) -> RequestCosts {
        let [wakeup, wakeup_other] = wakeups(parameters);
        RequestCosts {
            processor: test.cost(parameters, Clock::Cpu),
            wakeup,
            wakeup_other,
        }
    }

    /// The CPU time including the counted wakeups.
    fn awakened(&self, taken: &Taken) -> f64 {
        self.processor + taken.wakeups * self.wakeup
    }

    /// The CPU time including the counted wakeups from another processor.
    fn awakened_apart(&self, taken: &Taken) -> f64 {
        self.processor + taken.wakeups * self.wakeup_other
    }
}

/// A repetition of a test: x11perf's times with both placements, and the costs of a calibration at that time.
pub(super) struct Turn {
    pub(super) apart: Taken,
    pub(super) together: Taken,
    pub(super) fresh: RequestCosts,
}

/// The column headings for a sender on another processor than the server.
const APART: &str = "\
x11perf, µs for one of what it counts, medians of the turns; costs beside it (goal 10 %)

x11perf on another processor than the server; the server's processor time, over
  (a) the time by x11perf's own rate   (b) the part of it in which the server ran
  (c) the same, with the wakeups that the kernel counted, at the cost of one's processor time
                 (a) busy      (b) wakeups   fresh(a)    (b)     (c)   file(a)    (b)     (c)";

/// The column headings for a sender on the server's processor.
const TOGETHER: &str = "
x11perf on the server's processor; the server's processor time, over the kernel's figure
  (d) the operations and their bytes   (e) with the wakeups that the kernel counted
               kernel wakeups   fresh(d)     (e)   file(d)     (e)";

/// Prints both comparisons of all tests.
pub(super) fn print(tests: &[(&Test, Vec<Turn>)], file: &ServerParameters) {
    println!("{APART}");
    for (test, turns) in tests {
        apart(test, turns, &RequestCosts::new(test, file));
    }
    println!("{TOGETHER}");
    for (test, turns) in tests {
        together(test, turns, &RequestCosts::new(test, file));
    }
    println!();
    println!("by turns, fresh cost/x11perf's time (a), the kernel's (d)");
    for (test, turns) in tests {
        let each = turns.iter().map(|turn| {
            let cost = turn.fresh.processor;
            let (apart, together) = (turn.apart.wall, turn.together.processor);
            format!("{cost:.4}/{apart:.4} {cost:.4}/{together:.4}")
        });
        let each: Vec<String> = each.collect();
        println!("{:12}{}", test.name, each.join(", "));
    }
}

fn apart(test: &Test, turns: &[Turn], file: &RequestCosts) {
    let over = |of: &dyn Fn(&Turn) -> f64| median(turns.iter().map(of));
    let off = |of: &dyn Fn(&Turn) -> f64| 100.0 * (over(of) - 1.0);
    // Time in which other processes kept the server from running counts as busy.
    let busy = |turn: &Turn| turn.apart.busy + turn.apart.kept;
    let ran = |turn: &Turn| turn.apart.processor;
    let columns = |costs: &dyn Fn(&Turn) -> RequestCosts| {
        let [rate, part, awakened] = [
            off(&|turn| costs(turn).processor / turn.apart.wall),
            off(&|turn| costs(turn).processor / ran(turn)),
            off(&|turn| costs(turn).awakened_apart(&turn.apart) / ran(turn)),
        ];
        format!("{rate:+6.1} % {part:+5.1} % {awakened:+5.1} %")
    };
    println!(
        "{:12}{:8.4} {:3.0} % {:8.4} {:7.4}   {}  {}{}",
        test.name,
        over(&|turn| turn.apart.wall),
        100.0 * over(&busy),
        over(&ran),
        over(&|turn| turn.apart.wakeups),
        columns(&|turn| turn.fresh),
        columns(&|_| *file),
        if over(&busy) < BUSY {
            "   x11perf is the bottleneck"
        } else {
            ""
        }
    );
}

fn together(test: &Test, turns: &[Turn], file: &RequestCosts) {
    let over = |of: &dyn Fn(&Turn) -> f64| median(turns.iter().map(of));
    let off = |of: &dyn Fn(&Turn) -> f64| 100.0 * (over(of) - 1.0);
    println!(
        "{:12}{:9.4} {:7.4}   {:+6.1} % {:+6.1} %  {:+6.1} % {:+6.1} %",
        test.name,
        over(&|turn| turn.together.processor),
        over(&|turn| turn.together.wakeups),
        off(&|turn| turn.fresh.processor / turn.together.processor),
        off(&|turn| turn.fresh.awakened(&turn.together) / turn.together.processor),
        off(&|turn| file.processor / turn.together.processor),
        off(&|turn| file.awakened(&turn.together) / turn.together.processor),
    );
}
