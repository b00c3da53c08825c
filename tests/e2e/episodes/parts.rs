//! How far the parts of an episode are from what its program measured of itself.
//!
//! The kernel's clock of a thread begins before a switch to the thread, its record of the switch comes
//! after it (docs/EPISODES.md): the two differ by what one switch takes, which is taken off
//! here, once a switch. It has to be small, and where the processors are ours alone the same for all
//! handlings.

use super::benchmark::Pair;
use super::figures::median;

/// The most that a switch may take, in milliseconds.
const SWITCH_MS: f64 = 0.01;
/// The most round trips that may be missed, as a share of all.
const MISSED: f64 = 0.02;
/// A handling with fewer switches than this tells little of what one takes.
const ENOUGH: u64 = 50;

/// What a switch takes in these handlings, in milliseconds; 0 where they have few.
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

/// How far the worst of the parts is off, where a switch takes `switch_ms`: processor time, time off
/// the processor, waiting for the server.
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

/// How far a value is from a range.
fn outside(value: f64, from: f64, to: f64) -> f64 {
    value - value.clamp(from, to)
}

/// How many more or fewer round trips the analysis sees than it may.
///
/// A reply that is there before its client waits for it is no round trip to the analysis. How often the
/// client waited the kernel says, and that is the least that there may be, but for those of the time in
/// which the client was kept from its processor.
pub(crate) fn missed_round_trips(Pair { truth, episode }: &Pair) -> f64 {
    let all = truth.round_trips as f64;
    let waits = truth.round_trips.min(truth.switches) as f64;
    let kept_away = truth.queued_ms / truth.latency_ms;
    let (least, most) = (waits - all * (MISSED + kept_away), all * (1.0 + MISSED));
    outside(episode.round_trips as f64, least, most).abs()
}
