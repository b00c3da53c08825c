//! Areas of polygons, and areas and lengths of arcs, clipped to a drawable.

use std::f64::consts::{PI, TAU};

use crate::geometry::clip::Area;

/// Sums the area of a polygon inside a drawable, corner by corner.
///
/// By Green's theorem the area is the sum over the edges of the integral of y dx. With x and y clipped to the drawable,
/// the sum is the area inside the drawable. The result is exact for polygons without self-intersections; parts with a
/// winding number of 2 count twice.
#[derive(Debug)]
pub(crate) struct Polygon {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    first: Option<(f64, f64)>,
    last: (f64, f64),
    sum: f64,
}

impl Polygon {
    pub(crate) fn inside(area: Area) -> Polygon {
        let (left, top) = area.origin();
        Polygon {
            left: f64::from(left),
            top: f64::from(top),
            width: f64::from(area.width()),
            height: f64::from(area.height()),
            first: None,
            last: (0.0, 0.0),
            sum: 0.0,
        }
    }

    /// Adds the next corner of the polygon.
    pub(crate) fn corner(&mut self, x: f64, y: f64) {
        let corner = (x - self.left, y - self.top);
        if self.first.is_none() {
            self.first = Some(corner);
        } else {
            self.edge(self.last, corner);
        }
        self.last = corner;
    }

    /// The area of the polygon inside the drawable, in pixels.
    pub(crate) fn pixels(mut self) -> f64 {
        if let Some(first) = self.first {
            self.edge(self.last, first);
        }
        self.sum.abs()
    }

    fn edge(&mut self, from: (f64, f64), to: (f64, f64)) {
        let dx = to.0 - from.0;
        if dx == 0.0 {
            return;
        }
        let slope = (to.1 - from.1) / dx;
        let (x1, x2) = (from.0.clamp(0.0, self.width), to.0.clamp(0.0, self.width));
        let (y1, y2) = (
            from.1 + slope * (x1 - from.0),
            from.1 + slope * (x2 - from.0),
        );
        self.sum += (x2 - x1) * self.mean_height(y1, y2);
    }

    /// Returns the mean of y along an edge from `y1` to `y2`, with y limited to the height of the drawable.
    fn mean_height(&self, y1: f64, y2: f64) -> f64 {
        let height = self.height;
        if (y2 - y1).abs() < 1e-9 {
            return y1.clamp(0.0, height);
        }
        let integral = |y: f64| {
            let inside = y.clamp(0.0, height);
            inside * inside / 2.0 + height * (y - height).max(0.0)
        };
        (integral(y2) - integral(y1)) / (y2 - y1)
    }
}

/// An arc (protocol, type ARC), with its angles in radians, counterclockwise from three o'clock.
///
/// In the protocol, the angles of an ellipse are scaled with its axes. An angle is therefore the parameter `t` of the
/// point (rx cos t, ry sin t), and the area of a sector is proportional to its extent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arc {
    bounds: Area,
    centre: (f64, f64),
    radii: (f64, f64),
    start: f64,
    extent: f64,
}

/// The number of line segments that approximate a whole ellipse, if it is clipped or is not a circle. The error of the
/// length is at most 0.04 %.
const PIECES: u32 = 64;

impl Arc {
    /// Creates an arc from angles in 64ths of a degree, as on the wire. Extents of more than a full circle count as a
    /// full circle.
    pub(crate) fn new(x: i16, y: i16, width: u16, height: u16, angle1: i16, angle2: i16) -> Arc {
        let radians = |angle: i16| f64::from(angle) / 64.0 * PI / 180.0;
        let radii = (f64::from(width) / 2.0, f64::from(height) / 2.0);
        Arc {
            bounds: Area::new(x, y, width, height),
            centre: (f64::from(x) + radii.0, f64::from(y) + radii.1),
            radii,
            start: radians(angle1),
            extent: radians(angle2).clamp(-TAU, TAU),
        }
    }

    /// The length in pixels of the part of the arc inside `area`; `None` if no part is inside.
    pub(crate) fn length_inside(&self, area: Area) -> Option<f64> {
        let whole = area.encloses(self.bounds);
        if whole && self.radii.0 == self.radii.1 {
            return Some(self.radii.0 * self.extent.abs());
        }
        if whole && self.extent.abs() > TAU - 1e-9 {
            return Some(circumference(self.radii));
        }
        let mut length = None;
        let mut points = self.points();
        let mut last = points.next()?;
        for next in points {
            let middle = ((last.0 + next.0) / 2.0, (last.1 + next.1) / 2.0);
            // A segment counts if its midpoint is inside. The error is small, because segments are short.
            if whole || area.contains((middle.0.floor() as i32, middle.1.floor() as i32)) {
                let (dx, dy) = (next.0 - last.0, next.1 - last.1);
                *length.get_or_insert(0.0) += (dx * dx + dy * dy).sqrt();
            }
            last = next;
        }
        length
    }

