//! The paper's graphics requests at any size: points, lines, outlines and filled shapes.

use std::borrow::Cow;

use x11rb_protocol::protocol::xproto::{
    Arc, CoordMode, FillPolyRequest, Point, PolyArcRequest, PolyFillArcRequest,
    PolyFillRectangleRequest, PolyLineRequest, PolyPointRequest, PolyRectangleRequest,
    PolySegmentRequest, PolyShape, Rectangle, Segment,
};

use super::place;
use crate::stage::SIDE;
use crate::wire::core;
use crate::workload::{Sync, Workload};

/// A graphics request.
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
    /// All of them.
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

    /// The request's name.
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

    /// The request of that name.
    pub(super) fn of(name: &str) -> Option<Shape> {
        Shape::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// True where line width and line style matter.
    pub(super) fn strokes(self) -> bool {
        matches!(
            self,
            Shape::Line | Shape::Segment | Shape::Rectangle | Shape::Arc
        )
    }

    /// Sizes to start from: lengths of lines, sides of squares, in pixels.
    pub(super) fn sizes(self) -> &'static [u16] {
        match self {
            Shape::Point => &[1],
            Shape::FillRectangle => &[1, 10, 100, 500],
            Shape::Line | Shape::Segment => &[1, 10, 100, 500],
            _ => &[2, 10, 100, 500],
        }
    }

    /// The size at which the number of items is varied, and that number.
    pub(super) fn several(self) -> (u16, usize) {
        match self {
            Shape::Point => (1, 8),
            Shape::Line | Shape::Segment => (50, 8),
            _ => (10, 16),
        }
    }

    /// The side of the square whose op-size, or the length whose op-size, is nearest to `op_size`.
    pub(super) fn side_for(self, op_size: f64) -> u16 {
        let side = match self {
            Shape::Point => 1.0,
            Shape::Line | Shape::Segment => op_size,
            // An outline's length is its circumference.
            Shape::Rectangle => op_size / 4.0,
            Shape::Arc => op_size / std::f64::consts::PI,
            Shape::FillRectangle => op_size.sqrt(),
            Shape::FillPoly => (2.0 * op_size).sqrt(),
            Shape::FillArc => (op_size / std::f64::consts::FRAC_PI_4).sqrt(),
        };
        (side.round() as u16).clamp(1, SIDE - 10)
    }

    /// The load of `count` items of that size, with that GC.
    pub(super) fn load(self, drawable: u32, gc: u32, size: u16, count: usize) -> Workload {
        // A pixel of a line may be a wide or a dashed one.
        let work = match self {
            Shape::FillRectangle | Shape::FillPoly | Shape::FillArc => {
                usize::from(size) * usize::from(size) * count
            }
            _ => usize::from(size) * count * 20,
        };
        Workload::varied(Sync::ReadBack, work, |index| {
            self.request(drawable, gc, size, count, index)
        })
    }

    fn request(self, drawable: u32, gc: u32, size: u16, count: usize, index: usize) -> Vec<u8> {
        let coordinate_mode = CoordMode::ORIGIN;
        match self {
            Shape::Point => core(PolyPointRequest {
                coordinate_mode,
                drawable,
                gc,
                points: boxes(3, count, index).map(|it| corner(&it)).collect(),
            }),
            Shape::Line => core(PolyLineRequest {
                coordinate_mode,
                drawable,
                gc,
                points: zigzag(size, count, index).into(),
            }),
            Shape::Segment => core(PolySegmentRequest {
                drawable,
                gc,
                segments: segments(size, count, index),
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

/// A request to fill one rectangle.
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

/// Squares beside each other.
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

/// Squares whose outline, a pixel more than their side, stays within the window.
fn outlines(side: u16, count: usize, index: usize) -> impl Iterator<Item = Rectangle> {
    boxes(side + 1, count, index).map(move |it| Rectangle {
        width: side,
        height: side,
        ..it
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

/// Horizontal and vertical lines in turn: they stay within a square of the window.
fn zigzag(length: u16, count: usize, index: usize) -> Vec<Point> {
    let steps = u16::try_from(count.div_ceil(2)).unwrap_or(u16::MAX);
    let side = length.saturating_mul(steps).min(SIDE - 10) + 1;
    let (mut x, mut y) = place(index, side, side);
    let mut points = vec![Point { x, y }];
    for item in 0..count {
        if item % 2 == 0 {
            x += length.cast_signed();
        } else {
            y += length.cast_signed();
        }
        points.push(Point { x, y });
    }
    points
}

fn segments<T: FromIterator<Segment>>(length: u16, count: usize, index: usize) -> T {
    let segments = (index * count..(index + 1) * count).map(|index| {
        let (x1, y) = place(index, length + 1, 12);
        let x2 = x1 + length.cast_signed();
        Segment {
            x1,
            y1: y,
            x2,
            y2: y,
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
    use super::{Shape, zigzag};

    #[test]
    fn names_lead_back_to_shapes() {
        for shape in Shape::ALL {
            assert_eq!(Shape::of(shape.name()), Some(shape));
        }
        assert_eq!(Shape::of("PolyText8"), None);
    }

    #[test]
    fn a_zigzag_has_one_point_more_than_lines() {
        let points = zigzag(50, 8, 0);
        assert_eq!(points.len(), 9);
        assert_eq!((points[8].x, points[8].y), (200, 200));
    }

    #[test]
    fn sides_come_from_op_sizes() {
        assert_eq!(Shape::FillRectangle.side_for(10_000.0), 100);
        assert_eq!(Shape::Segment.side_for(77.0), 77);
        assert_eq!(Shape::Rectangle.side_for(40.0), 10);
    }
}
