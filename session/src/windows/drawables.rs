//! Windows and pixmaps as drawables, and the pixmaps of a display.

use crate::geometry::clip::Area;
use crate::geometry::placement::Geometry;
use crate::geometry::region::Region;
use crate::geometry::target::{Clip, DrawTarget, Effect};
use crate::ids::{By, IdMap, Made};
use crate::setup::Root;
use crate::windows::earlier_drawables::EarlierDrawables;
use crate::windows::tree::Windows;
use crate::windows::window::Background;
use x11prof_protocol::Body;

/// The kind of a drawable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawableKind {
    /// A screen's root window.
    Root,
    /// A window that is not a root window.
    Window,
    /// A pixmap.
    Pixmap,
    /// A window or a pixmap from before the recording.
    Unknown,
}

/// The known properties of a drawable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawable {
    /// The kind of drawable: window, pixmap or unknown.
    pub kind: DrawableKind,
    /// The drawable's position and size.
    pub geometry: Geometry,
    /// The depth in bits; `None` if unknown.
    pub depth: Option<u8>,
    /// The id of a window's parent; `None` for other drawables, and for a window whose parent is unknown.
    pub parent: Option<u32>,
    /// True if drawing on the drawable is visible, which is always the case for a pixmap; `None` if an ancestor is
    /// unknown.
    pub viewable: Option<bool>,
    /// True if the server paints the window's background with a pixmap when the window is shown or cleared.
    pub has_background_pixmap: bool,
}

/// A pixmap or a root window that existed before the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExistingDrawable {
    /// The id of the drawable.
    pub id: u32,
    /// The width and height of the drawable in pixels.
    pub size: (u16, u16),
    /// The depth in bits; 0 if unknown.
    pub depth: u8,
}

/// The windows and pixmaps of a display, by id.
#[derive(Debug, Default)]
pub(crate) struct Drawables {
    pub(crate) windows: Windows,
    pub(crate) earlier: EarlierDrawables,
    pixmaps: IdMap<Pixmap>,
}

/// A pixmap that a request created, or that existed before the recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pixmap {
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) depth: Option<u8>,
    /// True if the pixmap's pixels are in memory that is shared with its client.
    pub(crate) shared: bool,
    pub(crate) by: By,
}

impl Drawables {
    pub(crate) fn add_root(&mut self, root: Root) {
        self.windows.add_root(root);
    }

    /// The known properties of the drawable `id`; `None` if it is unknown, or is from before the recording and its size
    /// is unknown.
    pub(crate) fn get(&self, id: u32) -> Option<Drawable> {
        if let Some(window) = self.windows.get(id) {
            return Some(Drawable {
                kind: if window.parent.is_some() {
                    DrawableKind::Window
                } else {
                    DrawableKind::Root
                },
                geometry: window.geometry,
                depth: window.depth,
                parent: window.parent,
                viewable: self.windows.is_viewable(id),
                has_background_pixmap: window.background == Background::Pixmap,
            });
        }
        if let Some(pixmap) = self.pixmaps.get(id) {
            return Some(Drawable {
                kind: DrawableKind::Pixmap,
                geometry: Geometry {
                    width: pixmap.width,
                    height: pixmap.height,
                    ..Geometry::default()
                },
                depth: pixmap.depth,
                parent: None,
                viewable: Some(true),
                has_background_pixmap: false,
            });
        }
        let earlier = self.earlier.get(id)?;
        Some(Drawable {
            kind: if earlier.is_window {
                DrawableKind::Window
            } else {
                DrawableKind::Unknown
            },
            geometry: earlier.geometry?,
            depth: earlier.depth,
            parent: None,
            viewable: earlier.viewable,
            has_background_pixmap: false,
        })
    }