    /// The number of pixels of the filled arc inside `area`. The arc is filled as a pie slice if `pie` is true,
    /// otherwise as a chord.
    pub(crate) fn pixels_inside(&self, area: Area, pie: bool) -> f64 {
        if area.encloses(self.bounds) {
            let triangle = if pie { 0.0 } else { self.extent.abs().sin() };
            return self.radii.0 * self.radii.1 / 2.0 * (self.extent.abs() - triangle);
        }
        let mut polygon = Polygon::inside(area);
        if pie && self.extent.abs() < TAU {
            polygon.corner(self.centre.0, self.centre.1);
        }
        for (x, y) in self.points() {
            polygon.corner(x, y);
        }
        polygon.pixels()
    }

    /// Returns the end points of the line segments, from the start of the arc to its end. y grows downwards.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        // The number of segments is proportional to the arc's extent. Each segment is the previous one, rotated.
        let pieces = (f64::from(PIECES) * self.extent.abs() / TAU)
            .ceil()
            .max(1.0);
        let (turn_sin, turn_cos) = (self.extent / pieces).sin_cos();
        let (mut sin, mut cos) = self.start.sin_cos();
        let (centre, radii) = (self.centre, self.radii);
        (0..=pieces as u32).map(move |_| {
            let point = (centre.0 + radii.0 * cos, centre.1 - radii.1 * sin);
            (sin, cos) = (
                sin * turn_cos + cos * turn_sin,
                cos * turn_cos - sin * turn_sin,
            );
            point
        })
    }
}

/// Returns the circumference of an ellipse with these half-axes, within 0.04 % (Ramanujan 1914, "Modular equations and
/// approximations to π", section 16).
fn circumference((a, b): (f64, f64)) -> f64 {
    if a + b == 0.0 {
        return 0.0;
    }
    let h = ((a - b) / (a + b)).powi(2);
    PI * (a + b) * (1.0 + 3.0 * h / (10.0 + (4.0 - 3.0 * h).sqrt()))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::{Arc, Polygon};
    use crate::geometry::clip::Area;

    const FULL: i16 = 360 * 64;
    const QUARTER: i16 = 90 * 64;

    fn pixels(corners: &[(f64, f64)]) -> f64 {
        let mut polygon = Polygon::inside(Area::new(0, 0, 100, 100));
        for (x, y) in corners {
            polygon.corner(*x, *y);
        }
        polygon.pixels()
    }

    #[test]
    fn polygon_area_ignores_winding_order() {
        assert_eq!(
            pixels(&[(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)]),
            100.0
        );
        assert_eq!(
            pixels(&[(0.0, 10.0), (10.0, 10.0), (10.0, 0.0), (0.0, 0.0)]),
            100.0
        );
        assert_eq!(pixels(&[(50.0, 50.0), (60.0, 50.0), (50.0, 60.0)]), 50.0);
        assert_eq!(pixels(&[(0.0, 0.0), (10.0, 0.0)]), 0.0);
        assert_eq!(pixels(&[]), 0.0);
    }

    #[test]
    fn polygons_are_clipped_to_the_area() {
        let square =
            |x: f64, y: f64| pixels(&[(x, y), (x + 10.0, y), (x + 10.0, y + 10.0), (x, y + 10.0)]);
        assert_eq!(square(-5.0, -5.0), 25.0);
        assert_eq!(square(95.0, 95.0), 25.0);
        assert_eq!(square(95.0, 200.0), 0.0);
        // A diamond around the corner of the drawable: a quarter of its 200 pixels is inside.
        assert!(
            (pixels(&[(-10.0, 0.0), (0.0, -10.0), (10.0, 0.0), (0.0, 10.0)]) - 50.0).abs() < 1e-9
        );
    }

    #[test]
    fn arc_length_and_area_are_computed() {
        let inside = Area::new(0, 0, 100, 100);
        let circle = Arc::new(10, 10, 20, 20, 0, FULL);
        assert!((circle.length_inside(inside).unwrap() - 20.0 * PI).abs() < 1e-9);
        assert!((circle.pixels_inside(inside, true) - 100.0 * PI).abs() < 1e-9);
        let quarter = Arc::new(10, 10, 20, 20, 0, QUARTER);
        assert!((quarter.length_inside(inside).unwrap() - 5.0 * PI).abs() < 1e-9);
        assert!((quarter.pixels_inside(inside, true) - 25.0 * PI).abs() < 1e-9);
        assert!((quarter.pixels_inside(inside, false) - (25.0 * PI - 50.0)).abs() < 1e-9);
        let flat = Arc::new(10, 10, 40, 0, 0, FULL);
        assert!((flat.length_inside(inside).unwrap() - 80.0).abs() < 0.1);
    }

    #[test]
    fn arcs_are_clipped_to_the_area() {
        let half = Arc::new(-10, 10, 20, 20, 0, FULL);
        let inside = Area::new(0, 0, 100, 100);
        assert!((half.length_inside(inside).unwrap() - 10.0 * PI).abs() < 0.5);
        assert!((half.pixels_inside(inside, true) - 50.0 * PI).abs() < 0.5);
        assert_eq!(
            Arc::new(200, 0, 20, 20, 0, FULL).length_inside(inside),
            None
        );
        assert_eq!(
            Arc::new(200, 0, 20, 20, 0, FULL).pixels_inside(inside, false),
            0.0
        );
    }
}
