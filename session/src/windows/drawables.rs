//! Windows and pixmaps as drawables, and the pixmaps of a display.

use crate::geometry::clip::Area;
use crate::geometry::placement::Geometry;
use crate::geometry::region::Region;
use crate::geometry::target::{Clip, DrawTarget, Effect};
use crate::ids::{By, ClientId, IdMap};
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
    /// Window or pixmap.
    pub kind: DrawableKind,
    /// The drawable's position and size.
    pub geometry: Geometry,
    /// Bits of a pixel.
    pub depth: Option<u8>,
    /// A window's parent.
    pub parent: Option<u32>,
    /// True if drawing on it is visible, which is always so for a pixmap; `None` if an ancestor is unknown.
    pub viewable: Option<bool>,
    /// True if the server paints the drawable with a pixmap when it is shown or cleared.
    pub has_background_pixmap: bool,
}

/// A pixmap or a root window that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExistingDrawable {
    /// The drawable's id.
    pub id: u32,
    /// Width and height in pixels.
    pub size: (u16, u16),
    /// Bits of a pixel; 0 if unknown.
    pub depth: u8,
}

/// The windows and pixmaps of a display.
#[derive(Debug, Default)]
pub(crate) struct Drawables {
    pub(crate) windows: Windows,
    pub(crate) earlier: EarlierDrawables,
    pixmaps: IdMap<Pixmap>,
}

/// A pixmap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pixmap {
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) depth: Option<u8>,
    /// True if the pixels are in memory shared with the client.
    pub(crate) shared: bool,
    pub(crate) by: By,
}

impl Drawables {
    pub(crate) fn add_root(&mut self, root: Root) {
        self.windows.add_root(root);
    }

    /// The known properties of `id`. A drawable from before the recording needs a known size.
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

    /// The drawable that a request names, as a target; unknown if the id was truncated.
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

    /// The width and height of a drawable.
    pub(crate) fn size(&self, id: u32) -> Option<(u16, u16)> {
        let geometry = self.get(id)?.geometry;
        Some((geometry.width, geometry.height))
    }

    /// A bitmap as a clip: its whole rectangle.
    pub(crate) fn bitmap_clip(&self, id: u32) -> Clip {
        let size = self.size(id);
        Clip::to(size.map(|(width, height)| Region::of(Area::new(0, 0, width, height))))
    }

    pub(crate) fn pixmap(&self, id: u32) -> Option<&Pixmap> {
        self.pixmaps.get(id)
    }

    /// The pixmaps.
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

    /// The pixmap `id`, if its pixels are in memory that is shared with its client.
    pub(crate) fn shared_pixmap(&self, id: u32) -> Option<&Pixmap> {
        self.pixmaps.get(id).filter(|pixmap| pixmap.shared)
    }

    /// CreatePixmap. Returns the id of the pixmap.
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

    /// Adds a pixmap that this or an extension's request created. Returns its id.
    pub(crate) fn add_pixmap(&mut self, id: u32, pixmap: Pixmap) -> Option<u32> {
        self.earlier.remove(id);
        self.pixmaps.insert(id, pixmap);
        Some(id)
    }

    /// COMPOSITE's NameWindowPixmap. The pixmap has the size of the window including its border. If the window is
    /// unknown, so is the pixmap.
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

    /// The size of a pixmap in bytes.
    pub(crate) fn bytes(&self, id: u32) -> Option<f64> {
        let pixmap = self.pixmaps.get(id)?;
        Some(pixmap_bytes(pixmap.width, pixmap.height, pixmap.depth))
    }

    /// FreePixmap.
    pub(crate) fn free_pixmap(&mut self, id: u32) {
        self.pixmaps.remove(id);
        self.earlier.remove(id);
    }

    /// Removes `id` if `by` created it, because the request failed.
    pub(crate) fn undo(&mut self, id: u32, by: By) {
        if self.pixmaps.get(id).is_some_and(|pixmap| pixmap.by == by) {
            self.pixmaps.remove(id);
        }
        if self
            .windows
            .get(id)
            .is_some_and(|window| window.by == Some(by))
        {
            self.windows.destroy(id);
        }
    }

    pub(crate) fn remove_client(&mut self, client: ClientId) {
        self.windows.remove_client(client);
        self.pixmaps.retain(|pixmap| pixmap.by.client != client);
    }
}
/// The memory of a pixmap in the server in bytes: rows of whole 32-bit words, as in all current servers; 4 bytes per
/// pixel if the depth is unknown.
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
