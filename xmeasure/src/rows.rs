//! What a row that a shape reaches over counts as, beside the shape's area.

use x11prof_cost_model::{Clock, Point, Row};

use crate::blanks::size_of;
use crate::fit::Sample;
use crate::statistics::Estimate;
use crate::transport::rounded;

/// By the time that a slender shape takes, the side a of the square which takes as long, and from
/// it the p of a² + p · a = area + p · rows. `None` where the points, measured with squares, do not
/// bound it, or where the shape is cheaper than its area.
pub(crate) fn row(sample: &Sample, points: &[Point]) -> Option<Row> {
    let (clock, time) = match (sample.cpu, sample.wall) {
        (Some(cpu), _) => (Clock::Cpu, cpu),
        (None, wall) => (Clock::Wall, wall?),
    };
    let of = |point: &Point| Some((point.size, point.time(clock)?.0));
    let points: Vec<(f64, f64)> = points.iter().filter_map(of).collect();
    let (area, rows) = (sample.operation.op_size, sample.operation.rows);
    let pixels = |time: f64| {
        let square = size_of(time, &points)?;
        let side = square.sqrt();
        (square >= area && side < rows).then(|| (square - area) / (rows - side))
    };
    let Estimate { median, half_width } = time;
    let found = pixels(median)?;
    let spread = half_width.and_then(|half| {
        let (low, high) = (pixels(median - half)?, pixels(median + half)?);
        (found > 0.0).then(|| (high - low) / 2.0 / found)
    });
    Some(Row {
        pixels: rounded(found, 4),
        spread: spread.map(|spread| rounded(spread, 2)),
    })
}

/// True of one shape that is much higher than it is wide.
pub(crate) fn is_slender(sample: &Sample) -> bool {
    let (operation, rows) = (&sample.operation, sample.operation.rows);
    operation.items.len() == 1 && rows * rows > 4.0 * operation.op_size
}
