//! Differences between an episode's parts and the program's own measurements.
//!
//! The kernel's clock of a thread begins before a switch to the thread, the record of the switch comes
//! after it (docs/CONCEPTS.md). The two differ by the length of one switch, which is subtracted here for
//! each switch. That length has to be small, and equal for all handlings where the processors are ours
//! alone.

use super::benchmark::Pair;
use super::figures::median;

/// The most that a switch may take, in milliseconds.
const SWITCH_MS: f64 = 0.01;
/// The most round trips that may be missed, as a share of all.
const MISSED: f64 = 0.02;
/// A handling with fewer switches than this tells little of what one takes.
const ENOUGH: u64 = 50;

/// The length of a switch in these handlings, in milliseconds; 0 if they have few.
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

/// The largest error of a part, where a switch takes `switch_ms`: processor time, time off the processor,
/// waiting for the server.
pub(crate) fn part_error_ms(Pair { truth, episode }: &Pair, switch_ms: f64) -> f64 {
    let switches = truth.switches as f64 * switch_ms;
    // What neither computed nor slept nor waited for the server did not get a processor.
    let preempted =
        (truth.latency_ms - truth.computed_ms - truth.slept_ms - truth.waited_ms).max(0.0);
    // What was lost to others within a wait, the program cannot tell from the wait: the kernel can.
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

/// The round trips that the analysis sees beyond the most, or below the least, that there may be.
///
/// A reply that is there before its client waits for it is no round trip to the analysis. The least is the
/// number of the client's waits by the kernel, less those of the time in which the client was ready and had
/// no processor.
pub(crate) fn missed_round_trips(Pair { truth, episode }: &Pair) -> f64 {
    let all = truth.round_trips as f64;
    let waits = truth.round_trips.min(truth.switches) as f64;
    let kept_away = truth.queued_ms / truth.latency_ms;
    let (least, most) = (waits - all * (MISSED + kept_away), all * (1.0 + MISSED));
    outside(episode.round_trips as f64, least, most).abs()
}
