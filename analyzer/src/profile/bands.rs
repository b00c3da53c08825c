//! How many boxes a server's region has for what has changed. X servers keep regions in bands: boxes
//! of one band have the same top and bottom, and two bands are one where the one goes on with the
//! other's columns. So boxes that overlap in part fall into more than they are.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use x11prof_cost_model::WordHasher;
use x11prof_session::Changed;

/// Different boxes kept at most. When there are more, those that are kept are counted, and the rest
/// counts as a region of its own.
const MOST: usize = 1 << 11;

/// Boxes that may overlap.
#[derive(Debug, Default)]
pub(super) struct Bands {
    boxes: HashSet<Changed, BuildHasherDefault<WordHasher>>,
    /// The boxes of regions that are counted already.
    counted: u64,
    /// How many different ones there were when the region was last looked at, and how many bands it had.
    looked: (usize, u64),
}

impl Bands {
    pub(super) fn add(&mut self, area: Changed) {
        if self.boxes.len() >= MOST && !self.boxes.contains(&area) {
            self.count();
        }
        self.boxes.insert(area);
    }

    /// How many bands the region has, as of when there were half as many boxes at the least.
    pub(super) fn bands(&mut self) -> u64 {
        let all = self.boxes.len();
        if all >= 2 * self.looked.0 {
            let mut boxes: Vec<Changed> = self.boxes.iter().copied().collect();
            self.looked = (all, in_bands(&mut boxes).1);
        }
        self.looked.1
    }

    /// How many boxes the region has; forgets it.
    pub(super) fn take(&mut self) -> u64 {
        self.count();
        std::mem::take(&mut self.counted)
    }

    fn count(&mut self) {
        let mut boxes: Vec<Changed> = self.boxes.drain().collect();
        self.counted += in_bands(&mut boxes).0;
        self.looked = (0, 0);
    }
}

/// How many boxes `boxes` make in bands, from the top to the bottom, and in how many.
fn in_bands(boxes: &mut [Changed]) -> (u64, u64) {
    if let [_] = boxes {
        return (1, 1);
    }
    boxes.sort_unstable_by_key(|area| area.top);
    let mut edges: Vec<u16> = boxes.iter().flat_map(|it| [it.top, it.bottom]).collect();
    edges.sort_unstable();
    edges.dedup();

    let (mut count, mut bands, mut next) = (0, 0, 0);
    // What reaches into the band, by its left side.
    let mut open: Vec<Changed> = Vec::new();
    let (mut before, mut columns) = (Vec::new(), Vec::new());
    for top in edges {
        open.retain(|area| area.bottom > top);
        while let Some(area) = boxes.get(next).filter(|area| area.top == top) {
            let at = open.partition_point(|it| it.left < area.left);
            open.insert(at, *area);
            next += 1;
        }
        columns.clear();
        for area in &open {
            match columns.last_mut() {
                Some((_, right)) if area.left <= *right => *right = area.right.max(*right),
                _ => columns.push((area.left, area.right)),
            }
        }
        if columns != before {
            count += columns.len() as u64;
            bands += u64::from(!columns.is_empty());
        }
        std::mem::swap(&mut before, &mut columns);
    }
    (count, bands)
}

#[cfg(test)]
mod tests {
    use x11prof_session::Changed;

    use super::{Bands, MOST};

    fn bands(areas: &[(u16, u16, u16, u16)]) -> u64 {
        let mut bands = Bands::default();
        for &(left, top, right, bottom) in areas {
            bands.add(Changed {
                left,
                top,
                right,
                bottom,
            });
        }
        let count = bands.take();
        assert_eq!(bands.take(), 0);
        count
    }

    #[test]
    fn boxes_fall_into_bands() {
        assert_eq!(bands(&[]), 0);
        assert_eq!(bands(&[(0, 0, 9, 9), (0, 0, 9, 9), (2, 2, 5, 5)]), 1);
        // Side by side they are one, and so they are one above the other.
        assert_eq!(bands(&[(0, 0, 9, 9), (9, 0, 20, 9)]), 1);
        assert_eq!(bands(&[(0, 0, 9, 9), (0, 9, 9, 20)]), 1);
        assert_eq!(bands(&[(0, 0, 9, 9), (0, 10, 9, 20)]), 2);
        // Apart from each other, at the same height and shifted by one row.
        assert_eq!(bands(&[(0, 0, 9, 9), (10, 0, 20, 9)]), 2);
        assert_eq!(bands(&[(0, 0, 9, 9), (10, 1, 20, 10)]), 4);
        // A corner over another box.
        assert_eq!(bands(&[(0, 0, 10, 10), (5, 5, 15, 15)]), 3);
    }

    #[test]
    fn bands_are_looked_at_while_they_grow() {
        let mut bands = Bands::default();
        assert_eq!(bands.bands(), 0);
        let mut seen = Vec::new();
        for row in 0..4 {
            for column in 0..2 {
                let (left, top) = (column * 20, row * 20);
                let (right, bottom) = (left + 9, top + 9);
                bands.add(Changed {
                    left,
                    top,
                    right,
                    bottom,
                });
                seen.push(bands.bands());
            }
        }
        assert_eq!(seen, [1, 1, 1, 2, 2, 2, 2, 4]);
        bands.take();
        assert_eq!(bands.bands(), 0);
    }

    #[test]
    fn those_beyond_the_most_still_count() {
        let apart = |at: usize| Changed {
            left: 2 * (at % 64) as u16,
            top: 2 * (at / 64) as u16,
            right: 2 * (at % 64) as u16 + 1,
            bottom: 2 * (at / 64) as u16 + 1,
        };
        let mut bands = Bands::default();
        for at in 0..2 * MOST {
            bands.add(apart(at));
        }
        assert_eq!(bands.take(), 2 * MOST as u64);
    }
}
