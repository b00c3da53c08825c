//! The times of the passes over the loads with pauses, and their centres.

use crate::sampling::statistics::{Estimate, estimate, midmean};

/// The times of one pass, in microseconds of CPU time.
#[derive(Default)]
pub(super) struct Pass {
    /// The additional times of one more reply in a batch.
    pub(super) replies: Vec<f64>,
    /// The additional times of one more event in a batch.
    pub(super) events: Vec<f64>,
    /// The extra times of a request after a short sleep, compared with a request directly after a reply.
    pub(super) quicker: Vec<f64>,
    /// The lengths of the sleep between a reply and a request directly after the reply.
    pub(super) turns: Vec<f64>,
    /// The times after each length of sleep, in the order of the lengths.
    pub(super) sleeps: Vec<Woken>,
}

/// The times of work after one length of sleep, in microseconds of CPU time.
#[derive(Default)]
pub(super) struct Woken {
    pub(super) nothing: Vec<f64>,
    pub(super) area: Vec<f64>,
    /// The time of filling the area within a stream of such requests.
    pub(super) area_streamed: Vec<f64>,
    pub(super) connection: Vec<f64>,
}

/// An estimate from the centres of the passes for the times that `of` selects. The spread of the estimate includes the
/// drift between passes. `None` without times.
pub(super) fn over_passes<'a>(
    passes: &'a [Pass],
    of: impl Fn(&'a Pass) -> Option<&'a Vec<f64>>,
) -> Option<Estimate> {
    let middles = passes
        .iter()
        .filter_map(|pass| Some(estimate(of(pass)?)?.centre));
    estimate(&middles.collect::<Vec<_>>())
}

/// The mean of the middle half of the times that `of` selects, over all passes; `None` without times.
pub(super) fn middle<'a>(
    passes: &'a [Pass],
    of: impl Fn(&'a Pass) -> Option<&'a Vec<f64>>,
) -> Option<f64> {
    midmean(passes.iter().filter_map(of).flatten().copied())
}
