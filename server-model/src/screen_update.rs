//! Screen update: what a nested, viewed or composited server does after a while for what has changed on its
//! screen. Xvnc encodes it for its viewer, Xephyr copies it to its host. An update costs by the changed pixel,
//! whatever was drawn there and how often.

mod changed_region;
mod smart_scheduler;

use x11prof_cost_model::{Cost, Deferred, Micros};
use x11prof_session::{Change, Changed, ClientId};

use changed_region::ChangedRegion;
use smart_scheduler::SmartScheduler;

/// What has changed since the last update.
#[derive(Debug, Default)]
struct Changes {
    region: ChangedRegion,
    /// The last change: programs that draw on one place again and again change nothing more.
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

    /// How many boxes and pixels have changed. Forgets them.
    fn take(&mut self) -> (u64, u64) {
        self.last = None;
        self.region.take()
    }
}

/// The screen updates of one server.
#[derive(Debug)]
pub(crate) struct ScreenUpdates {
    costs: Deferred,
    changes: Changes,
    /// When the next one is due; `None` where nothing has changed.
    due: Option<Micros>,
    /// When the last one was.
    last: Option<Micros>,
    /// When a busy server looks whether an update is due.
    scheduler: SmartScheduler,
}

impl ScreenUpdates {
    pub(crate) fn new(costs: Deferred) -> ScreenUpdates {
        ScreenUpdates {
            costs,
            changes: Changes::default(),
            due: None,
            last: None,
            scheduler: SmartScheduler::new(costs.busy_us),
        }
    }

    /// A `change` is made at `now`. Gives what that costs beside its request. The first change after a pause of an
    /// interval may wait for those that come with it.
    pub(crate) fn change(&mut self, change: &Change, now: Micros) -> Micros {
        let mut cost = Micros::ZERO;
        if self.due.is_none() && self.scheduler.is_over(now) {
            self.scheduler.next(now);
        }
        for area in change.boxes() {
            let region = &self.changes.region;
            let (boxes, above) = (region.boxes(), region.above(area.bottom) as f64);
            cost += self.costs.join(boxes, above) * f64::from(change.parts);
            if change.copied {
                cost += self.costs.copied(boxes, above);
            }
            self.changes.add(area);
        }
        let interval = self.costs.interval_us;
        let next = self.last.map(|last| last + interval);
        let soon = now + self.costs.first();
        let due = next.filter(|next| now.0 < next.0).unwrap_or(soon);
        self.due.get_or_insert(due);
        cost
    }

    /// Whether the server updates when it has nothing else to do, and not at an interval.
    fn waits_for_idle(&self) -> bool {
        self.costs.interval_us.0 == 0.0
    }

    /// Whether the server, busy until `now`, looks now whether an update is due.
    pub(crate) fn pauses(&self, now: Micros) -> bool {
        self.waits_for_idle() && self.scheduler.is_over(now)
    }

    /// A client has requests at `now`. The server was busy until `busy`.
    pub(crate) fn serves(&mut self, client: ClientId, now: Micros, busy: Micros) {
        self.scheduler.client_comes(client, now < busy);
        if now >= busy {
            self.scheduler.idle(busy, now);
        }
    }

    /// The update that the server makes by `now`, if it makes one. The wakeup before cost `cold` more than one in a
    /// warm cache. A server without an interval updates when it has nothing else to do (`idle`), or has been busy
    /// for long.
    pub(crate) fn made(&mut self, now: Micros, idle: bool, cold: Micros) -> Option<Update> {
        let over = self.pauses(now);
        let may = idle || !self.waits_for_idle() || over;
        let due = self.due.take_if(|due| *due <= now && may);
        let made = due.map(|due| {
            self.last = Some(due);
            let cold = if idle { cold } else { Micros::ZERO };
            let (boxes, pixels) = self.changes.take();
            let wait = self.costs.wait_us.unwrap_or_default() * boxes as f64;
            let cost = self.costs.cost(pixels, boxes, cold);
            Update { due, cost, wait }
        });
        if over && !idle {
            let took = made.map_or(Micros::ZERO, |made| made.cost.time + made.wait);
            self.scheduler.next(now + took);
        }
        made
    }
}

