//! Clips rectangles and lines to a drawable. Only the part inside has a cost.

/// A rectangle of pixels; `right` and `bottom` are the first column and row outside the rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
}

/// A position in a drawable, in pixels: column and row.
pub(crate) type Point = (i32, i32);

impl Area {
    /// An area that contains every point with 16-bit coordinates, so that it clips nothing.
    pub(crate) const EVERYWHERE: Area = Area {
        left: -(1 << 20),
        top: -(1 << 20),
        right: 1 << 20,
        bottom: 1 << 20,
    };

    /// An area without pixels.
    pub(crate) const NOTHING: Area = Area {
        left: 0,
        top: 0,
        right: 0,
        bottom: 0,
    };

    /// The rectangle of `width` by `height` pixels with the upper left pixel (`x`, `y`).
    pub(crate) fn new(x: i16, y: i16, width: u16, height: u16) -> Area {
        let (left, top) = (i32::from(x), i32::from(y));
        Area {
            left,
            top,
            right: left + i32::from(width),
            bottom: top + i32::from(height),
        }
    }

    /// The rectangle between these edges; empty if the edges cross.
    pub(crate) fn between(left: i32, top: i32, right: i32, bottom: i32) -> Area {
        Area {
            left,
            top,
            right,
            bottom,
        }
    }

    /// The left, top, right and bottom edges, in pixels.
    pub(crate) fn edges(self) -> (i32, i32, i32, i32) {
        (self.left, self.top, self.right, self.bottom)
    }

    /// True if the rectangle has no pixels.
    pub(crate) fn is_empty(self) -> bool {
        self.left >= self.right || self.top >= self.bottom
    }

