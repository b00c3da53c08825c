//! Maps the ids of the recorded session to those of the display.

use rustc_hash::FxHashMap;
use x11prof_protocol::IdKind;

/// The last predefined atom (protocol, appendix A). Predefined atoms are equal on every display.
const LAST_PREDEFINED: u32 = 68;
/// The last id that is a protocol constant: None, PointerRoot, InputFocus.
pub(crate) const LAST_CONSTANT: u32 = 1;
/// An id that no resource has (protocol, section "Common Types": the top three bits are zero).
const NO_RESOURCE: u32 = 7 << 29;

/// A client's ids, in the recording and on the display.
#[derive(Debug, Clone, Copy)]
struct Range {
    mask: u32,
    here: u32,
}

/// Maps recorded ids, atoms, times and other numbers to the display's.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    ranges: FxHashMap<u32, Range>,
    /// True if other programs use the display. Ids of their resources become invalid.
    pub(crate) is_shared: bool,
    /// The mask of the recorded ids. A server uses one mask for all clients.
    mask: u32,
    /// The ids of the root and the default colormap on the display, by recorded id.
    pub(crate) fixed: FxHashMap<u32, u32>,
    pub(crate) visuals: FxHashMap<u32, u32>,
    pub(crate) formats: FxHashMap<u32, u32>,
    pub(crate) atoms: FxHashMap<u32, u32>,
    /// Times of the recorded server and of the display, in order.
    times: Vec<(u32, u32)>,
}

impl Ids {
    /// Adds a client's id range as base and mask: in the recording, and on the display. Returns false if the display
    /// has too few ids.
    pub(crate) fn add_client(&mut self, recorded: (u32, u32), here: (u32, u32)) -> bool {
        let (base, mask) = recorded;
        self.mask = mask;
        self.ranges.insert(base, Range { mask, here: here.0 });
        here.1 & mask == mask
    }

    /// Maps the recorded id of a client's resource, or of a root or default colormap, to the display's id; `None` for
    /// any other number.
    pub(crate) fn known(&self, id: u32) -> Option<u32> {
        let range = self.ranges.get(&(id & !self.mask));
        match range.filter(|_| id != 0) {
            Some(range) => Some(range.here | (id & range.mask)),
            None => self.fixed.get(&id).copied(),
        }
    }

    /// The display's number for the recorded number `id` of this kind. An unknown number stays unchanged, because
    /// servers of one kind number their own objects equally. On a shared display, an unknown resource becomes an invalid
    /// one.
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

    /// Notes that the same event had the server time `recorded` in the recording and `here` on the display, in
    /// milliseconds.
    pub(crate) fn add_time(&mut self, recorded: u32, here: u32) {
        let last = self.times.last().copied().unwrap_or_default();
        if recorded > last.0 {
            self.times.push((recorded, here.max(last.1)));
        }
    }

    /// Converts a recorded server time to a display time, in milliseconds: that of the last event not later than
    /// `recorded`, or CurrentTime (0) before the first event. The server would ignore a time in the future (protocol,
    /// SetSelectionOwner).
    pub(crate) fn time(&self, recorded: u32) -> u32 {
        let after = self.times.partition_point(|(then, _)| *then <= recorded);
        match after.checked_sub(1) {
            Some(at) if recorded != 0 => self.times[at].1,
            _ => 0,
        }
    }

    /// The display time of the event whose recorded time is exactly `recorded`, in milliseconds; `None` if there is
    /// none.
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
