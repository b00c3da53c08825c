//! The points of a parameter file for each length of sleep, computed from the passes.

use std::time::Duration;

use x11prof_cost_model::{AfterSleep, Measured, Micros, TransportCosts};

use super::area::MEGAPIXELS;
use super::passes::{Pass, Woken, middle, over_passes};
use crate::sampling::rounding::{micros, rounded};
use crate::sampling::statistics::Estimate;

/// Rounds a time for the file.
fn time(time: f64) -> Micros {
    micros(time, 5)
}

/// The costs after a sleep of each of these lengths, the shortest first.
pub(super) fn after_sleep(
    passes: &[Pass],
    sleeps: impl Iterator<Item = Duration>,
) -> Vec<AfterSleep> {
    let mut points: Vec<AfterSleep> = Vec::new();
    for (at, sleep) in sleeps.enumerate() {
        // An idle processor keeps its caches in some cases and loses them in others; programs wake the server
        // hundreds of times, so the mean counts.
        let of =
            |field: fn(&Woken) -> &Vec<f64>| middle(passes, |pass| pass.sleeps.get(at).map(field));
        let (Some(nothing), Some(connection)) =
            (of(|woken| &woken.nothing), of(|woken| &woken.connection))
        else {
            continue;
        };
        let area = of(|woken| &woken.area).zip(of(|woken| &woken.area_streamed));
        let cold = |(cold, streamed): (f64, f64)| {
            // In the shortest pause the measurement's own work is as large as the effect of the pause.
            let more = if at == 0 {
                0.0
            } else {
                cold - nothing - streamed
            };
            time(more.max(0.0) / MEGAPIXELS)
        };
        let spread = over_passes(passes, |pass| Some(&pass.sleeps.get(at)?.nothing));
        points.push(AfterSleep {
            asleep_us: time(sleep.as_secs_f64() * 1e6),
            wakeup_us: time(nothing),
            connection_us: time((connection - nothing).max(0.0)),
            megapixel_us: area.map(cold),
            spread: spread
                .and_then(|estimate| estimate.spread())
                .map(|spread| rounded(spread, 2)),
        });
    }
    at_once(passes, &points).into_iter().chain(points).collect()
}

/// The cost of a wakeup after the shortest sleep: the server waits only for a client that replies immediately. `None`
/// if the passes do not show such a sleep. This wakeup is cheaper than the one after the first of `points` by the
/// same amount as a round trip.
fn at_once(passes: &[Pass], points: &[AfterSleep]) -> Option<AfterSleep> {
    let short = points.first()?;
    let quicker = over_passes(passes, |pass| Some(&pass.quicker))?;
    let turn = over_passes(passes, |pass| Some(&pass.turns))?;
    // If the difference is within the noise, it is unknown, not zero; the shortest measured sleep then substitutes
    // shorter ones.
    let wakeup = short.wakeup_us.0 - quicker.centre;
    let asleep_us = time(turn.centre);
    (wakeup > 0.0 && asleep_us.0 > 0.0 && asleep_us < short.asleep_us).then(|| AfterSleep {
        asleep_us,
        wakeup_us: time(wakeup),
        connection_us: short.connection_us,
        // The pixels that a client has just drawn are still in the caches.
        megapixel_us: short.megapixel_us.map(|_| Micros(0.0)),
        spread: quicker.half_width.map(|width| rounded(width / wakeup, 2)),
    })
}

/// Sets the costs of replies and events in `transport`, for a client that reads each one promptly.
pub(super) fn replies_and_events(passes: &[Pass], transport: &mut TransportCosts) {
    let (Some(reply), Some(event)) = (
        over_passes(passes, |pass| Some(&pass.replies)),
        over_passes(passes, |pass| Some(&pass.events)),
    ) else {
        return;
    };
    put(&mut transport.reply, &reply);
    put(&mut transport.event, &event);
}

fn put(into: &mut Measured, cpu: &Estimate) {
    into.cpu_us = Some(time(cpu.centre.max(0.0)));
    into.spread = cpu.spread().map(|spread| rounded(spread, 2));
}
