//! The cost of a blank character as a share of an ordinary character's.

use x11prof_cost_model::{Blank, Point};

use crate::fit::samples::Sample;
use crate::fit::size_of_time::by_size;
use crate::sampling::rounding::rounded;

/// The share of a blank character. The string of blanks takes as long as a certain length of the points' text; the
/// share is this length over the string's. `None` if the points do not bound it.
pub(crate) fn blank(sample: &Sample, points: &[Point]) -> Option<Blank> {
    let length = sample.operation.op_size;
    let (share, spread) = by_size(sample, points, |size| Some((size / length).max(0.0)))?;
    Some(Blank {
        share: rounded(share.clamp(0.0, 1.0), 4),
        spread,
    })
}
