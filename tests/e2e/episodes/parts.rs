//! Differences between an episode's parts and the program's own measurements.
//!
//! The kernel's CPU clock of a thread starts before the switch to the thread, and the switch record is written
//! after it (docs/CONCEPTS.md). The two differ by the duration of one switch, which is subtracted here for each
//! switch. That duration must be small, and equal for all handlings if the test has the processors alone.

use super::benchmark::Pair;
use super::figures::median;

/// Maximum duration of a switch, in milliseconds.
const SWITCH_MS: f64 = 0.01;
/// Maximum share of round trips that may be missed.
const MISSED: f64 = 0.02;
/// The minimum number of switches for an estimate of one switch's duration.
const ENOUGH: u64 = 50;

/// The duration of a switch in these handlings, in milliseconds; 0 if they have few switches.
pub(crate) fn switch_ms(pairs: &[&Pair]) -> f64 {
    let enough = pairs.iter().filter(|pair| pair.truth.switches >= ENOUGH);
    let each: Vec<f64> = enough
        .map(|Pair { truth, episode }| {
            (truth.computed_ms - episode.client_ms) / truth.switches as f64
        })
        .collect();
    if each.is_empty() {
        return 0.0;
    }
    median(&each).clamp(0.0, SWITCH_MS)
}

/// The largest error of a part, if a switch takes `switch_ms`: CPU time, off-CPU time, waiting for the server.
pub(crate) fn part_error_ms(Pair { truth, episode }: &Pair, switch_ms: f64) -> f64 {
    let switches = truth.switches as f64 * switch_ms;
    // The remaining time was spent on the run queue.
    let preempted =
        (truth.latency_ms - truth.computed_ms - truth.slept_ms - truth.waited_ms).max(0.0);
    // The program cannot distinguish run-queue time within a wait from the wait itself; the kernel can.
    let in_waits = (truth.queued_ms - preempted).max(0.0);
    let (off_cpu, server) = (
        episode.off_cpu_ms - truth.slept_ms - preempted,
        episode.server_ms + episode.network_ms - switches - truth.waited_ms,
    );
    let errors = [
        episode.client_ms + switches - truth.computed_ms,
        outside(off_cpu, 0.0, in_waits),
        outside(server, -in_waits, 0.0),
    ];
    errors.into_iter().map(f64::abs).fold(0.0, f64::max)
}

/// The distance of a value from a range.
fn outside(value: f64, from: f64, to: f64) -> f64 {
    value - value.clamp(from, to)
}

/// The number of round trips in the analysis above the maximum, or below the minimum, that is possible.
///
/// A reply that arrives before its client waits for it does not count as a round trip in the analysis. The minimum
/// is the number of the client's waits by the kernel, less the waits in run-queue time.
pub(crate) fn missed_round_trips(Pair { truth, episode }: &Pair) -> f64 {
    let all = truth.round_trips as f64;
    let waits = truth.round_trips.min(truth.switches) as f64;
    let kept_away = truth.queued_ms / truth.latency_ms;
    let (least, most) = (waits - all * (MISSED + kept_away), all * (1.0 + MISSED));
    outside(episode.round_trips as f64, least, most).abs()
}
