//! Truths at one pace. Where others have a part in the processor's core, the same work takes now so long
//! and now half as long again, and the kernel charges the server for all of it. How fast the processor
//! was is looked at during each truth; by how much a workload goes with it, its own truths tell. No
//! estimate is used for that, nor the pace of a calibration, which is not the same by these looks.
//!
//! Where the server mostly sleeps, looks come behind idling, and take longer for that: such truths are
//! left as they are, and have what sleeps cost beside them.

use x11prof_xmeasure::OF_MANY_LOOKS;

use super::table::{Crossed, Rounds};
use super::truth::Alone;

/// Rows and pairs with such truths.
pub(super) type Even = (Vec<Rounds>, Vec<Crossed>);

/// How much a workload's truths must say against its going with the pace as is usual: the variance of a truth at one pace, over that of exponents. Repeated
/// x11perf tests had 0.03 to 0.09 and exponents of 0.2 to 1.6.
const PRIOR: f64 = 0.05 * 0.05 / (0.4 * 0.4);

/// The least part of the wall in which a server was at work whose truth goes with the pace.
const BUSY: f64 = 0.3;

/// Rows and pairs with each truth brought to the mean pace of all; `None` where one is not known.
pub(super) fn even(rows: &[Rounds], crossed: &[Crossed]) -> Option<Even> {
    let busy = rows.iter().flat_map(|row| &row.alone);
    let paces: Option<Vec<f64>> = busy
        .filter(|it| is_busy(it))
        .map(|it| Some(it.pace?.mean_us.0))
        .collect();
    let paces = paces?;
    let mean = paces.iter().sum::<f64>() / paces.len() as f64;
    let mut even = rows.to_vec();
    for row in &mut even {
        let exponent = exponent(rows.iter().filter(|it| it.workload == row.workload))?;
        for alone in row.alone.iter_mut().filter(|it| is_busy(it)) {
            alone.server_ms *= (mean / alone.pace?.mean_us.0).powf(exponent);
        }
    }
    let truth = |workload: &str, server: &str| {
        let mut of = even
            .iter()
            .filter(|row| row.workload == workload && row.server == server);
        of.next().map(Rounds::truth)
    };
    let mut pairs = crossed.to_vec();
    for pair in &mut pairs {
        pair.truth_ms = truth(pair.workload, pair.to)?;
        pair.from_truth_ms = truth(pair.workload, pair.from)?;
    }
    Some((even, pairs))
}

fn is_busy(alone: &Alone) -> bool {
    alone.server_ms >= BUSY * alone.wall_ms
}

/// By what power of the pace a workload's truths go: by least squares over their logarithms, each
/// server's from its own means, drawn to what is usual as far as they say little. `None` where a truth has no
/// pace.
fn exponent<'a>(rows: impl Iterator<Item = &'a Rounds>) -> Option<f64> {
    let (mut both, mut square) = (PRIOR * OF_MANY_LOOKS, PRIOR);
    for row in rows {
        let points: Option<Vec<(f64, f64)>> = row
            .alone
            .iter()
            .map(|alone| Some((alone.pace?.mean_us.0.ln(), alone.server_ms.ln())))
            .collect();
        let points = points?;
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (pace, truth) = (mean(|it| it.0), mean(|it| it.1));
        for (x, y) in &points {
            both += (x - pace) * (y - truth);
            square += (x - pace) * (x - pace);
        }
    }
    Some(both / square)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{OF_MANY_LOOKS, even, exponent};
    use crate::validate::accuracy::table::Rounds;

    fn row(truths: &[(f64, f64)]) -> Rounds {
        let alone = |&(truth, pace): &(f64, f64)| {
            json!({
                "server_ms": truth, "wall_ms": 900.0,
                "pace": { "fastest_us": 10.0, "mean_us": pace },
            })
        };
        Rounds::from_json(&json!({
            "workload": "mupdf", "server": "xvfb",
            "alone": truths.iter().map(alone).collect::<Vec<_>>(), "priced": [],
        }))
        .unwrap()
    }

    #[test]
    fn truths_are_brought_to_their_mean_pace() {
        // Twice as slow, and as much dearer as usual.
        let dear = 400.0 * 2_f64.powf(OF_MANY_LOOKS);
        let rows = [row(&[(400.0, 10.0), (dear, 20.0)])];
        assert!((exponent(rows.iter()).unwrap() - OF_MANY_LOOKS).abs() < 1e-9);
        let (even, _) = even(&rows, &[]).unwrap();
        let of = |at: usize| even[0].alone[at].server_ms;
        let mean = 400.0 * 1.5_f64.powf(OF_MANY_LOOKS);
        assert!((of(0) - mean).abs() < 1e-9 && (of(1) - mean).abs() < 1e-9);
    }

    #[test]
    fn truths_at_one_pace_say_nothing_of_it() {
        let rows = [row(&[(400.0, 10.0), (500.0, 10.0)])];
        assert!((exponent(rows.iter()).unwrap() - OF_MANY_LOOKS).abs() < 1e-9);
        let unknown = [Rounds::from_json(&json!({
            "workload": "mupdf", "server": "xvfb", "alone": [{ "server_ms": 1.0, "wall_ms": 1.0 }],
        }))
        .unwrap()];
        assert!(exponent(unknown.iter()).is_none());
    }
}
