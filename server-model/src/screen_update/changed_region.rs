//! The changed region, stored in bands as in X servers (Xserver, mi/miregion.c). The boxes of a band have the same top
//! and bottom. Adjacent bands with the same columns are merged. So partly overlapping boxes become more boxes.

use x11prof_session::Changed;

/// The maximum number of boxes. Beyond the limit their pixels are counted, and a new region begins.
const BOXES_LIMIT: usize = 1 << 14;

/// Rows with the same columns.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Band {
    top: u16,
    bottom: u16,
    /// The columns from left to right. They neither overlap nor touch.
    columns: Vec<(u16, u16)>,
}

impl Band {
    fn pixels(&self) -> u64 {
        let columns = self.columns.iter().map(|&(left, right)| right - left);
        let width: u64 = columns.map(u64::from).sum();
        width * u64::from(self.bottom - self.top)
    }

    /// The band's rows from `top` to `bottom`.
    fn rows(&self, top: u16, bottom: u16) -> Band {
        let columns = self.columns.clone();
        Band {
            top,
            bottom,
            columns,
        }
    }

    /// The band with an added column.
    fn with(mut self, (mut left, mut right): (u16, u16)) -> Band {
        let first = self.columns.partition_point(|column| column.1 < left);
        let end = self.columns.partition_point(|column| column.0 <= right);
        if let Some(met) = self.columns.get(first..end).filter(|met| !met.is_empty()) {
            left = met.first().map_or(left, |column| column.0.min(left));
            right = met.last().map_or(right, |column| column.1.max(right));
        }
        self.columns.splice(first..end, [(left, right)]);
        self
    }
}

/// The region of boxes that may overlap.
#[derive(Debug, Default)]
pub(crate) struct ChangedRegion {
    /// The bands from top to bottom. They do not overlap.
    bands: Vec<Band>,
    boxes: usize,
    /// The number of pixels that are already counted.
    counted: u64,
}

impl ChangedRegion {
    pub(crate) fn add(&mut self, area: Changed) {
        if area.left >= area.right || area.top >= area.bottom {
            return;
        }
        if self.boxes > BOXES_LIMIT {
            self.count();
        }
        let column = (area.left, area.right);
        // The bands that the area overlaps, and those that touch it above and below, with which it may merge.
        let first = self.bands.partition_point(|band| band.bottom < area.top);
        let end = self.bands.partition_point(|band| band.top <= area.bottom);
        let mut new: Vec<Band> = Vec::with_capacity(2 * (end - first) + 1);
        let mut push = |band: Band| {
            if band.top >= band.bottom {
                return;
            }
            match new.last_mut() {
                Some(last) if last.bottom == band.top && last.columns == band.columns => {
                    last.bottom = band.bottom;
                }
                _ => new.push(band),
            }
        };
        let alone = |top, bottom| Band {
            top,
            bottom,
            columns: vec![column],
        };
        let mut next = area.top;
        let mut gone = 0;
        for band in self.bands.get(first..end).into_iter().flatten() {
            gone += band.columns.len();
            let (top, bottom) = (band.top.max(area.top), band.bottom.min(area.bottom));
            push(band.rows(band.top, band.bottom.min(area.top)));
            if top < bottom {
                push(alone(next, top));
                push(band.rows(top, bottom).with(column));
                next = bottom;
            } else if band.top >= area.bottom {
                push(alone(next, area.bottom));
                next = area.bottom;
            }
            push(band.rows(band.top.max(area.bottom), band.bottom));
        }
        push(alone(next, area.bottom));
        let came: usize = new.iter().map(|band| band.columns.len()).sum();
        self.boxes = (self.boxes + came).saturating_sub(gone);
        self.bands.splice(first..end, new);
    }

    /// Resets the region and returns its number of pixels.
    pub(crate) fn take(&mut self) -> u64 {
        self.count();
        std::mem::take(&mut self.counted)
    }

    fn count(&mut self) {
        self.boxes = 0;
        self.counted += self.bands.drain(..).map(|band| band.pixels()).sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use x11prof_session::Changed;

    use super::{BOXES_LIMIT, ChangedRegion};

    fn bands(areas: &[(u16, u16, u16, u16)]) -> (u64, u64) {
        let mut bands = ChangedRegion::default();
        for &(left, top, right, bottom) in areas {
            bands.add(Changed {
                left,
                top,
                right,
                bottom,
            });
        }
        let boxes = bands.boxes as u64;
        let all = (boxes, bands.take());
        assert_eq!(bands.take(), 0);
        all
    }

    #[test]
    fn boxes_are_merged_into_bands() {
        assert_eq!(bands(&[]), (0, 0));
        assert_eq!(bands(&[(3, 3, 3, 9), (4, 4, 9, 4)]), (0, 0));
        let one = [(0, 0, 9, 9), (0, 0, 9, 9), (2, 2, 5, 5)];
        assert_eq!(bands(&one), (1, 81));
        // Boxes side by side are merged, and so are boxes one above the other.
        assert_eq!(bands(&[(0, 0, 9, 9), (9, 0, 20, 9)]), (1, 180));
        assert_eq!(bands(&[(0, 9, 9, 20), (0, 0, 9, 9)]), (1, 180));
        assert_eq!(bands(&[(0, 0, 9, 9), (0, 10, 9, 20)]).0, 2);
        // Separate boxes at the same height, and shifted by one row.
        assert_eq!(bands(&[(0, 0, 9, 9), (10, 0, 20, 9)]).0, 2);
        assert_eq!(bands(&[(0, 0, 9, 9), (10, 1, 20, 10)]).0, 4);
        // A box that overlaps a corner of another one.
        assert_eq!(bands(&[(0, 0, 10, 10), (5, 5, 15, 15)]), (3, 175));
        // A box that covers all others.
        assert_eq!(
            bands(&[(0, 0, 9, 9), (10, 1, 20, 10), (0, 0, 30, 30)]),
            (1, 900)
        );
    }

    #[test]
    fn band_area_matches_pixel_counting() {
        let (mut bands, mut pixels) = (ChangedRegion::default(), HashSet::new());
        let mut lot = 1_u32;
        for _ in 0..300 {
            let mut any = |below: u32| {
                lot = lot.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                ((lot >> 16) % below) as u16
            };
            let (left, top) = (any(50), any(50));
            let (right, bottom) = (left + any(9), top + any(9));
            bands.add(Changed {
                left,
                top,
                right,
                bottom,
            });
            pixels.extend((top..bottom).flat_map(|y| (left..right).map(move |x| (x, y))));
            let boxes: usize = bands.bands.iter().map(|band| band.columns.len()).sum();
            assert_eq!(bands.boxes, boxes);
            let area: u64 = bands.bands.iter().map(super::Band::pixels).sum();
            assert_eq!(area, pixels.len() as u64);
            for two in bands.bands.windows(2) {
                assert!(two[0].bottom <= two[1].top);
                assert!(two[0].bottom < two[1].top || two[0].columns != two[1].columns);
            }
        }
    }

    #[test]
    fn boxes_beyond_the_limit_still_count() {
        let apart = |at: usize| Changed {
            left: 2 * (at % 64) as u16,
            top: 2 * (at / 64) as u16,
            right: 2 * (at % 64) as u16 + 1,
            bottom: 2 * (at / 64) as u16 + 1,
        };
        let mut bands = ChangedRegion::default();
        for at in 0..2 * BOXES_LIMIT {
            bands.add(apart(at));
        }
        let all = 2 * BOXES_LIMIT as u64;
        assert_eq!(bands.take(), all);
    }
}
