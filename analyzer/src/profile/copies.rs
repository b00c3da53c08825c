//! Finds the window that shows a pixmap: the window that the pixmap is first copied to. Programs draw into a pixmap,
//! copy it to a window, and free it, so its drawing belongs to the window.

use rustc_hash::FxHashMap;
use x11prof_trace::ConnectionId;

/// Maximum number of tracked pixmaps; the oldest freed pixmaps are dropped first.
const PIXMAPS: usize = 100_000;
/// Maximum length of a chain of pixmaps that are copied to each other. Beyond it, the window is unknown.
const LONGEST_CHAIN: usize = 16;

/// A window or a pixmap: its id, and the client that created it, if known.
pub(crate) type DrawableKey = (u32, Option<ConnectionId>);

/// The number of a pixmap among all created pixmaps, because ids are reused.
pub(crate) type PixmapGeneration = u64;

/// The destination of a pixmap.
#[derive(Debug, Clone, Copy)]
enum Destination {
    Window(DrawableKey),
    Pixmap(PixmapGeneration),
}

/// The pixmaps of a trace, and the windows or pixmaps that each is first copied to.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    next: PixmapGeneration,
    generations: FxHashMap<DrawableKey, PixmapGeneration>,
    goes: FxHashMap<PixmapGeneration, Destination>,
}

impl Copies {
    /// Notes that a pixmap is created.
    pub(crate) fn created(&mut self, pixmap: DrawableKey) {
        if self.generations.len() >= PIXMAPS {
            self.generations.clear();
        }
        if self.goes.len() >= 2 * PIXMAPS {
            let old = self.next.saturating_sub(PIXMAPS as PixmapGeneration);
            self.goes.retain(|generation, _| *generation >= old);
        }
        self.next += 1;
        self.generations.insert(pixmap, self.next);
    }

    /// The number of the pixmap that currently has this id; `None` if the drawable is no known pixmap.
    pub(crate) fn generation(&self, drawable: DrawableKey) -> Option<PixmapGeneration> {
        self.generations.get(&drawable).copied()
    }

    /// Notes that the contents of `from` are copied to `to`.
    pub(crate) fn copied(&mut self, from: DrawableKey, to: DrawableKey) {
        let Some(generation) = self.generation(from) else {
            return;
        };
        let goes = match self.generation(to) {
            Some(same) if same == generation => return,
            Some(pixmap) => Destination::Pixmap(pixmap),
            None => Destination::Window(to),
        };
        self.goes.entry(generation).or_insert(goes);
    }

    /// The window to which a pixmap is finally copied; `None` if it is copied to no window.
    pub(crate) fn window(&self, mut generation: PixmapGeneration) -> Option<DrawableKey> {
        for _ in 0..LONGEST_CHAIN {
            match self.goes.get(&generation)? {
                Destination::Window(window) => return Some(*window),
                Destination::Pixmap(next) => generation = *next,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Copies;

    #[test]
    fn pixmap_is_attributed_to_its_first_copy_target() {
        let key = |id| (id, None);
        let mut copies = Copies::default();
        copies.created(key(1));
        copies.created(key(2));
        let [first, second] = [1, 2].map(|id| copies.generation(key(id)).unwrap());
        copies.copied(key(1), key(2));
        assert_eq!(copies.window(first), None);
        copies.copied(key(2), key(9));
        copies.copied(key(2), key(8));
        assert_eq!(copies.window(first), Some(key(9)));
        // The same ID in another generation.
        copies.created(key(1));
        let again = copies.generation(key(1)).unwrap();
        assert_eq!(
            (copies.window(again), copies.window(second)),
            (None, Some(key(9)))
        );
        // Pixmaps that are copied to each other.
        copies.created(key(3));
        copies.copied(key(1), key(3));
        copies.copied(key(3), key(1));
        assert_eq!(copies.window(again), None);
    }
}
