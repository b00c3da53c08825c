//! What a row that a shape reaches over counts as, beside the shape's area.

use x11prof_cost_model::{Point, Row};
use x11prof_session::Operation;

use crate::fit::Sample;
use crate::fit::blanks::by_size;
use crate::probes::transport::rounded;

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

/// True of one shape that is much higher than it is wide.
pub(crate) fn is_slender(operation: &Operation) -> bool {
    matches!(operation.rows.as_slice(), [rows] if rows * rows > 4.0 * operation.op_size)
}