    /// The drawable `id` as the destination of a request. `id` is `None` if the request was truncated before the id;
    /// the drawable is then unknown.
    #[inline]
    pub(crate) fn target(&self, id: Option<u32>) -> DrawTarget<'static> {
        let Some(id) = id else {
            return DrawTarget::UNKNOWN;
        };
        if let Some(window) = self.windows.get(id) {
            let Geometry { width, height, .. } = window.geometry;
            let effect = match self.windows.is_viewable(id) {
                Some(true) => Effect::Full,
                Some(false) => Effect::Nothing,
                None => Effect::Unknown,
            };
            return DrawTarget::new(Area::new(0, 0, width, height), window.depth, effect);
        }
        match self.pixmaps.get(id) {
            Some(pixmap) => DrawTarget::new(
                Area::new(0, 0, pixmap.width, pixmap.height),
                pixmap.depth,
                Effect::Full,
            ),
            None => self.earlier.target(id),
        }
    }

    /// The width and height of the drawable `id` in pixels; `None` if unknown.
    pub(crate) fn size(&self, id: u32) -> Option<(u16, u16)> {
        let geometry = self.get(id)?.geometry;
        Some((geometry.width, geometry.height))
    }

    /// The bitmap `id` as a clip: its whole rectangle.
    pub(crate) fn bitmap_clip(&self, id: u32) -> Clip {
        let size = self.size(id);
        Clip::to(size.map(|(width, height)| Region::of(Area::new(0, 0, width, height))))
    }

    pub(crate) fn pixmap(&self, id: u32) -> Option<&Pixmap> {
        self.pixmaps.get(id)
    }

    /// All known pixmaps of clients.
    pub(crate) fn pixmaps(&self) -> impl Iterator<Item = ExistingDrawable> + '_ {
        self.pixmaps.iter().map(|(id, pixmap)| ExistingDrawable {
            id,
            size: (pixmap.width, pixmap.height),
            depth: pixmap.depth.unwrap_or(0),
        })
    }

    pub(crate) fn is_pixmap(&self, id: u32) -> bool {
        self.pixmaps.get(id).is_some()
    }

    /// The pixmap with this id, if its pixels are in memory that is shared with its client.
    pub(crate) fn shared_pixmap(&self, id: u32) -> Option<&Pixmap> {
        self.pixmaps.get(id).filter(|pixmap| pixmap.shared)
    }

    /// Applies CreatePixmap. Returns the id of the pixmap; `None` if the request is truncated.
    pub(crate) fn create_pixmap(&mut self, by: By, depth: u8, body: &Body<'_>) -> Option<u32> {
        let (id, width, height) = (body.u32(0)?, body.u16(8)?, body.u16(10)?);
        let depth = Some(depth);
        self.add_pixmap(
            id,
            Pixmap {
                width,
                height,
                depth,
                shared: false,
                by,
            },
        )
    }

    /// Adds a pixmap that a core or extension request created, and returns its id.
    pub(crate) fn add_pixmap(&mut self, id: u32, pixmap: Pixmap) -> Option<u32> {
        self.earlier.remove(id);
        self.pixmaps.insert(id, pixmap);
        Some(id)
    }

    /// Applies COMPOSITE's NameWindowPixmap. Returns the id of the pixmap, which has the size of the window including
    /// its border; `None` if the window is unknown.
    pub(crate) fn name_window_pixmap(&mut self, by: By, window: u32, id: u32) -> Option<u32> {
        let known = self.get(window)?;
        let borders = known.geometry.border_width.saturating_mul(2);
        self.add_pixmap(
            id,
            Pixmap {
                width: known.geometry.width.saturating_add(borders),
                height: known.geometry.height.saturating_add(borders),
                depth: known.depth,
                shared: false,
                by,
            },
        )
    }

    /// The memory of a pixmap in bytes; `None` if the pixmap is unknown.
    pub(crate) fn bytes(&self, id: u32) -> Option<f64> {
        let pixmap = self.pixmaps.get(id)?;
        Some(pixmap_bytes(pixmap.width, pixmap.height, pixmap.depth))
    }

    /// Applies FreePixmap: removes the pixmap `id`.
    pub(crate) fn free_pixmap(&mut self, id: u32) {
        self.pixmaps.remove(id);
        self.earlier.remove(id);
    }

    /// Removes the pixmap or window `id` if `made` returns true for the request that created it.
    pub(crate) fn undo(&mut self, id: u32, made: Made<'_>) {
        if self.pixmaps.get(id).is_some_and(|pixmap| made(pixmap.by)) {
            self.pixmaps.remove(id);
        }
        let window = self.windows.get(id);
        if window.is_some_and(|window| window.by.is_some_and(made)) {
            self.windows.destroy(id);
        }
    }
}

/// Returns the memory that a pixmap uses in the server, in bytes. Rows consist of whole 32-bit words, as in all current
/// servers. If the depth is unknown, a pixel has 4 bytes.
pub(crate) fn pixmap_bytes(width: u16, height: u16, depth: Option<u8>) -> f64 {
    let bits = match depth {
        Some(1) => 1,
        Some(2..=8) => 8,
        Some(9..=16) => 16,
        _ => 32,
    };
    let row = (u64::from(width) * bits).div_ceil(32) * 4;
    (row * u64::from(height)) as f64
}
