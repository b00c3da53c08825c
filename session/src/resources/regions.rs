//! XFIXES regions, with their rectangles if these are known.

use x11prof_protocol::{Body, Reply};
use x11rb_protocol::protocol::xfixes;

use crate::geometry::clip::Area;
use crate::geometry::region::Region;
use crate::ids::{By, IdMap, Made};

/// The maximum number of pairs of rectangles that are compared to combine regions, which takes about 2 s. Beyond the limit
/// the pixels of a combined region are unknown.
const PAIRS_LIMIT: usize = 200_000_000;
/// The number of pairs in one request that do not count: the regions of a compositor have few rectangles.
const FREE_PAIRS: usize = 64;

/// The XFIXES regions of a display. The pixels of a region may be unknown.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    by_id: IdMap<RegionState>,
    pairs: usize,
}

#[derive(Debug)]
struct RegionState {
    region: Option<Region>,
    by: By,
    /// The request that last changed the region.
    changed: By,
}

impl Regions {
    /// The region with this id; `None` if the region or its pixels are unknown.
    pub(crate) fn get(&self, id: u32) -> Option<&Region> {
        self.by_id.get(id)?.region.as_ref()
    }

    /// The region `id` as a clip: `None` for region 0 (no clip), `Some(None)` if its pixels are unknown.
    pub(crate) fn as_clip(&self, id: u32) -> Option<Option<Region>> {
        (id != 0).then(|| self.get(id).cloned())
    }

    /// Applies an XFIXES request on regions. Returns the id of the region that the request creates; `None` if it
    /// creates none.
    pub(crate) fn apply(&mut self, by: By, minor: u8, body: &Body<'_>) -> Option<u32> {
        let id = body.u32(0)?;
        let made = match minor {
            xfixes::CREATE_REGION_REQUEST => Region::read(body, 4),
            // The bits of bitmaps and the shapes of windows are not tracked.
            xfixes::CREATE_REGION_FROM_BITMAP_REQUEST
            | xfixes::CREATE_REGION_FROM_WINDOW_REQUEST
            | xfixes::CREATE_REGION_FROM_GC_REQUEST
            | xfixes::CREATE_REGION_FROM_PICTURE_REQUEST => None,
            _ => {
                self.change(by, id, minor, body);
                return None;
            }
        };
        self.by_id.insert(
            id,
            RegionState {
                region: made,
                by,
                changed: by,
            },
        );
        Some(id)
    }

    fn change(&mut self, by: By, id: u32, minor: u8, body: &Body<'_>) -> Option<()> {
        let is_limited = self.is_limited(minor, body);
        let of = |at| {
            let region = body.u32(at).and_then(|id| self.get(id));
            region.filter(|_| !is_limited)
        };
        let (target, region) = match minor {
            xfixes::DESTROY_REGION_REQUEST => {
                self.by_id.remove(id);
                return Some(());
            }
            xfixes::SET_REGION_REQUEST => (id, Region::read(body, 4)),
            xfixes::COPY_REGION_REQUEST => (body.u32(4)?, of(0).cloned()),
            xfixes::UNION_REGION_REQUEST => (
                body.u32(8)?,
                of(0).zip(of(4)).map(|(one, two)| one.union(two)),
            ),
            xfixes::INTERSECT_REGION_REQUEST => (
                body.u32(8)?,
                of(0).zip(of(4)).map(|(one, two)| one.intersection(two)),
            ),
            xfixes::SUBTRACT_REGION_REQUEST => (
                body.u32(8)?,
                of(0).zip(of(4)).map(|(one, two)| one.without(two)),
            ),
            xfixes::INVERT_REGION_REQUEST => {
                let bounds = Area::new(body.i16(4)?, body.i16(6)?, body.u16(8)?, body.u16(10)?);
                (
                    body.u32(12)?,
                    of(0).map(|region| Region::of(bounds).without(region)),
                )
            }
            xfixes::TRANSLATE_REGION_REQUEST => {
                let (dx, dy) = (i32::from(body.i16(4)?), i32::from(body.i16(6)?));
                (id, of(0).map(|region| region.moved(dx, dy)))
            }
            xfixes::REGION_EXTENTS_REQUEST => (
                body.u32(4)?,
                of(0).map(|region| Region::of(region.bounds())),
            ),
            xfixes::EXPAND_REGION_REQUEST => {
                let side = |at| body.u16(at).map(i32::from);
                let (left, right) = (side(8)?, side(10)?);
                let (top, bottom) = (side(12)?, side(14)?);
                (
                    body.u32(4)?,
                    of(0).map(|region| region.expanded(left, right, top, bottom)),
                )
            }
            _ => return None,
        };
        let entry = self.by_id.get_mut(target)?;
        (entry.region, entry.changed) = (region, by);
        Some(())
    }

