//! Which pixels the server touches for the first time since it idled: they have left its
//! processor's caches, whether its code has or not.
//!
//! Places are squares of a drawable, by where an operation begins: programs draw the same things
//! at the same places. A pixmap is warm when it was made. What is read to be copied is mostly drawn just before; it is counted where nothing was
//! drawn on its drawable since the server idled.

use x11prof_cost_model::{FastMap, Micros};
use x11prof_protocol::{Body, Request};
use x11prof_session::{DrawableKind, Operation, Session};

use super::target::{Target, target};

/// Places known at most; beyond that all are forgotten.
const MOST: usize = 1 << 14;
/// The side of a place, in pixels.
const SIDE: i16 = 256;

/// A drawable with a place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Known(u32, i16, i16),
    /// All of a pixmap as it was made: the server clears its memory.
    Made(u32),
    /// All of a drawable.
    All(u32),
}

/// What was touched at a place.
#[derive(Debug, Clone, Copy)]
struct Warm {
    /// For how long the server had idled by then, in all.
    idled: Micros,
    pixels: f64,
}

/// What was touched, and when.
#[derive(Debug, Default)]
pub(super) struct Touched {
    places: FastMap<Place, Warm>,
}

/// Pixels that are touched again after some idling.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Again {
    pub(super) pixels: f64,
    /// For how long the server has idled since they were touched before; without end where it
    /// was never seen to touch them.
    pub(super) idle: Micros,
}

/// An area of a drawable: where it begins, how many pixels it has.
#[derive(Debug, Clone, Copy)]
struct Area {
    drawable: u32,
    begin: (i16, i16),
    pixels: f64,
}

impl Touched {
    /// What `operation` reads and what it draws of what has not been touched since the server idled for `least`;
    /// `idled` is for how long it has in all by now.
    pub(super) fn touch(
        &mut self,
        session: &Session,
        request: &Request<'_>,
        operation: &Operation,
        idled: Micros,
        least: Micros,
    ) -> [Again; 2] {
        let body = Body::of(request);
        let name = request.name.as_str();
        if name == "CreatePixmap" {
            if let Some(pixmap) = body.u32(0) {
                let pixels = f64::INFINITY;
                room(&mut self.places).insert(Place::Made(pixmap), Warm { idled, pixels });
            }
            return Default::default();
        }
        let Some(begin) = begin(name, &body) else {
            return Default::default();
        };
        let drawable = match target(request) {
            Some(Target::Drawable(drawable)) => drawable,
            Some(Target::Picture(picture)) => session.picture_drawable(picture).unwrap_or(picture),
            None => return Default::default(),
        };
        let area = Area {
            drawable,
            begin,
            pixels: operation.items.iter().sum(),
        };
        if name == "MIT-SHM:PutImage" {
            // Its client has written them, on another processor or in another cache.
            let written = Again {
                pixels: area.pixels,
                idle: Micros(f64::INFINITY),
            };
            return [written, self.draw(area, idled, least)];
        }
        let source = match name {
            "CopyArea" => body.u32(0),
            // One that is no drawable's has no pixels.
            "RENDER:Composite" => body.u32(4).and_then(|it| session.picture_drawable(it)),
            _ => None,
        };
        let read = source.map(|drawable| {
            // One that is smaller is repeated.
            let all = pixels(session, drawable).unwrap_or(f64::INFINITY);
            let area = Area {
                drawable,
                pixels: area.pixels.min(all),
                ..area
            };
            self.read(area, idled, least)
        });
        let drawn = self.draw(area, idled, least);
        [read.unwrap_or_default(), drawn]
    }

    /// What was not seen to be drawn on is not known to be anywhere.
    fn read(&mut self, area: Area, idled: Micros, least: Micros) -> Again {
        let Some(all) = self.places.get_mut(&Place::All(area.drawable)) else {
            return Again::default();
        };
        let idle = idled - all.idled;
        all.idled = idled;
        let pixels = if idle > least { area.pixels } else { 0.0 };
        Again { pixels, idle }
    }

    fn draw(&mut self, area: Area, idled: Micros, least: Micros) -> Again {
        let Area {
            drawable,
            begin: (x, y),
            pixels,
        } = area;
        let known = Place::Known(drawable, x / SIDE, y / SIDE);
        let made = Place::Made(drawable);
        let before = self.places.get(&known).or(self.places.get(&made)).copied();
        let idle = before.map_or(Micros(f64::INFINITY), |it| idled - it.idled);
        let warm = before.filter(|_| idle <= least);
        let cold = (pixels - warm.map_or(0.0, |it| it.pixels)).max(0.0);
        let now = Warm {
            idled,
            pixels: warm.map_or(pixels, |it| it.pixels.max(pixels)),
        };
        let places = room(&mut self.places);
        for place in [known, Place::All(drawable)] {
            places.insert(place, now);
        }
        Again { pixels: cold, idle }
    }
}

/// How many pixels a pixmap has; `None` for windows and those that are not known.
fn pixels(session: &Session, drawable: u32) -> Option<f64> {
    let drawable = session.drawable(drawable)?;
    let pixels = f64::from(drawable.geometry.width) * f64::from(drawable.geometry.height);
    (drawable.kind == DrawableKind::Pixmap).then_some(pixels)
}

