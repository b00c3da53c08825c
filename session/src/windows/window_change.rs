//! What a window that changes stands among. A server works out again what is seen of it and of
//! the windows that it covers or uncovers, within what is seen of their parent, and paints or
//! copies what has come into sight.

use crate::geometry::bands;
use crate::geometry::clip::Area;
use crate::geometry::placement::Geometry;
use crate::windows::tree::Windows;
use crate::windows::window::Window;

/// Windows looked at for one request at most: a trace cannot make one cost more than this.
const WINDOWS_LIMIT: usize = 1 << 12;

/// What a window that comes, goes, moves or changes its place in the stack stands among.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WindowSurroundings {
    /// Its mapped siblings.
    pub siblings: f64,
    /// Rectangles that a server keeps what is seen of the parent in, before the change; none where
    /// siblings change their places in the stack alone.
    pub rectangles: f64,
    /// The mapped windows that it covers or uncovers in part or whole, inferiors of its siblings
    /// included.
    pub overlapped: f64,
    /// Pixels that are painted with a background or copied, what other windows hide included.
    pub pixels: f64,
}

impl WindowSurroundings {
    /// Those of a window that is mapped.
    pub(crate) fn appearing(windows: &Windows, id: u32) -> Option<WindowSurroundings> {
        let (window, mut among) = Among::new(windows, id)?;
        let area = window.geometry.outer();
        let (siblings, overlapped) = among.count(area, Area::NOTHING, None);
        let seen = among.pixels(area);
        Some(WindowSurroundings {
            siblings,
            rectangles: among.rectangles(),
            overlapped,
            pixels: among.painted(id).min(seen),
        })
    }

    /// Those of a window that is unmapped or destroyed.
    pub(crate) fn vanishing(windows: &Windows, id: u32) -> Option<WindowSurroundings> {
        let (window, mut among) = Among::new(windows, id)?;
        let area = window.geometry.outer();
        let (siblings, overlapped) = among.count(area, Area::NOTHING, None);
        Some(WindowSurroundings {
            siblings,
            rectangles: among.rectangles(),
            overlapped,
            pixels: among.uncovered(area, Area::NOTHING, overlapped),
        })
    }

    /// Those of a window that becomes of this geometry, at this place in the stack.
    pub(crate) fn configured(
        windows: &Windows,
        id: u32,
        geometry: Geometry,
        place: Option<usize>,
    ) -> Option<WindowSurroundings> {
        let (window, mut among) = Among::new(windows, id)?;
        let (now, then) = (window.geometry, geometry);
        let (old, new) = (now.outer(), then.outer());
        if old == new && now == then {
            let (siblings, overlapped) = among.count(old, Area::NOTHING, place);
            let pixels = among.pixels(old).min(among.covered);
            return Some(WindowSurroundings {
                siblings,
                rectangles: 0.0,
                overlapped,
                pixels,
            });
        }
        let (siblings, overlapped) = among.count(old, new, place);
        let (was, is) = (among.pixels(old), among.pixels(new));
        let resizes = (now.width, now.height) != (then.width, then.height);
        let moves = (now.x, now.y) != (then.x, then.y);
        let kept = if resizes && !window.keeps_bits {
            0.0
        } else if resizes {
            among.pixels(old.intersection(new)).min(is)
        } else {
            was.min(is)
        };
        let copied = if moves { kept } else { 0.0 };
        let painted = if windows.paints(id) { is - kept } else { 0.0 };
        Some(WindowSurroundings {
            siblings,
            rectangles: among.rectangles(),
            overlapped,
            pixels: copied + painted + among.uncovered(old, new, overlapped),
        })
    }
}

/// A window's siblings, and it among them.
struct Among<'a> {
    windows: &'a Windows,
    parent: u32,
    siblings: &'a [u32],
    at: usize,
    /// Windows that may still be looked at.
    left: usize,
    /// Pixels of the siblings that are covered or uncovered, each sibling's by itself.
    covered: f64,
}

