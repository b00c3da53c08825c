//! Screen update: the deferred work of a viewed or composited server for changes of its screen, at an interval. For
//! example, Xvnc encodes the changes for its viewer. The cost of an update depends only on the number of changed
//! pixels, not on what was drawn there and how often.

mod changed_region;

use x11prof_cost_model::{Cost, Deferred, Micros};
use x11prof_session::{Change, Changed};

use changed_region::ChangedRegion;

/// The changes since the last update.
#[derive(Debug, Default)]
struct Changes {
    region: ChangedRegion,
    /// The last change. Repeated drawing to the same area changes nothing more.
    last: Option<Changed>,
}

impl Changes {
    fn add(&mut self, area: Changed) {
        let inside = |outer: Changed| {
            outer.left <= area.left
                && outer.top <= area.top
                && outer.right >= area.right
                && outer.bottom >= area.bottom
        };
        if !self.last.is_some_and(inside) {
            self.last = Some(area);
            self.region.add(area);
        }
    }

    /// Resets the region and returns its number of changed pixels.
    fn take(&mut self) -> u64 {
        self.last = None;
        self.region.take()
    }
}

/// The screen updates of one server.
#[derive(Debug)]
pub(crate) struct ScreenUpdates {
    costs: Deferred,
    changes: Changes,
    /// The time of the next update; `None` if nothing has changed.
    due: Option<Micros>,
    /// The time of the last update.
    last: Option<Micros>,
}

impl ScreenUpdates {
    pub(crate) fn new(costs: Deferred) -> ScreenUpdates {
        ScreenUpdates {
            costs,
            changes: Changes::default(),
            due: None,
            last: None,
        }
    }

    /// Notes a `change` at `now`. The first change after a pause of an interval may wait for further changes.
    pub(crate) fn change(&mut self, change: &Change, now: Micros) {
        for area in change.boxes() {
            self.changes.add(area);
        }
        let interval = self.costs.interval_us;
        let next = self.last.map(|last| last + interval);
        let soon = now + self.costs.first();
        let due = next.filter(|next| now.0 < next.0).unwrap_or(soon);
        self.due.get_or_insert(due);
    }

    /// The update that the server makes until `now`, if any.
    pub(crate) fn made(&mut self, now: Micros) -> Option<Update> {
        let due = self.due.take_if(|due| *due <= now)?;
        self.last = Some(due);
        let cost = self.costs.cost(self.changes.take());
        Some(Update { due, cost })
    }
}

/// A completed update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Update {
    /// The time at which the update was due.
    pub(crate) due: Micros,
    pub(crate) cost: Cost,
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Deferred, Micros};
    use x11prof_session::Changed;

    use super::{Changes, ScreenUpdates};

    fn area(left: u16, top: u16, right: u16, bottom: u16) -> Changed {
        Changed {
            left,
            top,
            right,
            bottom,
        }
    }

    #[test]
    fn pixels_that_change_twice_count_once() {
        let mut changes = Changes::default();
        changes.add(area(10, 10, 110, 60));
        changes.add(area(20, 20, 40, 40));
        changes.add(area(10, 10, 110, 60));
        assert_eq!(changes.take(), 100 * 50);
        changes.add(area(0, 0, 1, 1));
        changes.add(area(9, 9, 10, 10));
        changes.add(area(65_000, 0, 65_535, 1));
        assert_eq!(changes.take(), 1 + 1 + 535);
    }

    fn costs(interval: f64) -> Deferred {
        Deferred {
            interval_us: Micros(interval),
            update_us: Micros(5.0),
            pixel_us: Micros(0.5),
            ..Deferred::default()
        }
    }

    #[test]
    fn screen_updates_follow_their_interval() {
        let mut updates = ScreenUpdates::new(costs(100.0));
        let all = area(0, 0, 10, 10);
        assert_eq!(updates.made(Micros(1e9)), None);
        updates.change(&all.into(), Micros(1000.0));
        updates.change(&all.into(), Micros(1040.0));
        assert_eq!(updates.made(Micros(1049.0)), None);
        let made = updates.made(Micros(1060.0)).unwrap();
        assert_eq!((made.due, made.cost.time), (Micros(1050.0), Micros(30.0)));
        updates.change(&all.into(), Micros(1060.0));
        assert_eq!(updates.made(Micros(1149.0)), None);
        assert!(updates.made(Micros(1150.0)).is_some());
    }
}
