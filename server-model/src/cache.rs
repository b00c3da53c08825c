//! The term "cache" of the model: the extra cost of the first use of pixels after the server was idle, because the
//! pixels are no longer in the processor's caches.
//!
//! Drawables are divided into squares. The model stores the used pixels of an operation under the square in which the
//! operation begins, because programs draw the same contents at the same positions. The pixels of a new pixmap are in
//! the caches. The source of a copy was usually drawn just before, so the source is cold only if its drawable was not
//! used since the server was idle.

use rustc_hash::FxHashMap;
use x11prof_cost_model::{Cost, Micros, SleepCosts};
use x11prof_protocol::Request;
use x11prof_session::{Effect, Operation, PixelAccess, PixelArea, Session};

/// The maximum number of stored squares. Beyond the limit, all stored squares are dropped.
const PLACES_LIMIT: usize = 1 << 14;
/// The side of a square, in pixels.
const SIDE: i16 = 256;

/// A part of a drawable for which the last use is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// A square of the drawable with this id: its column and row in units of `SIDE` pixels.
    Known(u32, i16, i16),
    /// A whole new pixmap, by id. The server clears its memory, so its pixels are in the caches.
    Made(u32),
    /// A whole drawable, by id.
    All(u32),
}

/// The last use of a part of a drawable.
#[derive(Debug, Clone, Copy)]
struct Warm {
    /// The server's total idle time before this use.
    idled: Micros,
    /// The number of pixels that the use accessed, from the first pixel on.
    pixels: f64,
}

/// The parts of drawables that the server has used, with their last uses.
#[derive(Debug, Default)]
pub(crate) struct UsedPixels {
    places: FxHashMap<Place, Warm>,
}

/// A number of pixels that are no longer in the processor's caches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ColdPixels {
    pixels: f64,
    /// The server's idle time since it used the pixels; infinite if it has never used them.
    idle: Micros,
}

