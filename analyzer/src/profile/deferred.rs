//! What a server does later for what has been drawn on its screen: Xvnc encodes for its viewer what
//! has changed since the last picture, Xephyr copies it to its host. It counts by the picture and by
//! the changed pixel, whatever was drawn there and how often.

use x11prof_cost_model::{Cost, Deferred, FastMap, Micros};
use x11prof_session::Changed;

/// The side of the tiles in which changes are told apart. Of each a box is kept: TigerVNC compares
/// by tiles of as many pixels.
const TILE: u16 = 64;
/// Tiles with a change at most, as many as 8192 by 8192 pixels have; what is beyond is not counted.
const MOST: usize = 1 << 14;

/// What has changed since the last picture.
#[derive(Debug, Default)]
struct Changes {
    /// The changed box of each tile, by the tile's column and row.
    tiles: FastMap<(u16, u16), Changed>,
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
        if area.left >= area.right || area.top >= area.bottom || self.last.is_some_and(inside) {
            return;
        }
        self.last = Some(area);
        for column in area.left / TILE..=(area.right - 1) / TILE {
            for row in area.top / TILE..=(area.bottom - 1) / TILE {
                let far = |at: u16| at.saturating_mul(TILE).saturating_add(TILE);
                let part = Changed {
                    left: area.left.max(column * TILE),
                    top: area.top.max(row * TILE),
                    right: area.right.min(far(column)),
                    bottom: area.bottom.min(far(row)),
                };
                if self.tiles.len() < MOST || self.tiles.contains_key(&(column, row)) {
                    let tile = self.tiles.entry((column, row)).or_insert(part);
                    tile.left = tile.left.min(part.left);
                    tile.top = tile.top.min(part.top);
                    tile.right = tile.right.max(part.right);
                    tile.bottom = tile.bottom.max(part.bottom);
                }
            }
        }
    }

    /// How many pixels have changed; forgets them.
    fn take(&mut self) -> u64 {
        self.last = None;
        let pixels =
            |tile: Changed| u64::from(tile.right - tile.left) * u64::from(tile.bottom - tile.top);
        self.tiles.drain().map(|(_, tile)| pixels(tile)).sum()
    }
}

/// The pictures that one server makes of what is drawn.
#[derive(Debug)]
pub(super) struct Pictures {
    costs: Deferred,
    changes: Changes,
    /// When the next may be made, if anything has changed.
    due: Option<Micros>,
    /// When the last one was.
    last: Option<Micros>,
    /// Those that the recording shows.
    seen: Updates,
}

/// What a recording shows of updates: runs in which the server did nothing for its clients.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Updates {
    /// How many found something changed.
    pub(crate) count: u64,
    /// How many pixels had been drawn by then.
    pub(crate) pixels: u64,
    /// What all such runs took.
    pub(crate) time: Micros,
}

/// So many seen updates tell what others cost.
const ENOUGH: u64 = 10;
/// By this part of an interval an update may come earlier or later than it is due by the model.
const ROOM: f64 = 0.25;

impl Pictures {
    pub(super) fn new(costs: Deferred) -> Pictures {
        Pictures {
            costs,
            changes: Changes::default(),
            due: None,
            last: None,
            seen: Updates::default(),
        }
    }

    /// Whether updates wait for a time rather than for the server's rest: then they have runs of their
    /// own.
    pub(super) fn wait(&self) -> bool {
        self.costs.interval_us.0 > 0.0
    }

    /// The updates that the recording shows.
    pub(super) fn seen(&self) -> Updates {
        self.seen
    }

    /// Whether there are two updates in so long a time.
    pub(super) fn come_within(&self, time: Micros) -> bool {
        time.0 > self.costs.interval_us.0
    }

    /// The server began to run of its own accord: if an update is due, that is it.
    pub(super) fn runs(&mut self, from: Micros) -> bool {
        let room = self.costs.interval_us.0 * ROOM;
        let due = self.due.take_if(|due| due.0 - room <= from.0);
        if due.is_some() {
            self.last = Some(from);
            self.seen.count += 1;
            self.seen.pixels = self.seen.pixels.saturating_add(self.changes.take());
        }
        due.is_some()
    }

