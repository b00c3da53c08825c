//! How many rectangles a server keeps a region in: bands of one height each from one edge to the
//! next, as many rectangles in each as there are pieces beside each other, and bands that are
//! alike one above the other joined (Xlib's and pixman's regions). Joining and cutting such
//! regions takes a server as long as they have rectangles.

use crate::geometry::clip::Area;

/// Rectangles looked at in all the bands: where there are more, the rest of the bands count as those
/// before.
const RECTANGLES_LIMIT: usize = 1 << 12;

/// How many rectangles the rest of `whole` is kept in once `holes` are cut out of it.
pub(crate) fn rectangles(whole: Area, holes: impl IntoIterator<Item = Area>) -> f64 {
    if whole.is_empty() {
        return 0.0;
    }
    let (left, top, right, bottom) = whole.edges();
    let holes = holes.into_iter().map(|hole| whole.intersection(hole));
    let mut holes: Vec<_> = holes
        .filter(|hole| !hole.is_empty())
        .map(Area::edges)
        .collect();
    holes.sort_unstable_by_key(|hole| hole.1);
    let mut edges: Vec<i32> = holes.iter().flat_map(|hole| [hole.1, hole.3]).collect();
    edges.extend([top, bottom]);
    edges.sort_unstable();
    edges.dedup();

    let mut coming = holes.into_iter().peekable();
    // Those of the band, from the left: where they begin and end, and how far down they reach.
    let mut beside: Vec<(i32, i32, i32)> = Vec::new();
    let (mut band, mut above) = (Vec::new(), Vec::new());
    let (mut count, mut looked_at) = (0, 0);
    let bands = edges.len().saturating_sub(1);
    for (done, from) in edges.iter().take(bands).enumerate() {
        if looked_at > RECTANGLES_LIMIT {
            return number(count) / number(done) * number(bands);
        }
        beside.retain(|hole| hole.2 > *from);
        while let Some((left, _, right, bottom)) = coming.next_if(|hole| hole.1 <= *from) {
            let at = beside.partition_point(|hole| hole.0 < left);
            beside.insert(at, (left, right, bottom));
        }
        looked_at += beside.len() + 1;
        band.clear();
        let mut at = left;
        for (from, to, _) in &beside {
            if *from > at {
                band.push((at, *from));
            }
            at = at.max(*to);
        }
        if at < right {
            band.push((at, right));
        }
        if band != above {
            count += band.len();
        }
        std::mem::swap(&mut band, &mut above);
    }
    number(count)
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::rectangles;
    use crate::geometry::clip::Area;

    const WHOLE: (u16, u16) = (600, 600);

    fn of(holes: impl IntoIterator<Item = (i16, i16, u16, u16)>) -> f64 {
        let holes = holes.into_iter().map(|(x, y, w, h)| Area::new(x, y, w, h));
        rectangles(Area::new(0, 0, WHOLE.0, WHOLE.1), holes)
    }

    #[test]
    fn holes_in_line_share_bands() {
        assert_eq!(of([]), 1.0);
        assert_eq!(of([(0, 0, 600, 600)]), 0.0);
        assert_eq!(of([(10, 10, 5, 5)]), 4.0);
        assert_eq!(of((0..8).map(|n| (10 * n + 2, 2, 8, 8))), 11.0, "a row");
        assert_eq!(of((0..8).map(|n| (2, 10 * n + 2, 8, 8))), 25.0, "a column");
        let grid = (0..64).map(|n| (n % 8 * 10 + 2, n / 8 * 10 + 2, 8, 8));
        assert_eq!(of(grid), 81.0);
        let uneven = (0..8).map(|n| (10 * n + 2, 2, 8, 7 + n as u16 % 2));
        assert_eq!(of(uneven), 11.0 + 5.0);
        assert_eq!(
            of((0..8).map(|n| (10 * n, 10 * n, 10, 10))),
            16.0,
            "a diagonal"
        );
    }

    #[test]
    fn what_lies_over_each_other_or_outside_counts_once_or_not() {
        assert_eq!(of([(10, 10, 20, 20), (10, 15, 20, 15)]), 4.0);
        assert_eq!(of([(-10, -10, 20, 20), (590, 700, 20, 20)]), 2.0);
        assert_eq!(
            of([(10, 10, 5, 10), (10, 20, 5, 10)]),
            4.0,
            "bands that are alike"
        );
    }

    #[test]
    fn very_many_are_estimated() {
        let many = (0..480).map(|n| (n + 10, n, 100, 100));
        let estimate = of(many);
        assert!(estimate > 1000.0 && estimate < 1200.0, "{estimate}");
    }
}
