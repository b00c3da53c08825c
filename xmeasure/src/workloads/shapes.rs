//! The paper's graphics requests at any size: points, lines, outlines and filled shapes.

use std::borrow::Cow;

use x11rb_protocol::protocol::xproto::{
    Arc, CoordMode, FillPolyRequest, Point, PolyArcRequest, PolyFillArcRequest,
    PolyFillRectangleRequest, PolyLineRequest, PolyPointRequest, PolyRectangleRequest,
    PolySegmentRequest, PolyShape, Rectangle, Segment,
};

use super::{place, scattered};
use crate::server::client::SIDE;
use crate::server::wire::core;
use crate::workloads::workload::{Sync, Workload};

/// The direction of the lines in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Horizontal,
    Vertical,
    Sloped,
}

impl Direction {
    /// The steps right and down of the `index`-th line of this length.
    fn step(self, length: u16, index: usize) -> (u16, u16) {
        match self {
            Direction::Horizontal => (length, 0),
            Direction::Vertical => (0, length),
            Direction::Sloped => {
                let any = |slopes: &[(u16, u16)]| slopes[scattered(index) as usize % slopes.len()];
                if length == FEW {
                    return any(&SLOPES_OF_FEW);
                }
                let slope = any(&SLOPES);
                let leg = |of: u16| ((length * of + HYPOTENUSE / 2) / HYPOTENUSE).max(1);
                (leg(slope.0), leg(slope.1))
            }
        }
    }
}

/// Sloped lines of one length, flat and steep: a program's slopes differ, and the branch prediction would learn a
/// single slope.
const SLOPES: [(u16, u16); 8] = [
    (63, 16),
    (60, 25),
    (56, 33),
    (52, 39),
    (39, 52),
    (33, 56),
    (25, 60),
    (16, 63),
];
const HYPOTENUSE: u16 = 65;

/// The exact length in pixels of the lines in requests with several lines. The lines are short, so that the request's
/// own time is not negligible in comparison with the time of the lines.
const FEW: u16 = 25;
/// The horizontal and vertical steps of sloped lines with the length `FEW`.
const SLOPES_OF_FEW: [(u16, u16); 4] = [(24, 7), (20, 15), (15, 20), (7, 24)];

/// The horizontal distance in pixels between consecutive vertical lines. Most vertical lines of a program are in
/// different cache lines.
const APART: u16 = 16;

/// One of the paper's graphics requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Point,
    Line,
    Segment,
    Rectangle,
    Arc,
    FillPoly,
    FillRectangle,
    FillArc,
}

impl Shape {
    /// All kinds of graphics requests that are measured.
    pub(super) const ALL: [Shape; 8] = [
        Shape::FillRectangle,
        Shape::Line,
        Shape::Segment,
        Shape::Point,
        Shape::Rectangle,
        Shape::Arc,
        Shape::FillPoly,
        Shape::FillArc,
    ];

    /// The name of the request.
    pub(super) fn name(self) -> &'static str {
        match self {
            Shape::Point => "PolyPoint",
            Shape::Line => "PolyLine",
            Shape::Segment => "PolySegment",
            Shape::Rectangle => "PolyRectangle",
            Shape::Arc => "PolyArc",
            Shape::FillPoly => "FillPoly",
            Shape::FillRectangle => "PolyFillRectangle",
            Shape::FillArc => "PolyFillArc",
        }
    }

    /// True if the direction of lines affects the request's cost.
    pub(super) fn has_direction(self) -> bool {
        matches!(self, Shape::Line | Shape::Segment)
    }

    /// True if line width and line style affect the request's cost.
    pub(super) fn strokes(self) -> bool {
        matches!(
            self,
            Shape::Line | Shape::Segment | Shape::Rectangle | Shape::Arc
        )
    }

    /// The basic sizes to measure: lengths of lines and sides of squares, in pixels.
    pub(super) fn sizes(self) -> &'static [u16] {
        match self {
            Shape::Point => &[1],
            Shape::FillRectangle => &[1, 10, 100, 500],
            Shape::Line | Shape::Segment => &[1, 10, 100, 500],
            _ => &[2, 10, 100, 500],
        }
    }

    /// The size in pixels of the items in loads with several items per request, and the number of items.
    pub(super) fn several(self) -> (u16, usize) {
        match self {
            Shape::Point => (1, 8),
            Shape::Line | Shape::Segment => (FEW, 16),
            _ => (10, 16),
        }
    }

    /// The load of the request with `count` items of size `size` (pixels), on `drawable` with the GC `gc`.
    pub(super) fn load(self, drawable: u32, gc: u32, size: u16, count: usize) -> Workload {
        self.load_along(Direction::Horizontal, drawable, gc, size, count)
    }

    /// The load of the request as in `load`, with lines in this direction.
    pub(super) fn load_along(
        self,
        direction: Direction,
        drawable: u32,
        gc: u32,
        size: u16,
        count: usize,
    ) -> Workload {
        // A pixel of a line may be expensive, because the line is wide or dashed.
        let work = match self {
            Shape::FillRectangle | Shape::FillPoly | Shape::FillArc => {
                usize::from(size) * usize::from(size) * count
            }
            _ => usize::from(size) * count * 20,
        };
        Workload::varied(Sync::ReadBack, work, |index| {
            self.request(direction, (drawable, gc), size, count, index)
        })
    }

    fn request(
        self,
        direction: Direction,
        (drawable, gc): (u32, u32),
        size: u16,
        count: usize,
        index: usize,
    ) -> Vec<u8> {
        let coordinate_mode = CoordMode::ORIGIN;
        match self {
            Shape::Point => core(PolyPointRequest {
                coordinate_mode,
                drawable,
                gc,
                points: boxes(3, count, index)
                    .map(|square| corner(&square))
                    .collect(),
            }),
            Shape::Line => core(PolyLineRequest {
                coordinate_mode,
                drawable,
                gc,
                points: polyline(direction, size, count, index).into(),
            }),
            Shape::Segment => core(PolySegmentRequest {
                drawable,
                gc,
                segments: segments(direction, size, count, index),
            }),
            Shape::Rectangle => core(PolyRectangleRequest {
                drawable,
                gc,
                rectangles: outlines(size, count, index).collect(),
            }),
            Shape::Arc => core(PolyArcRequest {
                drawable,
                gc,
                arcs: outlines(size, count, index).map(circle).collect(),
            }),
            Shape::FillPoly => core(FillPolyRequest {
                drawable,
                gc,
                shape: PolyShape::CONVEX,
                coordinate_mode,
                points: triangle(size, index).into(),
            }),
            Shape::FillRectangle => core(PolyFillRectangleRequest {
                drawable,
                gc,
                rectangles: boxes(size, count, index).collect(),
            }),
            Shape::FillArc => core(PolyFillArcRequest {
                drawable,
                gc,
                arcs: boxes(size, count, index).map(circle).collect(),
            }),
        }
    }
}