impl<'a> Among<'a> {
    /// `None` where nothing of it is ever seen.
    fn new(windows: &'a Windows, id: u32) -> Option<(&'a Window, Among<'a>)> {
        let window = windows.get(id).filter(|window| !window.input_only)?;
        let parent = window.parent?;
        let siblings = windows.get(parent)?.children();
        let at = siblings.iter().position(|sibling| *sibling == id)?;
        let among = Among {
            windows,
            parent,
            siblings,
            at,
            left: WINDOWS_LIMIT,
            covered: 0.0,
        };
        Some((window, among))
    }

    /// How many siblings are mapped, and how many windows `old` and `new` overlap of those that
    /// it is above of, or of those that it passes on its way to `place` alone where it stays
    /// where it is on the screen (`new` is nothing).
    fn count(&mut self, old: Area, new: Area, place: Option<usize>) -> (f64, f64) {
        let passed = match place {
            Some(place) if new.is_empty() => self.at.min(place)..self.at.max(place) + 1,
            place => 0..place.map_or(self.at, |place| place.max(self.at) + 1),
        };
        let together = !old.intersection(new).is_empty();
        let areas = if together {
            [old.hull(new), Area::NOTHING]
        } else {
            [old, new]
        };
        let (mut mapped, mut overlapped) = (0_u32, 0_u32);
        for (index, sibling) in self.siblings.iter().enumerate() {
            if index == self.at {
                continue;
            }
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let Some(sibling) = self.windows.get(*sibling).filter(|window| window.shows()) else {
                continue;
            };
            mapped += 1;
            if passed.contains(&index) {
                for area in areas {
                    self.covered += sibling.geometry.outer().intersection(area).pixels();
                    overlapped += self.overlapping(sibling, area);
                }
            }
        }
        (f64::from(mapped), f64::from(overlapped))
    }

    /// How many rectangles what is seen of the parent is kept in.
    fn rectangles(&self) -> f64 {
        let Some(Geometry { width, height, .. }) =
            self.windows.get(self.parent).map(|window| window.geometry)
        else {
            return 0.0;
        };
        let all = self.siblings.iter().take(WINDOWS_LIMIT);
        let shown = all.filter_map(|id| self.windows.get(*id).filter(|window| window.shows()));
        bands::rectangles(
            Area::new(0, 0, width, height),
            shown.map(|window| window.geometry.outer()),
        )
    }

    /// How many of a sibling and its mapped inferiors an area of the parent overlaps.
    fn overlapping(&mut self, sibling: &'a Window, area: Area) -> u32 {
        let mut count = 0;
        let mut pending = vec![(sibling, area)];
        while let Some((window, area)) = pending.pop() {
            if area.intersection(window.geometry.outer()).is_empty() {
                continue;
            }
            count += 1;
            let (x, y) = window.geometry.inner_origin();
            let area = area.moved(-x, -y);
            for child in window.children() {
                if self.left == 0 {
                    return count;
                }
                self.left -= 1;
                let child = self.windows.get(*child).filter(|window| window.shows());
                pending.extend(child.map(|child| (child, area)));
            }
        }
        count
    }

    /// The pixels of an area of the parent that are on the screen.
    fn pixels(&self, area: Area) -> f64 {
        let seen = self.windows.on_screen(self.parent, area);
        seen.map_or(0.0, Area::pixels)
    }

    /// The pixels that are painted where the window was and is not any more.
    fn uncovered(&self, old: Area, new: Area, overlapped: f64) -> f64 {
        if overlapped == 0.0 && !self.windows.paints(self.parent) {
            return 0.0;
        }
        self.pixels(old) - self.pixels(old.intersection(new))
    }

    /// The pixels of a window, or of its mapped inferiors where it has no background itself.
    fn painted(&mut self, id: u32) -> f64 {
        let mut pixels = 0.0;
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let Some(window) = self.windows.get(id) else {
                continue;
            };
            if self.windows.paints(id) {
                pixels += window.geometry.outer().pixels();
                continue;
            }
            for child in window.children() {
                if self.left == 0 {
                    return pixels;
                }
                self.left -= 1;
                let shows = self.windows.get(*child).is_some_and(Window::shows);
                pending.extend(shows.then_some(*child));
            }
        }
        pixels
    }
}