/// Where a request begins to draw, of several areas the first; `None` for all that does not draw areas.
/// Offsets as in `target`.
fn begin(name: &str, body: &Body<'_>) -> Option<(i16, i16)> {
    let at = match name {
        "ClearArea" => 4,
        "PolyFillRectangle" => 8,
        "PutImage" => 12,
        "CopyArea" | "RENDER:FillRectangles" => 16,
        "MIT-SHM:PutImage" => 20,
        "RENDER:Composite" => 24,
        _ => return None,
    };
    let coordinate = |at| Some(body.u16(at)?.cast_signed());
    Some((coordinate(at)?, coordinate(at + 2)?))
}

fn room<K, V>(map: &mut FastMap<K, V>) -> &mut FastMap<K, V> {
    if map.len() >= MOST {
        map.clear();
    }
    map
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;
    use x11prof_protocol::{ByteOrder, Extensions, Message, Request, SequenceNumber};
    use x11prof_session::{ClientId, Operation, Session};

    use super::{Again, Touched, pixels};

    /// A ClearArea of that window, at that place.
    fn touch(touched: &mut Touched, window: u32, x: u16, pixels: f64, idled: f64) -> Again {
        let mut bytes = vec![61, 0, 4, 0];
        bytes.extend(window.to_le_bytes());
        for coordinate in [x, 0, 100, 100] {
            bytes.extend(coordinate.to_le_bytes());
        }
        let [_, drawn] = seen(touched, "ClearArea", &bytes, pixels, idled);
        drawn
    }

    fn request<'a>(name: &'static str, bytes: &'a [u8]) -> Request<'a> {
        Request {
            sequence: SequenceNumber(1),
            name: name.into(),
            major: bytes[0],
            minor: 0,
            order: ByteOrder::Little,
            bytes,
            wire_len: bytes.len() as u64,
            header_len: 4,
            has_reply: false,
        }
    }

    fn seen(
        touched: &mut Touched,
        name: &'static str,
        bytes: &[u8],
        pixels: f64,
        idled: f64,
    ) -> [Again; 2] {
        let request = request(name, bytes);
        let mut operation = Operation::new(name.into());
        operation.items = vec![pixels];
        let session = Session::new();
        touched.touch(&session, &request, &operation, Micros(idled), Micros(200.0))
    }

    #[test]
    fn what_is_copied_from_is_cold_where_nothing_was_drawn_there() {
        let mut touched = Touched::default();
        let copy = |touched: &mut Touched, idled| {
            let mut bytes = vec![62, 0, 7, 0];
            for id in [1u32, 2, 3, 0, 0, 0] {
                bytes.extend(id.to_le_bytes());
            }
            let [read, _] = seen(touched, "CopyArea", &bytes, 1000.0, idled);
            read.pixels
        };
        // Nobody knows what was drawn there.
        assert_eq!(copy(&mut touched, 100.0), 0.0);
        touch(&mut touched, 1, 600, 10.0, 100.0);
        assert_eq!(copy(&mut touched, 200.0), 0.0);
        assert_eq!(copy(&mut touched, 5000.0), 1000.0);
        assert_eq!(copy(&mut touched, 5100.0), 0.0);
    }

    #[test]
    fn pixels_are_warm_until_the_server_idles() {
        let mut touched = Touched::default();
        let again = |pixels, idle| Again {
            pixels,
            idle: Micros(idle),
        };
        let first = touch(&mut touched, 1, 0, 1000.0, 100.0);
        assert_eq!(first, again(1000.0, f64::INFINITY));
        assert_eq!(touch(&mut touched, 1, 3, 1000.0, 150.0).pixels, 0.0);
        // More of them: those beyond.
        assert_eq!(touch(&mut touched, 1, 0, 1500.0, 200.0), again(500.0, 50.0));
        let cold = touch(&mut touched, 1, 0, 1500.0, 5200.0);
        assert_eq!(cold, again(1500.0, 5000.0));
    }

    #[test]
    fn a_pixmap_is_warm_when_it_was_made() {
        let mut touched = Touched::default();
        let mut bytes = vec![53, 24, 4, 0];
        for word in [7u32, 1, 100 | 100 << 16] {
            bytes.extend(word.to_le_bytes());
        }
        seen(&mut touched, "CreatePixmap", &bytes, 0.0, 10.0);
        assert_eq!(touch(&mut touched, 7, 0, 1000.0, 20.0).pixels, 0.0);
        assert_eq!(touch(&mut touched, 8, 0, 1000.0, 20.0).pixels, 1000.0);
        assert_eq!(touch(&mut touched, 7, 0, 1000.0, 5000.0).pixels, 1000.0);
    }
    #[test]
    fn the_pixels_of_a_pixmap_are_known() {
        let mut session = Session::new();
        assert_eq!(pixels(&session, 7), None);
        let mut bytes = vec![53, 24, 4, 0];
        for word in [7u32, 1, 500 | 10 << 16] {
            bytes.extend(word.to_le_bytes());
        }
        let message = Message::Request(request("CreatePixmap", &bytes));
        session.observe(ClientId(1), &message, &Extensions::new());
        assert_eq!(pixels(&session, 7), Some(5000.0));
    }
}
