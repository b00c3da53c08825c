//! Drawables that no request in the recording created. Replies and events describe these drawables.

use crate::geometry::clip::Area;
use crate::geometry::placement::Geometry;
use crate::geometry::target::{DrawTarget, Effect};
use crate::ids::IdMap;

/// The known properties of a drawable from before the recording.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EarlierDrawable {
    pub(crate) geometry: Option<Geometry>,
    pub(crate) depth: Option<u8>,
    /// True if drawing on the drawable is visible; `None` if unknown. Drawing on a pixmap is always visible, but
    /// whether the drawable is a pixmap may be unknown.
    pub(crate) viewable: Option<bool>,
    /// True if the drawable is known to be a window.
    pub(crate) is_window: bool,
}

/// The drawables from before the recording, by id.
#[derive(Debug, Default)]
pub(crate) struct EarlierDrawables(IdMap<EarlierDrawable>);

impl EarlierDrawables {
    pub(crate) fn get(&self, id: u32) -> Option<&EarlierDrawable> {
        self.0.get(id)
    }

    /// Removes the drawable `id`, because it was destroyed or freed, or because a request created it again.
    pub(crate) fn remove(&mut self, id: u32) {
        self.0.remove(id);
    }

    /// Stores the reply to GetGeometry of `id`.
    pub(crate) fn measured(&mut self, id: u32, geometry: Geometry, depth: u8) {
        let known = self.0.get(id).copied().unwrap_or_default();
        self.0.insert(
            id,
            EarlierDrawable {
                geometry: Some(geometry),
                depth: Some(depth),
                ..known
            },
        );
    }

    /// Stores the reply to GetWindowAttributes of `id`.
    pub(crate) fn described(&mut self, id: u32, viewable: bool) {
        let known = self.0.get(id).copied().unwrap_or_default();
        self.0.insert(
            id,
            EarlierDrawable {
                viewable: Some(viewable),
                is_window: true,
                ..known
            },
        );
    }

    /// Notes that a request or an event has mapped or unmapped the window `id`. `viewable` is `None` if the result
    /// depends on unknown state.
    pub(crate) fn mapped(&mut self, id: u32, viewable: Option<bool>) {
        if let Some(drawable) = self.0.get_mut(id) {
            drawable.viewable = viewable;
            drawable.is_window = true;
        }
    }

    /// Applies `change` to the geometry of the drawable `id`.
    pub(crate) fn configured(&mut self, id: u32, change: impl FnOnce(&mut Geometry)) {
        if let Some(geometry) = self.0.get_mut(id).and_then(|one| one.geometry.as_mut()) {
            change(geometry);
        }
    }

    /// The drawable `id` as the destination of a request.
    pub(crate) fn target(&self, id: u32) -> DrawTarget<'static> {
        let Some(drawable) = self.0.get(id) else {
            return DrawTarget::UNKNOWN;
        };
        let area = drawable.geometry.map_or(Area::EVERYWHERE, |geometry| {
            Area::new(0, 0, geometry.width, geometry.height)
        });
        let effect = match (drawable.viewable, drawable.geometry) {
            (Some(false), _) => Effect::Nothing,
            (Some(true), Some(_)) => Effect::Full,
            _ => Effect::Unknown,
        };
        DrawTarget::new(area, drawable.depth, effect)
    }
}
