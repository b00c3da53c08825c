//! Maps the ids of the recorded session to ids of the display.

use rustc_hash::FxHashMap;
use x11prof_protocol::IdKind;

/// The last predefined atom (X11 protocol, appendix A). Predefined atoms have the same numbers on every display.
const LAST_PREDEFINED: u32 = 68;
/// The last id that is a constant of the protocol, such as None (0) and PointerRoot (1).
pub(crate) const LAST_CONSTANT: u32 = 1;
/// An id that no resource can have, because the top three bits of resource ids are zero (X11 protocol, "Common Types").
const NO_RESOURCE: u32 = 7 << 29;

/// The id range of a client: its recorded mask, and the base on the display.
#[derive(Debug, Clone, Copy)]
struct Range {
    mask: u32,
    here: u32,
}

/// Maps recorded ids, atoms and times to those of the display.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    ranges: FxHashMap<u32, Range>,
    /// True if other programs use the display. The recorded ids of their resources are then replaced by an invalid id.
    pub(crate) is_shared: bool,
    /// The recorded clients' resource id mask. A server assigns the same mask to all clients.
    mask: u32,
    /// Ids on the display by recorded id: the root window, the default colormap, CRTCs, outputs and modes.
    pub(crate) fixed: FxHashMap<u32, u32>,
    pub(crate) visuals: FxHashMap<u32, u32>,
    pub(crate) formats: FxHashMap<u32, u32>,
    pub(crate) atoms: FxHashMap<u32, u32>,
    /// Pairs of a recorded server time and a display time of the same event, in milliseconds, in ascending order.
    times: Vec<(u32, u32)>,
}

impl Ids {
    /// Adds a client with the base and mask of its resource ids, in the recording and on the display. Returns false
    /// if the client has too few ids on the display.
    pub(crate) fn add_client(&mut self, recorded: (u32, u32), here: (u32, u32)) -> bool {
        let (base, mask) = recorded;
        self.mask = mask;
        self.ranges.insert(base, Range { mask, here: here.0 });
        here.1 & mask == mask
    }

    /// True if the display's id `here` is one of a replayed client's.
    pub(crate) fn is_of_a_client(&self, here: u32) -> bool {
        let mut ranges = self.ranges.values();
        ranges.any(|range| here & !range.mask == range.here)
    }

    /// Maps the recorded id of a client's resource, or an id in `fixed`, to the display's id; `None` for any other number.
    pub(crate) fn known(&self, id: u32) -> Option<u32> {
        let range = self.ranges.get(&(id & !self.mask));
        match range.filter(|_| id != 0) {
            Some(range) => Some(range.here | (id & range.mask)),
            None => self.fixed.get(&id).copied(),
        }
    }

    /// Maps a recorded number of this kind to the display's number. An unknown number stays unchanged, because
    /// servers of the same kind give their objects the same numbers. On a shared display, the id of an unknown resource
    /// becomes an invalid id.
    pub(crate) fn here(&self, id: u32, kind: IdKind) -> u32 {
        let of = |map: &FxHashMap<u32, u32>| map.get(&id).copied().unwrap_or(id);
        match kind {
            IdKind::Resource | IdKind::FontItem => {
                let is_valid = !self.is_shared || id <= LAST_CONSTANT;
                let known = self.known(id);
                known.unwrap_or(if is_valid { id } else { NO_RESOURCE })
            }
            IdKind::Atom if id <= LAST_PREDEFINED => id,
            IdKind::Atom => of(&self.atoms),
            IdKind::Time => self.time(id),
            IdKind::Visual => of(&self.visuals),
            IdKind::PictFormat => of(&self.formats),
        }
    }

    /// Adds an event's server times in milliseconds: `recorded` in the recording, `here` on the display.
    pub(crate) fn add_time(&mut self, recorded: u32, here: u32) {
        let last = self.times.last().copied().unwrap_or_default();
        if recorded > last.0 {
            self.times.push((recorded, here.max(last.1)));
        }
    }

    /// Converts a recorded server time to a display time, both in milliseconds. Returns the display time of the last
    /// event not later than `recorded`, or CurrentTime (0) if there is none. The result is never in the future,
    /// because the server would ignore such a time (X11 protocol, SetSelectionOwner).
    pub(crate) fn time(&self, recorded: u32) -> u32 {
        let after = self.times.partition_point(|(then, _)| *then <= recorded);
        match after.checked_sub(1) {
            Some(at) if recorded != 0 => self.times[at].1,
            _ => 0,
        }
    }

    /// The display time in milliseconds of an event whose recorded time is exactly `recorded`; `None` if there is no such event.
    pub(crate) fn same_time(&self, recorded: u32) -> Option<u32> {
        let found = self
            .times
            .binary_search_by_key(&recorded, |(then, _)| *then);
        found.ok().map(|at| self.times[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;
    use x11prof_protocol::IdKind;

    #[test]
    fn client_ids_are_rebased_and_unknown_ids_unchanged() {
        let mut ids = Ids::default();
        assert!(ids.add_client((0x20_0000, 0x1F_FFFF), (0x60_0000, 0x1F_FFFF)));
        assert!(!ids.add_client((0x40_0000, 0x1F_FFFF), (0x80_0000, 0xF_FFFF)));
        ids.fixed.insert(0x2A1, 0x3B2);
        ids.atoms.insert(200, 201);
        assert_eq!(ids.here(0x20_0007, IdKind::Resource), 0x60_0007);
        assert_eq!(ids.here(0x2A1, IdKind::Resource), 0x3B2);
        assert_eq!(ids.here(0x77, IdKind::Resource), 0x77);
        assert_eq!(ids.here(0, IdKind::Resource), 0);
        assert_eq!(ids.here(200, IdKind::Atom), 201);
        assert_eq!(ids.here(31, IdKind::Atom), 31);
        assert_eq!(ids.known(0x77), None);
        ids.is_shared = true;
        let shared = [0, 1, 2, 0x77, 0x20_0007].map(|id| ids.here(id, IdKind::Resource));
        assert_eq!(shared, [0, 1, 7 << 29, 7 << 29, 0x60_0007]);
    }

    #[test]
    fn times_map_to_the_latest_received_event() {
        let mut ids = Ids::default();
        assert_eq!(ids.time(1000), 0);
        ids.add_time(1000, 50);
        ids.add_time(1200, 90);
        assert_eq!(ids.time(0), 0);
        assert_eq!(ids.time(999), 0);
        assert_eq!(ids.time(1100), 50);
        assert_eq!(ids.time(1200), 90);
        assert_eq!(ids.same_time(1100), None);
        assert_eq!(ids.same_time(1000), Some(50));
    }
}
