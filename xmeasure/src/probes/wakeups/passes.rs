//! The times of the passes over the wakeup loads, and their centres.

use crate::sampling::statistics::{Estimate, estimate, midmean};

/// The times of one pass, in microseconds of processor time.
#[derive(Default)]
pub(super) struct Pass {
    /// The times of a further reply, and of a further event.
    pub(super) replies: Vec<f64>,
    pub(super) events: Vec<f64>,
    /// The extra cost of a request after a short sleep compared with one directly after a reply, and the server's
    /// sleep before it.
    pub(super) quicker: Vec<f64>,
    pub(super) turns: Vec<f64>,
    /// The times by sleep.
    pub(super) sleeps: Vec<Woken>,
}

/// The times after one length of sleep.
#[derive(Default)]
pub(super) struct Woken {
    pub(super) nothing: Vec<f64>,
    pub(super) area: Vec<f64>,
    /// The time of one such batch in a stream.
    pub(super) area_streamed: Vec<f64>,
    pub(super) connection: Vec<f64>,
}

/// An estimate from the centres of the passes; their spread includes the drift between passes, as for the requests.
pub(super) fn over_passes<'a>(
    passes: &'a [Pass],
    of: impl Fn(&'a Pass) -> Option<&'a Vec<f64>>,
) -> Option<Estimate> {
    let middles = passes
        .iter()
        .filter_map(|pass| Some(estimate(of(pass)?)?.centre));
    estimate(&middles.collect::<Vec<_>>())
}

/// The mean of the middle half of all passes' readings.
pub(super) fn middle<'a>(
    passes: &'a [Pass],
    of: impl Fn(&'a Pass) -> Option<&'a Vec<f64>>,
) -> Option<f64> {
    midmean(passes.iter().filter_map(of).flatten().copied())
}