/// An update that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Update {
    /// When it was due.
    pub(crate) due: Micros,
    pub(crate) cost: Cost,
    /// How long the server waited for its host.
    pub(crate) wait: Micros,
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Deferred, Micros};
    use x11prof_session::{Change, Changed, ClientId};

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
    fn what_changes_twice_counts_once() {
        let mut changes = Changes::default();
        changes.add(area(10, 10, 110, 60));
        changes.add(area(20, 20, 40, 40));
        changes.add(area(10, 10, 110, 60));
        assert_eq!(changes.take(), (1, 100 * 50));
        changes.add(area(0, 0, 1, 1));
        changes.add(area(9, 9, 10, 10));
        changes.add(area(65_000, 0, 65_535, 1));
        assert_eq!(changes.take(), (3, 1 + 1 + 535));
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
    fn updates_come_at_their_interval() {
        let mut updates = ScreenUpdates::new(costs(100.0));
        let all = area(0, 0, 10, 10);
        assert_eq!(updates.made(Micros(1e9), true, Micros::ZERO), None);
        updates.change(&all.into(), Micros(1000.0));
        updates.change(&all.into(), Micros(1040.0));
        assert_eq!(updates.made(Micros(1049.0), true, Micros::ZERO), None);
        let made = updates.made(Micros(1060.0), false, Micros::ZERO).unwrap();
        assert_eq!((made.due, made.cost.time), (Micros(1050.0), Micros(30.0)));
        updates.change(&all.into(), Micros(1060.0));
        assert_eq!(updates.made(Micros(1149.0), true, Micros::ZERO), None);
        assert!(updates.made(Micros(1150.0), true, Micros::ZERO).is_some());
    }

    #[test]
    fn changes_are_joined_to_those_before() {
        let mut updates = ScreenUpdates::new(Deferred {
            join_us: Some(Micros(2.0)),
            join_box_us: Some(Micros(0.25)),
            copied_us: Some(Micros(1.0)),
            copied_box_us: Some(Micros(0.5)),
            box_us: Some(Micros(3.0)),
            ..costs(100.0)
        });
        let joins = [0, 4, 8].map(|left| {
            let area = area(left, 0, left + 2, 1);
            updates.change(&area.into(), Micros(10.0))
        });
        // One box is no region that has to be gone through.
        assert_eq!(joins, [0.0, 0.0, 2.5].map(Micros));
        // Two parts where three boxes are there, one of them a copy.
        let moved = Change {
            parts: 2,
            copied: true,
            ..area(4, 0, 6, 1).into()
        };
        let join = updates.change(&moved, Micros(10.0));
        assert_eq!(join, Micros(2.0 * 2.75 + 2.5));
        let made = updates.made(Micros(60.0), true, Micros::ZERO).unwrap();
        // Of the pixels half have changed, as far as is known.
        assert_eq!(made.cost.time, Micros(5.0 + 2.0 * 3.0 + 3.0 * 0.5));
        assert_eq!(
            updates.change(&area(0, 0, 1, 1).into(), Micros(200.0)),
            Micros::ZERO
        );
    }

    #[test]
    fn without_an_interval_they_wait_until_the_server_is_idle() {
        let mut updates = ScreenUpdates::new(costs(0.0));
        updates.change(&area(0, 0, 2, 1).into(), Micros(10.0));
        assert_eq!(updates.made(Micros(20.0), false, Micros::ZERO), None);
        let made = updates.made(Micros(20.0), true, Micros::ZERO).unwrap();
        assert_eq!(made.cost.time, Micros(5.5));
    }

    #[test]
    fn of_a_busy_server_they_wait_for_the_end_of_a_time_slice() {
        let mut updates = ScreenUpdates::new(Deferred {
            busy_us: Some(Micros(50.0)),
            box_us: Some(Micros(2.0)),
            wait_us: Some(Micros(20.0)),
            chill: Some(3.0),
            ..costs(0.0)
        });
        updates.serves(ClientId(1), Micros(10.0), Micros::ZERO);
        updates.change(&area(0, 0, 2, 1).into(), Micros(20.0));
        updates.change(&area(4, 0, 6, 1).into(), Micros(30.0));
        assert!(!updates.pauses(Micros(59.0)));
        assert_eq!(updates.made(Micros(59.0), false, Micros::ZERO), None);
        assert!(updates.pauses(Micros(60.0)));
        // Two boxes.
        let made = updates.made(Micros(60.0), false, Micros(1.0)).unwrap();
        assert_eq!(made.cost.time, Micros(5.0 + 2.0 + 2.0 * 0.5));
        assert_eq!(made.wait, Micros(2.0 * 20.0));
        // It took until 108. The next slice begins at the tick before, at 60.
        updates.change(&area(0, 0, 2, 1).into(), Micros(109.0));
        assert!(!updates.pauses(Micros(109.0)));
        assert!(updates.pauses(Micros(110.0)));
        let made = updates.made(Micros(109.5), true, Micros(1.0)).unwrap();
        assert_eq!(made.cost.time, Micros(5.0 + 0.5 + 3.0));
    }
}