    /// The smallest rectangle that encloses both rectangles.
    pub(crate) fn hull(self, other: Area) -> Area {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Area {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    /// The rectangle. A width or height of 0 is replaced by the distance to the right or lower edge of a drawable of
    /// `width` by `height` pixels.
    pub(crate) fn or_to_the_edge(self, width: u16, height: u16) -> Area {
        let reach = |from, to, edge: u16| if from == to { i32::from(edge) } else { to };
        Area {
            right: reach(self.left, self.right, width),
            bottom: reach(self.top, self.bottom, height),
            ..self
        }
    }

    /// The rectangle moved by `dx` pixels to the right and `dy` pixels down.
    pub(crate) fn moved(self, dx: i32, dy: i32) -> Area {
        Area {
            left: self.left.saturating_add(dx),
            top: self.top.saturating_add(dy),
            right: self.right.saturating_add(dx),
            bottom: self.bottom.saturating_add(dy),
        }
    }

    /// The rectangle of the pixels that are in both rectangles.
    pub(crate) fn intersection(self, other: Area) -> Area {
        Area {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    /// The number of pixels in the rectangle.
    pub(crate) fn pixels(self) -> f64 {
        f64::from(self.width()) * f64::from(self.height())
    }

    pub(crate) fn width(self) -> i32 {
        self.right.saturating_sub(self.left).max(0)
    }

    pub(crate) fn height(self) -> i32 {
        self.bottom.saturating_sub(self.top).max(0)
    }

    pub(crate) fn origin(self) -> Point {
        (self.left, self.top)
    }

    /// True if the rectangle contains the pixel at `point`.
    #[inline]
    pub(crate) fn contains(self, (x, y): Point) -> bool {
        (self.left..self.right).contains(&x) && (self.top..self.bottom).contains(&y)
    }

    /// True if the rectangle contains all of `other`.
    pub(crate) fn encloses(self, other: Area) -> bool {
        self.intersection(other) == other
    }

    /// Returns the rectangle enlarged by `by` pixels on each side, which allows for the width of lines: if a line of
    /// width 2 × `by` touches the original rectangle, its centre line passes through the enlarged one.
    pub(crate) fn grown(self, by: i32) -> Area {
        Area {
            left: self.left.saturating_sub(by),
            top: self.top.saturating_sub(by),
            right: self.right.saturating_add(by),
            bottom: self.bottom.saturating_add(by),
        }
    }

    /// Returns the length in pixels of the part of a line inside the rectangle; `None` if no part is inside. A line
    /// from x = 0 to x = 100 has a length of 100 pixels.
    #[inline]
    pub(crate) fn line_inside(self, from: Point, to: Point) -> Option<f64> {
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = (dx * dx + dy * dy).sqrt();
        match self.contains(from) && self.contains(to) {
            true => Some(length),
            false => Some(length * self.part_inside(from, to)?),
        }
    }

    /// Returns the share (0 to 1) of the line between two points that is inside the rectangle (Liang and Barsky, 1984).
    /// `None` if no part is inside.
    fn part_inside(self, from: Point, to: Point) -> Option<f64> {
        let beside = |a: i32, b: i32, low: i32, high: i32| a.max(b) < low || a.min(b) >= high;
        if beside(from.0, to.0, self.left, self.right)
            || beside(from.1, to.1, self.top, self.bottom)
        {
            return None;
        }
        let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
        for (start, end, low, high) in [
            (from.0, to.0, self.left, self.right),
            (from.1, to.1, self.top, self.bottom),
        ] {
            if start != end {
                let [start, end, low, high] = [start, end, low, high].map(f64::from);
                let at_low = (low - start) / (end - start);
                let at_high = (high - start) / (end - start);
                enters = enters.max(at_low.min(at_high));
                leaves = leaves.min(at_low.max(at_high));
            }
        }
        (enters <= leaves).then_some(leaves - enters)
    }
}

#[cfg(test)]
mod tests {
    use super::Area;

    #[test]
    fn rectangles_are_clipped_to_the_area() {
        let drawable = Area::new(0, 0, 100, 50);
        let pixels = |x, y, w, h| Area::new(x, y, w, h).intersection(drawable).pixels();
        assert_eq!(pixels(10, 10, 10, 10), 100.0);
        assert_eq!(pixels(-5, -5, 10, 10), 25.0);
        assert_eq!(pixels(95, 45, 10, 10), 25.0);
        assert_eq!(pixels(100, 0, 10, 10), 0.0);
        assert_eq!(
            pixels(i16::MIN, i16::MIN, u16::MAX, u16::MAX),
            32767.0_f64.min(100.0) * 50.0
        );
        assert_eq!(pixels(0, 0, 0, 10), 0.0);
    }

    #[test]
    fn lines_are_clipped_to_the_area() {
        let drawable = Area::new(0, 0, 100, 50);
        assert_eq!(drawable.line_inside((0, 0), (30, 40)), Some(50.0));
        assert_eq!(drawable.line_inside((0, 0), (100, 0)), Some(100.0));
        assert_eq!(drawable.line_inside((-50, 10), (50, 10)), Some(50.0));
        assert_eq!(drawable.line_inside((-30, -40), (30, 40)), Some(50.0));
        assert_eq!(
            drawable.line_inside((0, 50), (100, 50)),
            None,
            "the row below the last"
        );
        assert_eq!(drawable.line_inside((0, -1), (100, -1)), None);
        assert_eq!(
            drawable.line_inside((-10, 5), (5, -10)),
            None,
            "past the corner"
        );
        assert_eq!(drawable.line_inside((7, 7), (7, 7)), Some(0.0));
        assert_eq!(drawable.grown(5).line_inside((0, -4), (10, -4)), Some(10.0));
    }

    #[test]
    fn everywhere_clips_nothing() {
        let far = Area::new(i16::MIN, i16::MIN, u16::MAX, u16::MAX);
        assert!(Area::EVERYWHERE.encloses(far));
        assert_eq!(
            Area::EVERYWHERE.line_inside((-32768, 0), (32767, 0)),
            Some(65535.0)
        );
    }
}
