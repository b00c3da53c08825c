//! Windows and pixmaps as what is drawn on, and the pixmaps of a display.

use crate::body::Body;
use crate::clip::Area;
use crate::ids::{By, ClientId, IdMap};
use crate::operation::Effect;
use crate::setup::Root;
use crate::windows::{Geometry, Windows};

/// Whether a drawable is a window or a pixmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawableKind {
    /// A screen's root window.
    Root,
    /// Another window.
    Window,
    /// A pixmap.
    Pixmap,
}

/// What a session knows of a drawable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawable {
    /// Window or pixmap.
    pub kind: DrawableKind,
    /// Its place and size.
    pub geometry: Geometry,
    /// Bits of a pixel.
    pub depth: Option<u8>,
    /// A window's parent.
    pub parent: Option<u32>,
    /// Whether drawing on it shows: true for a pixmap; `None` where an ancestor is not known.
    pub viewable: Option<bool>,
}

/// A drawable as the target of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// What drawing is clipped to: everywhere, where that is not known.
    pub(crate) area: Area,
    pub(crate) depth: Option<u8>,
    /// What drawing on it comes to, before clipping.
    pub(crate) effect: Effect,
}

impl Target {
    /// A drawable that the session does not know.
    pub(crate) const UNKNOWN: Target = Target {
        area: Area::EVERYWHERE,
        depth: None,
        effect: Effect::Unknown,
    };
}

/// The windows and pixmaps of a display.
#[derive(Debug, Default)]
pub(crate) struct Drawables {
    pub(crate) windows: Windows,
    pixmaps: IdMap<Pixmap>,
}

#[derive(Debug)]
struct Pixmap {
    width: u16,
    height: u16,
    depth: u8,
    by: By,
}

impl Drawables {
    pub(crate) fn add_root(&mut self, root: Root) {
        self.windows.add_root(root);
    }

    /// What is known of `id`.
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
            });
        }
        let pixmap = self.pixmaps.get(id)?;
        Some(Drawable {
            kind: DrawableKind::Pixmap,
            geometry: Geometry {
                width: pixmap.width,
                height: pixmap.height,
                ..Geometry::default()
            },
            depth: Some(pixmap.depth),
            parent: None,
            viewable: Some(true),
        })
    }

    /// The drawable whose id a request has, as a target; unknown where the id was cut off.
    pub(crate) fn target(&self, id: Option<u32>) -> Target {
        let Some(drawable) = id.and_then(|id| self.get(id)) else {
            return Target::UNKNOWN;
        };
        let Geometry { width, height, .. } = drawable.geometry;
        Target {
            area: Area::new(0, 0, width, height),
            depth: drawable.depth,
            effect: match drawable.viewable {
                Some(true) => Effect::Full,
                Some(false) => Effect::Nothing,
                None => Effect::Unknown,
            },
        }
    }

    /// CreatePixmap; gives the id of the pixmap.
    pub(crate) fn create_pixmap(&mut self, by: By, depth: u8, body: &Body<'_>) -> Option<u32> {
        let (id, width, height) = (body.u32(0)?, body.u16(8)?, body.u16(10)?);
        self.pixmaps.insert(
            id,
            Pixmap {
                width,
                height,
                depth,
                by,
            },
        );
        Some(id)
    }

    /// FreePixmap.
    pub(crate) fn free_pixmap(&mut self, id: u32) {
        self.pixmaps.remove(id);
    }

    /// Forgets `id` if `by` made it: the request failed.
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
