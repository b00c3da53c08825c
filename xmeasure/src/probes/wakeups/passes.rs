//! What the passes over the loads of `rest` took, and what is in the middle of that.

use crate::sampling::statistics::{Estimate, estimate, midmean};

/// What one pass over all of it took, in microseconds of processor time.
#[derive(Default)]
pub(super) struct Pass {
    /// One reply more; one event more.
    pub(super) replies: Vec<f64>,
    pub(super) events: Vec<f64>,
    /// What a question after a short sleep costs more than one that follows an answer at once, and
    /// how long the server slept before such a one.
    pub(super) quicker: Vec<f64>,
    pub(super) turns: Vec<f64>,
    /// By sleep, and by work in a short one.
    pub(super) sleeps: Vec<Slept>,
    pub(super) work: Vec<Slept>,
}

impl Pass {
    /// At a pace at which all takes so many times as long.
    pub(super) fn times(&mut self, factor: f64) {
        let own = [&mut self.replies, &mut self.events, &mut self.quicker];
        let slept = self.sleeps.iter_mut().chain(&mut self.work);
        let all = own.into_iter().chain(slept.flat_map(Slept::all));
        all.flatten().for_each(|it| *it *= factor);
    }
}

impl Slept {
    fn all(&mut self) -> [&mut Vec<f64>; 6] {
        [
            &mut self.nothing,
            &mut self.motley,
            &mut self.motley_warm,
            &mut self.area,
            &mut self.area_warm,
            &mut self.connection,
        ]
    }
}

/// After one length of sleep or work.
#[derive(Default)]
pub(super) struct Slept {
    pub(super) nothing: Vec<f64>,
    pub(super) motley: Vec<f64>,
    /// What one of those in a stream takes.
    pub(super) motley_warm: Vec<f64>,
    pub(super) area: Vec<f64>,
    /// What one of those in a stream takes.
    pub(super) area_warm: Vec<f64>,
    pub(super) connection: Vec<f64>,
}

/// From the middles of the passes: their spread holds what drifts from pass to pass as well, as
/// that of the requests does.
pub(super) fn over_passes<'a>(
    passes: &'a [Pass],
    of: impl Fn(&'a Pass) -> Option<&'a Vec<f64>>,
) -> Option<Estimate> {
    let middles = passes
        .iter()
        .filter_map(|pass| Some(estimate(of(pass)?)?.centre));
    estimate(&middles.collect::<Vec<_>>())
}

/// The mean of the middle half of what all passes read.
pub(super) fn middle<'a>(
    passes: &'a [Pass],
    of: impl Fn(&'a Pass) -> Option<&'a Vec<f64>>,
) -> Option<f64> {
    midmean(passes.iter().filter_map(of).flatten().copied())
}
