//! What lives on the server: every resource with its kind, its maker and its size.

use x11prof_protocol::SequenceNumber;

use crate::ids::{By, ClientId};
use crate::session::Session;
use crate::windows::drawables::DrawableKind;

/// The kind of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the protocols' own names of their resources")]
pub enum ResourceKind {
    Window,
    Pixmap,
    /// A window or a pixmap from before the recording.
    Drawable,
    Gc,
    Font,
    Cursor,
    Colormap,
    Picture,
    GlyphSet,
    Region,
    ShmSegment,
    SyncCounter,
    SyncAlarm,
    SyncFence,
    Damage,
    Barrier,
    GlxContext,
    GlxDrawable,
}

/// A resource that lives, and what of it bears on its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// Its id.
    pub id: u32,
    /// What it is.
    pub kind: ResourceKind,
    /// The client that made it and the number of its request; `None` where that is not in the
    /// recording, as with roots.
    pub made: Option<(ClientId, SequenceNumber)>,
    /// Width and height in pixels, of windows and pixmaps.
    pub size: Option<(u16, u16)>,
    /// Bits of a pixel, of windows and pixmaps.
    pub depth: Option<u8>,
    /// How many there are in it: glyphs of a glyph set, characters of a font, rectangles of a
    /// region, stops of a gradient.
    pub count: Option<u32>,
    /// Bytes that it takes, where the requests tell: the images of a glyph set, a segment.
    pub bytes: Option<u64>,
}

impl Resource {
    pub(crate) fn new(id: u32, kind: ResourceKind, by: Option<By>) -> Resource {
        Resource {
            id,
            kind,
            made: by.map(|by| (by.client, by.sequence)),
            size: None,
            depth: None,
            count: None,
            bytes: None,
        }
    }
}

impl Session {
    /// What the resource `id` is; `None` where it is not known.
    pub fn resource_kind(&self, id: u32) -> Option<ResourceKind> {
        let state = self.state();
        if let Some(drawable) = state.drawables.get(id) {
            return Some(match drawable.kind {
                DrawableKind::Root | DrawableKind::Window => ResourceKind::Window,
                DrawableKind::Pixmap => ResourceKind::Pixmap,
                DrawableKind::Unknown => ResourceKind::Drawable,
            });
        }
        let known = [
            (state.gcs.get(id).is_some(), ResourceKind::Gc),
            (state.fonts.name(id).is_some(), ResourceKind::Font),
            (
                state.render.pictures.get(id).is_some(),
                ResourceKind::Picture,
            ),
            (state.render.glyphs.is_set(id), ResourceKind::GlyphSet),
            (state.regions.is_region(id), ResourceKind::Region),
        ];
        known
            .iter()
            .find(|(is, _)| *is)
            .map(|(_, kind)| *kind)
            .or_else(|| state.opaque.get(id).map(|extra| extra.kind))
    }

    /// All resources known to live, in no order. It looks at all of them: for reports, not for
    /// every message.
    pub fn resources(&self) -> impl Iterator<Item = Resource> + '_ {
        let state = self.state();
        let windows = state.drawables.windows.iter().map(|(id, window)| Resource {
            size: Some((window.geometry.width, window.geometry.height)),
            depth: window.depth,
            ..Resource::new(id, ResourceKind::Window, window.by)
        });
        let pixmaps = state.drawables.pixmaps().map(|(id, pixmap)| Resource {
            size: Some((pixmap.width, pixmap.height)),
            depth: pixmap.depth,
            ..Resource::new(id, ResourceKind::Pixmap, Some(pixmap.by))
        });
        let strangers = state.drawables.earlier.iter().map(|(id, earlier)| {
            let kind = if earlier.is_window {
                ResourceKind::Window
            } else {
                ResourceKind::Drawable
            };
            Resource {
                size: earlier
                    .geometry
                    .map(|geometry| (geometry.width, geometry.height)),
                depth: earlier.depth,
                ..Resource::new(id, kind, None)
            }
        });
        let gcs = state
            .gcs
            .iter()
            .map(|(id, gc)| Resource::new(id, ResourceKind::Gc, Some(gc.by)));
        let fonts = state.fonts.iter().map(|(id, font)| Resource {
            count: font.metrics.map(|metrics| metrics.characters),
            ..Resource::new(id, ResourceKind::Font, Some(font.by))
        });
        let extras = state.opaque.iter().map(|(id, extra)| Resource {
            bytes: extra.bytes,
            ..Resource::new(id, extra.kind, Some(extra.by))
        });
        windows
            .chain(pixmaps)
            .chain(strangers)
            .chain(gcs)
            .chain(fonts)
            .chain(state.render.pictures.resources())
            .chain(state.render.glyphs.resources(&state.render.formats))
            .chain(state.regions.resources())
            .chain(extras)
    }

    /// The client whose ids include `id`, be there such a resource or not.
    pub fn owner(&self, id: u32) -> Option<ClientId> {
        self.state().clients.owner(id)
    }
}
