//! The directions of lines. A horizontal line covers pixels of one scanline. A vertical line covers one pixel in each
//! of several scanlines. A sloped line is drawn pixel by pixel.

use x11prof_protocol::Symbol;

use crate::geometry::clip::Point;

/// The names of the directions of lines.
#[derive(Debug)]
pub(crate) struct Directions {
    horizontal: Symbol,
    vertical: Symbol,
    sloped: Symbol,
}

impl Directions {
    pub(crate) fn new() -> Directions {
        Directions {
            horizontal: Symbol::new("horizontal"),
            vertical: Symbol::new("vertical"),
            sloped: Symbol::new("sloped"),
        }
    }
}

/// The length of a request's lines in each direction after clipping, in pixels.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lengths {
    all: f64,
    horizontal: f64,
    vertical: f64,
}

impl Lengths {
    /// Adds a line from `from` to `to`, with a length of `length` pixels after clipping.
    #[inline]
    pub(crate) fn add(&mut self, from: Point, to: Point, length: f64) {
        self.all += length;
        if from.1 == to.1 {
            self.horizontal += length;
        } else if from.0 == to.0 {
            self.vertical += length;
        }
    }

    /// The direction of at least three quarters of the total length. If no direction has such a share, returns sloped,
    /// because the cost of sloped lines lies between the costs of the other directions. Lines whose total length is 0
    /// count as horizontal, because each of them covers pixels of one scanline.
    pub(crate) fn direction(&self, names: &Directions) -> Symbol {
        let most = 0.75 * self.all;
        if self.horizontal >= most {
            names.horizontal
        } else if self.vertical >= most {
            names.vertical
        } else {
            names.sloped
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Directions, Lengths};
    use crate::geometry::clip::Point;

    fn direction(lines: &[(Point, Point)]) -> &'static str {
        let mut lengths = Lengths::default();
        for &(from, to) in lines {
            let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
            lengths.add(from, to, dx.hypot(dy));
        }
        lengths.direction(&Directions::new()).as_str()
    }

    #[test]
    fn dominant_length_decides_the_direction() {
        assert_eq!(direction(&[((0, 0), (9, 0))]), "horizontal");
        assert_eq!(direction(&[((3, 9), (3, 2))]), "vertical");
        assert_eq!(direction(&[((0, 0), (9, 1))]), "sloped");
        assert_eq!(
            direction(&[((0, 0), (90, 0)), ((90, 0), (90, 9))]),
            "horizontal"
        );
        // The outline of a square.
        assert_eq!(direction(&[((0, 0), (9, 0)), ((9, 0), (9, 9))]), "sloped");
    }

    #[test]
    fn points_are_horizontal() {
        assert_eq!(direction(&[((4, 4), (4, 4))]), "horizontal");
        assert_eq!(direction(&[]), "horizontal");
    }
}
