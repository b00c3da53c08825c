//! What a row that a shape covers counts as, in addition to the shape's area.

use x11prof_cost_model::{Point, Row};

use crate::fit::samples::Sample;
use crate::fit::size_of_time::by_size;
use crate::sampling::rounding::rounded;

/// By the time that a slender shape takes, the side a of the square which takes as long, and from
/// it the p of a² + a · p = area + rows · p. `None` where the shape is cheaper than its area.
pub(crate) fn row(sample: &Sample, points: &[Point]) -> Option<Row> {
    let (area, rows) = (sample.operation.op_size, *sample.operation.rows.first()?);
    let (pixels, spread) = by_size(sample, points, |square| {
        let side = square.sqrt();
        (square >= area && side < rows).then(|| (square - area) / (rows - side))
    })?;
    Some(Row {
        pixels: rounded(pixels, 4),
        spread,
    })
}