/// A request to fill one rectangle of `width` by `height` pixels.
pub(super) fn rectangle(
    drawable: u32,
    gc: u32,
    width: u16,
    height: u16,
) -> PolyFillRectangleRequest<'static> {
    let (x, y) = (0, 0);
    let rectangles = vec![Rectangle {
        x,
        y,
        width,
        height,
    }];
    PolyFillRectangleRequest {
        drawable,
        gc,
        rectangles: Cow::Owned(rectangles),
    }
}

/// Returns `count` adjacent squares of `side` pixels. The number of the request, `index`, determines their positions.
pub(super) fn boxes(side: u16, count: usize, index: usize) -> impl Iterator<Item = Rectangle> {
    (index * count..(index + 1) * count).map(move |index| {
        let (x, y) = place(index, side, side);
        let (width, height) = (side, side);
        Rectangle {
            x,
            y,
            width,
            height,
        }
    })
}

/// Returns squares whose outlines stay within the window. An outline is one pixel larger than the square's side.
fn outlines(side: u16, count: usize, index: usize) -> impl Iterator<Item = Rectangle> {
    boxes(side + 1, count, index).map(move |square| Rectangle {
        width: side,
        height: side,
        ..square
    })
}

fn corner(of: &Rectangle) -> Point {
    Point { x: of.x, y: of.y }
}

fn circle(within: Rectangle) -> Arc {
    let Rectangle {
        x,
        y,
        width,
        height,
    } = within;
    let (angle1, angle2) = (0, 360 * 64);
    Arc {
        x,
        y,
        width,
        height,
        angle1,
        angle2,
    }
}

/// Returns the points of connected lines. Sloped lines go down in the upper half of the window and up in the lower
/// half, so that all lines stay within the window.
fn polyline(direction: Direction, length: u16, count: usize, index: usize) -> Vec<Point> {
    let times = |often: usize| {
        let often = u16::try_from(often).unwrap_or(u16::MAX);
        length.saturating_mul(often).min(SIDE - 10) + 1
    };
    let (width, height) = match direction {
        Direction::Horizontal => (times(count), 12),
        Direction::Vertical => (APART, times(count)),
        Direction::Sloped => (times(count), times(1)),
    };
    let (mut x, mut y) = place(index, width, height);
    let mut points = vec![Point { x, y }];
    for item in 0..count {
        let (right, down) = direction.step(length, index * count + item);
        x += right.cast_signed();
        if direction == Direction::Sloped && y >= SIDE.cast_signed() / 2 {
            y -= down.cast_signed();
        } else {
            y += down.cast_signed();
        }
        points.push(Point { x, y });
    }
    points
}

fn segments<T: FromIterator<Segment>>(
    direction: Direction,
    length: u16,
    count: usize,
    index: usize,
) -> T {
    let segments = (index * count..(index + 1) * count).map(|index| {
        let (right, down) = direction.step(length, index);
        let (x1, y) = match direction {
            Direction::Vertical => place(index, APART, down.max(11) + 1),
            _ => place(index, right.max(11) + 1, down.max(11) + 1),
        };
        let ends = (y, y + down.cast_signed());
        // Half of the sloped ones go up.
        let (y1, y2) = match direction {
            Direction::Sloped if index % 2 == 1 => (ends.1, ends.0),
            _ => ends,
        };
        Segment {
            x1,
            y1,
            x2: x1 + right.cast_signed(),
            y2,
        }
    });
    segments.collect()
}

fn triangle(side: u16, index: usize) -> Vec<Point> {
    let (x, y) = place(index, side, side);
    let side = side.cast_signed();
    [(0, 0), (side, 0), (0, side)]
        .map(|(dx, dy)| Point {
            x: x + dx,
            y: y + dy,
        })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::{Direction, SIDE, polyline};

    #[test]
    fn lines_have_the_given_length_inside_the_window() {
        let all = [
            Direction::Horizontal,
            Direction::Vertical,
            Direction::Sloped,
        ];
        for direction in all {
            for (length, count) in [(1, 1), (25, 16), (100, 1), (500, 1)] {
                for index in 0..200 {
                    let points = polyline(direction, length, count, index);
                    assert_eq!(points.len(), count + 1);
                    let side = 0..SIDE.cast_signed();
                    assert!(
                        points
                            .iter()
                            .all(|point| side.contains(&point.x) && side.contains(&point.y))
                    );
                    let (right, down) = direction.step(length, index);
                    let long = f64::from(right).hypot(f64::from(down));
                    assert!((long - f64::from(length)).abs() < 0.8);
                }
            }
        }
    }
}
