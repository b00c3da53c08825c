//! What a blank character counts as, compared with one of the points' text.

use x11prof_cost_model::{Blank, Point};

use crate::fit::samples::Sample;
use crate::fit::size_of_time::by_size;
use crate::sampling::rounding::rounded;

/// The share of a blank character: by the time that a string takes, the length that a string of the
/// points' text has which takes as long, over its own. `None` where the points do not bound it.
pub(crate) fn blank(sample: &Sample, points: &[Point]) -> Option<Blank> {
    let length = sample.operation.op_size;
    let (share, spread) = by_size(sample, points, |size| Some((size / length).max(0.0)))?;
    Some(Blank {
        share: rounded(share.clamp(0.0, 1.0), 4),
        spread,
    })
}