    /// Counts the pairs of rectangles that the request compares. Returns true if there are too many.
    fn is_limited(&mut self, minor: u8, body: &Body<'_>) -> bool {
        let combines = matches!(
            minor,
            xfixes::UNION_REGION_REQUEST
                | xfixes::INTERSECT_REGION_REQUEST
                | xfixes::SUBTRACT_REGION_REQUEST
                | xfixes::INVERT_REGION_REQUEST
                | xfixes::EXPAND_REGION_REQUEST
        );
        let of = |at| body.u32(at).and_then(|id| self.get(id));
        let pieces = [of(0), of(4)].map(|region| region.map_or(0, |region| region.pieces().len()));
        let pairs = pieces.iter().sum::<usize>().pow(2);
        if combines {
            self.pairs = self.pairs.saturating_add(pairs.saturating_sub(FREE_PAIRS));
        }
        combines && self.pairs > PAIRS_LIMIT
    }

    /// Makes the pixels of the region `id` unknown, because the request `by` wrote unknown contents into the region
    /// (DAMAGE's Subtract).
    pub(crate) fn doubt(&mut self, id: u32, by: By) {
        if let Some(entry) = self.by_id.get_mut(id) {
            (entry.region, entry.changed) = (None, by);
        }
    }

    /// Stores the reply to FetchRegion of `id`, unless the client has changed the region after the request `asked`.
    pub(crate) fn fetched(&mut self, id: u32, asked: By, reply: &Reply<'_>) -> Option<()> {
        let (bytes, order) = (reply.bytes, reply.order);
        let entry = self.by_id.get_mut(id)?;
        if asked.is_before(Some(entry.changed)) {
            return None;
        }
        let read = |area: &[u8]| {
            Some(Area::new(
                order.i16(area, 0)?,
                order.i16(area, 2)?,
                order.u16(area, 4)?,
                order.u16(area, 6)?,
            ))
        };
        let areas = bytes.get(32..)?.chunks_exact(8).filter_map(read);
        entry.region = Some(Region::of_all(areas));
        Some(())
    }

    /// Removes the region `id` if `made` returns true for the request that created it.
    pub(crate) fn undo(&mut self, id: u32, made: Made<'_>) {
        if self.by_id.get(id).is_some_and(|entry| made(entry.by)) {
            self.by_id.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{Body, ByteOrder, Request, SequenceNumber, Symbol};
    use x11rb_protocol::protocol::xfixes;

    use super::{By, PAIRS_LIMIT, Regions};
    use crate::ids::ClientId;

    fn apply(regions: &mut Regions, minor: u8, words: &[u32]) {
        let head = [138, minor, 1 + words.len() as u8, 0];
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        let bytes: Vec<u8> = head.into_iter().chain(words).collect();
        let request = Request {
            sequence: SequenceNumber(1),
            name: Symbol::new("XFIXES:1"),
            major: 138,
            minor,
            order: ByteOrder::Little,
            bytes: &bytes,
            wire_len: bytes.len() as u64,
            header_len: 4,
            has_reply: false,
        };
        let by = By::request(ClientId(1), &request);
        regions.apply(by, minor, &Body::of(&request));
    }

    #[test]
    fn combined_region_is_unknown_after_too_many_comparisons() {
        let mut regions = Regions::default();
        // Rectangles with gaps.
        let rectangles = (0..20).flat_map(|at| [at * 4, 2 | 2 << 16]);
        let words: Vec<u32> = [1].into_iter().chain(rectangles).collect();
        apply(&mut regions, xfixes::CREATE_REGION_REQUEST, &words);
        apply(&mut regions, xfixes::CREATE_REGION_REQUEST, &[2]);
        apply(&mut regions, xfixes::UNION_REGION_REQUEST, &[1, 1, 2]);
        assert_eq!(regions.get(2).unwrap().pieces().len(), 20);
        regions.pairs = PAIRS_LIMIT;
        apply(&mut regions, xfixes::UNION_REGION_REQUEST, &[1, 1, 2]);
        assert_eq!(regions.get(2), None);
        apply(&mut regions, xfixes::COPY_REGION_REQUEST, &[1, 2]);
        assert_eq!(regions.get(2).unwrap().pieces().len(), 20);
    }
}
