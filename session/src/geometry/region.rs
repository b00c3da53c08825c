//! Regions: sets of pixels as rectangles that do not overlap, for clips and for XFIXES.

use crate::geometry::clip::Area;
use x11prof_protocol::Body;

/// The maximum number of rectangles in a region. Beyond the limit the region becomes its bounding box.
const PIECES_LIMIT: usize = 64;

/// A set of pixels, stored as rectangles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// The rectangles of the region, which are not empty and do not overlap.
    pieces: Vec<Area>,
    bounds: Area,
}

impl Default for Region {
    fn default() -> Region {
        Region {
            pieces: Vec::new(),
            bounds: Area::NOTHING,
        }
    }
}

impl Region {
    /// The region that consists of one rectangle.
    pub(crate) fn of(area: Area) -> Region {
        Region::of_all([area])
    }

    /// The region of all pixels in any of the rectangles.
    pub(crate) fn of_all(areas: impl IntoIterator<Item = Area>) -> Region {
        let mut region = Region::default();
        for area in areas {
            region.add(area);
        }
        region
    }

    /// Reads the region from the list of rectangles at offset `at` of a request's body; `None` if the list is
    /// truncated.
    pub(crate) fn read(body: &Body<'_>, at: usize) -> Option<Region> {
        body.is_whole().then(|| {
            Region::of_all(body.list(at, 8).map(|rectangle| {
                Area::new(
                    rectangle.i16(0).unwrap_or(0),
                    rectangle.i16(2).unwrap_or(0),
                    rectangle.u16(4).unwrap_or(0),
                    rectangle.u16(6).unwrap_or(0),
                )
            }))
        })
    }

    pub(crate) fn bounds(&self) -> Area {
        self.bounds
    }

    pub(crate) fn pieces(&self) -> &[Area] {
        &self.pieces
    }

    /// Adds the pixels of a rectangle.
    pub(crate) fn add(&mut self, area: Area) {
        if area.is_empty() {
            return;
        }
        let apart = self.bounds.intersection(area).is_empty();
        self.bounds = self.bounds.hull(area);
        if apart {
            self.pieces.push(area);
        } else {
            let mut new = vec![area];
            for piece in &self.pieces {
                new = cut(&new, *piece);
            }
            self.pieces.extend(new);
        }
        self.limit();
    }

    /// The pixels that are in this region or in `other`.
    pub(crate) fn union(&self, other: &Region) -> Region {
        let mut all = self.clone();
        for piece in &other.pieces {
            all.add(*piece);
        }
        all
    }

    /// The pixels that are in this region and in `other`.
    pub(crate) fn intersection(&self, other: &Region) -> Region {
        let pairs = self
            .pieces
            .iter()
            .flat_map(|one| other.pieces.iter().map(|two| one.intersection(*two)));
        Region::of_apart(pairs.filter(|area| !area.is_empty()).collect())
    }

    /// The pixels of this region that are not in `other`.
    pub(crate) fn without(&self, other: &Region) -> Region {
        let mut rest = self.pieces.clone();
        for piece in &other.pieces {
            rest = cut(&rest, *piece);
            if rest.len() > 4 * PIECES_LIMIT {
                break;
            }
        }
        Region::of_apart(rest)
    }

    /// The region moved by `dx` pixels to the right and `dy` pixels down.
    pub(crate) fn moved(&self, dx: i32, dy: i32) -> Region {
        Region {
            pieces: self.pieces.iter().map(|area| area.moved(dx, dy)).collect(),
            bounds: self.bounds.moved(dx, dy),
        }
    }

    /// The region with every rectangle enlarged on each side by this number of pixels (XFIXES, ExpandRegion).
    pub(crate) fn expanded(&self, left: i32, right: i32, top: i32, bottom: i32) -> Region {
        Region::of_all(self.pieces.iter().map(|area| {
            let (l, t, r, b) = area.edges();
            Area::between(
                l.saturating_sub(left),
                t.saturating_sub(top),
                r.saturating_add(right),
                b.saturating_add(bottom),
            )
        }))
    }

    fn of_apart(pieces: Vec<Area>) -> Region {
        let bounds = pieces
            .iter()
            .fold(Area::NOTHING, |hull, area| hull.hull(*area));
        let mut region = Region { pieces, bounds };
        region.limit();
        region
    }

    fn limit(&mut self) {
        if self.pieces.len() > PIECES_LIMIT {
            self.pieces.clear();
            self.pieces.push(self.bounds);
        }
    }
}

/// Returns the parts of `areas` outside `hole`, as rectangles.
fn cut(areas: &[Area], hole: Area) -> Vec<Area> {
    let mut rest = Vec::with_capacity(areas.len());
    for area in areas {
        let inside = area.intersection(hole);
        if inside.is_empty() {
            rest.push(*area);
            continue;
        }
        let (left, top, right, bottom) = area.edges();
        let (hole_left, hole_top, hole_right, hole_bottom) = inside.edges();
        let sides = [
            Area::between(left, top, right, hole_top),
            Area::between(left, hole_bottom, right, bottom),
            Area::between(left, hole_top, hole_left, hole_bottom),
            Area::between(hole_right, hole_top, right, hole_bottom),
        ];
        rest.extend(sides.into_iter().filter(|side| !side.is_empty()));
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::{PIECES_LIMIT, Region};
    use crate::geometry::clip::Area;

    fn pixels(region: &Region) -> f64 {
        region.pieces().iter().map(|area| area.pixels()).sum()
    }

    #[test]
    fn overlapping_rectangles_count_once() {
        let cross = Region::of_all([Area::new(0, 10, 30, 10), Area::new(10, 0, 10, 30)]);
        assert_eq!(pixels(&cross), 500.0);
        assert_eq!(cross.bounds(), Area::new(0, 0, 30, 30));
        assert_eq!(pixels(&Region::of(Area::new(5, 5, 0, 7))), 0.0);
    }

    #[test]
    fn regions_are_joined_intersected_subtracted_and_moved() {
        let one = Region::of(Area::new(0, 0, 10, 10));
        let two = Region::of(Area::new(5, 5, 10, 10));
        assert_eq!(pixels(&one.union(&two)), 175.0);
        assert_eq!(pixels(&one.intersection(&two)), 25.0);
        assert_eq!(pixels(&one.without(&two)), 75.0);
        assert_eq!(one.without(&one), Region::default());
        assert_eq!(one.moved(3, -3).bounds(), Area::new(3, -3, 10, 10));
        assert_eq!(
            one.expanded(1, 2, 3, 4).bounds(),
            Area::between(-1, -3, 12, 14)
        );
    }

    #[test]
    fn region_over_the_piece_limit_becomes_its_bounds() {
        let squares = (0..=PIECES_LIMIT as i16).map(|n| Area::new(n * 10, 0, 5, 5));
        let region = Region::of_all(squares);
        assert_eq!(region.pieces(), [region.bounds()]);
    }
}