impl UsedPixels {
    /// Returns the extra cost of a request whose pixels are cold (no longer in the processor's caches). `idled` is the
    /// server's total idle time so far.
    pub(crate) fn cost(
        &mut self,
        costs: &SleepCosts,
        session: &Session,
        (request, operation): (&Request<'_>, &Operation),
        idled: Micros,
    ) -> Cost {
        let draws = operation.effect != Effect::Nothing;
        let Some(least) = costs.warm_until().filter(|_| draws) else {
            return Cost::default();
        };
        let Some(access) = session.pixel_access(request, operation) else {
            return Cost::default();
        };
        let cold = self.access(access, idled, least);
        let [read, drawn] = cold.map(|cold| costs.pixel(cold.idle).times(cold.pixels));
        read + drawn
    }

    /// Returns the cold pixels that a request reads, and the cold pixels that it writes. Pixels are cold if the server
    /// was idle for more than `least` since it last used them. `idled` is the server's total idle time so far.
    fn access(&mut self, access: PixelAccess, idled: Micros, least: Micros) -> [ColdPixels; 2] {
        match access {
            PixelAccess::Makes(pixmap) => {
                let pixels = f64::INFINITY;
                room(&mut self.places).insert(Place::Made(pixmap), Warm { idled, pixels });
                Default::default()
            }
            PixelAccess::Writes {
                reads,
                writes,
                from_client,
            } => {
                let read = match (from_client, reads) {
                    // The client wrote these pixels on another processor, so they are not in this processor's caches.
                    (true, _) => ColdPixels {
                        pixels: writes.pixels,
                        idle: Micros(f64::INFINITY),
                    },
                    (false, Some(area)) => self.read(area, idled, least),
                    (false, None) => ColdPixels::default(),
                };
                [read, self.write(writes, idled, least)]
            }
        }
    }

    /// Returns the cold pixels of a read; none if no drawing on the drawable was observed.
    fn read(&mut self, area: PixelArea, idled: Micros, least: Micros) -> ColdPixels {
        let Some(all) = self.places.get_mut(&Place::All(area.drawable)) else {
            return ColdPixels::default();
        };
        let idle = idled - all.idled;
        all.idled = idled;
        let pixels = if idle > least { area.pixels } else { 0.0 };
        ColdPixels { pixels, idle }
    }

    fn write(&mut self, area: PixelArea, idled: Micros, least: Micros) -> ColdPixels {
        let PixelArea {
            drawable,
            begin: (x, y),
            pixels,
        } = area;
        let known = Place::Known(drawable, x / SIDE, y / SIDE);
        let made = Place::Made(drawable);
        let before = self.places.get(&known).or(self.places.get(&made)).copied();
        let idle = before.map_or(Micros(f64::INFINITY), |before| idled - before.idled);
        let warm = before.filter(|_| idle <= least);
        let cold = (pixels - warm.map_or(0.0, |warm| warm.pixels)).max(0.0);
        let now = Warm {
            idled,
            pixels: warm.map_or(pixels, |warm| warm.pixels.max(pixels)),
        };
        let places = room(&mut self.places);
        for place in [known, Place::All(drawable)] {
            places.insert(place, now);
        }
        ColdPixels { pixels: cold, idle }
    }
}

fn room<K, V>(map: &mut FxHashMap<K, V>) -> &mut FxHashMap<K, V> {
    if map.len() >= PLACES_LIMIT {
        map.clear();
    }
    map
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;
    use x11prof_session::{PixelAccess, PixelArea};

    use super::{ColdPixels, UsedPixels};

    fn area(drawable: u32, x: i16, pixels: f64) -> PixelArea {
        PixelArea {
            drawable,
            begin: (x, 0),
            pixels,
        }
    }

    fn use_pixels(used: &mut UsedPixels, access: PixelAccess, idled: f64) -> [ColdPixels; 2] {
        used.access(access, Micros(idled), Micros(200.0))
    }

    /// Draws at the position of `writes`.
    fn draw(used: &mut UsedPixels, writes: PixelArea, idled: f64) -> ColdPixels {
        let access = PixelAccess::Writes {
            reads: None,
            writes,
            from_client: false,
        };
        let [_, drawn] = use_pixels(used, access, idled);
        drawn
    }

    #[test]
    fn copy_source_is_cold_if_not_drawn_since_idle() {
        let mut used = UsedPixels::default();
        let copy = |used: &mut UsedPixels, idled| {
            let access = PixelAccess::Writes {
                reads: Some(area(1, 0, 1000.0)),
                writes: area(2, 0, 1000.0),
                from_client: false,
            };
            let [read, _] = use_pixels(used, access, idled);
            read.pixels
        };
        // The drawing there is unknown.
        assert_eq!(copy(&mut used, 100.0), 0.0);
        draw(&mut used, area(1, 600, 10.0), 100.0);
        assert_eq!(copy(&mut used, 200.0), 0.0);
        assert_eq!(copy(&mut used, 5000.0), 1000.0);
        assert_eq!(copy(&mut used, 5100.0), 0.0);
    }

    #[test]
    fn pixels_stay_warm_until_the_server_idles() {
        let mut used = UsedPixels::default();
        let cold = |pixels, idle| ColdPixels {
            pixels,
            idle: Micros(idle),
        };
        let first = draw(&mut used, area(1, 0, 1000.0), 100.0);
        assert_eq!(first, cold(1000.0, f64::INFINITY));
        assert_eq!(draw(&mut used, area(1, 3, 1000.0), 150.0).pixels, 0.0);
        // The pixels of the larger area that are outside of the old area are cold.
        let more = draw(&mut used, area(1, 0, 1500.0), 200.0);
        assert_eq!(more, cold(500.0, 50.0));
        let later = draw(&mut used, area(1, 0, 1500.0), 5200.0);
        assert_eq!(later, cold(1500.0, 5000.0));
    }

    #[test]
    fn new_pixmap_is_warm() {
        let mut used = UsedPixels::default();
        use_pixels(&mut used, PixelAccess::Makes(7), 10.0);
        assert_eq!(draw(&mut used, area(7, 0, 1000.0), 20.0).pixels, 0.0);
        assert_eq!(draw(&mut used, area(8, 0, 1000.0), 20.0).pixels, 1000.0);
        assert_eq!(draw(&mut used, area(7, 0, 1000.0), 5000.0).pixels, 1000.0);
    }

    #[test]
    fn client_written_shared_memory_is_cold() {
        let mut used = UsedPixels::default();
        let image = PixelAccess::Writes {
            reads: None,
            writes: area(1, 0, 1000.0),
            from_client: true,
        };
        let twice = [10.0, 20.0].map(|idled| use_pixels(&mut used, image, idled));
        assert_eq!(twice.map(|[read, _]| read.pixels), [1000.0; 2]);
        assert_eq!(twice[1][1].pixels, 0.0);
    }
}
