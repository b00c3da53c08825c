//! Compares costs with x11perf's rates on the same server.
//!
//! Both are measured alternately, because the machine's speed drifts, and with the same two placements. A wall-clock
//! cost was measured with sender and server on different processors; its CPU time with both on one processor, where
//! they neither wait for nor slow down each other. So x11perf runs in both placements: in the first, its rate is
//! compared with the wall-clock cost; in the second, the server's CPU time with the CPU cost. No wakeups are added,
//! because the server also slept between the calibration's requests.

mod repetitions;
mod report;
mod test;

use x11prof_cost_model::ServerParameters;
use x11prof_xmeasure::Plan;

use self::repetitions::Taken;
use self::report::{RequestCosts, Turn};
use self::test::{TESTS, Test};
use super::calibration::calibrate;
use crate::bench::x_server::XServer;

/// The number of repetitions of calibration and x11perf.
const TURNS: usize = 3;

/// Compares the costs in `parameters`, and in new calibrations according to `plan`, with x11perf's rates at `server`.
/// x11perf runs on the server's processor and on another one.
pub(super) fn compare(
    server: &XServer,
    parameters: &ServerParameters,
    plan: &Plan,
    [same, other]: [&str; 2],
) -> Result<(), String> {
    let sent = TESTS.iter().flat_map(|test| test.sends);
    let plan = Plan {
        only: sent
            .map(|sent| sent.operation().request.to_string())
            .collect(),
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
                fresh: RequestCosts::new(test, &fresh),
            });
        }
    }
    let tests: Vec<(&Test, Vec<Turn>)> = TESTS.iter().zip(turns).collect();
    report::print(&tests, parameters);
    Ok(())
}