    /// It ran so for `time`, which is what it took.
    pub(super) fn ran(&mut self, from: Micros, time: Micros) -> Micros {
        self.runs(from);
        self.seen.time += time;
        time
    }

    /// It ran for its clients, for `beyond` longer than for what they had sent: if an update was due by its
    /// end, and there was time enough for one, that is what it took.
    pub(super) fn within(&mut self, from: Micros, to: Micros, beyond: Micros) -> Option<Micros> {
        let enough = beyond.0 * 2.0 >= self.costs.update_us.0;
        let short = !self.come_within(to - from);
        (enough && short && self.due.is_some_and(|due| due.0 <= to.0) && self.runs(to))
            .then(|| self.ran(to, beyond))
    }

    /// What an update of so many drawn pixels costs: by what those that were seen took, if they are
    /// enough.
    fn cost(&self, pixels: u64) -> Cost {
        let model = self.costs.cost(pixels);
        let Updates { count, time, .. } = self.seen;
        if count < ENOUGH || self.seen.pixels == 0 {
            return model;
        }
        let fixed = self.costs.update_us;
        let rest = (time - fixed * count as f64).0.max(0.0);
        let time = fixed + Micros(rest / self.seen.pixels as f64 * pixels as f64);
        Cost {
            time,
            low: Micros(model.low.0.min(time.0)),
            high: Micros(model.high.0.max(time.0)),
        }
    }

    /// `area` changed at `now`. The first change after a pause of an interval may wait, for what comes with
    /// it.
    pub(super) fn change(&mut self, area: Changed, now: Micros) {
        self.changes.add(area);
        let interval = self.costs.interval_us;
        let next = self.last.map(|last| last + interval);
        let soon = now + self.costs.first();
        let due = next.filter(|next| now.0 < next.0).unwrap_or(soon);
        self.due.get_or_insert(due);
    }

    /// The picture that was made by `now`, if one was: when, and its cost. One without an interval is
    /// made when the server has nothing else to do.
    pub(super) fn made(&mut self, now: Micros, idle: bool) -> Option<(Micros, Cost)> {
        let at_once = self.costs.interval_us.0 == 0.0;
        let due = self.due.take_if(|due| *due <= now && (idle || !at_once))?;
        self.last = Some(due);
        let pixels = self.changes.take();
        Some((due, self.cost(pixels)))
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Deferred, Micros};
    use x11prof_session::Changed;

    use super::{Changes, Pictures};

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
        assert_eq!(changes.take(), 100 * 50);
        // Far from each other in one tile, the box around both.
        changes.add(area(0, 0, 1, 1));
        changes.add(area(9, 9, 10, 10));
        changes.add(area(640, 640, 641, 641));
        assert_eq!(changes.take(), 100 + 1);
        changes.add(area(65_000, 0, 65_535, 1));
        assert_eq!(changes.take(), 535);
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
    fn pictures_come_at_their_interval() {
        let mut pictures = Pictures::new(costs(100.0));
        let all = area(0, 0, 10, 10);
        assert_eq!(pictures.made(Micros(1e9), true), None);
        pictures.change(all, Micros(1000.0));
        pictures.change(all, Micros(1040.0));
        assert_eq!(pictures.made(Micros(1049.0), true), None);
        let (at, cost) = pictures.made(Micros(1060.0), false).unwrap();
        assert_eq!((at, cost.time), (Micros(1050.0), Micros(30.0)));
        pictures.change(all, Micros(1060.0));
        assert_eq!(pictures.made(Micros(1149.0), true), None);
        assert!(pictures.made(Micros(1150.0), true).is_some());
    }

    #[test]
    fn without_an_interval_they_wait_for_rest() {
        let mut pictures = Pictures::new(costs(0.0));
        pictures.change(area(0, 0, 2, 1), Micros(10.0));
        assert_eq!(pictures.made(Micros(20.0), false), None);
        let (_, cost) = pictures.made(Micros(20.0), true).unwrap();
        assert_eq!(cost.time, Micros(5.5));
    }
}
