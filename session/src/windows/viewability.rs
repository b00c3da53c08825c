//! The visible part of a window, and the paint of its background.

use crate::geometry::clip::Area;
use crate::geometry::placement::Geometry;
use crate::windows::tree::{ANCESTORS_LIMIT, Windows};
use crate::windows::window::{Background, Window};

impl Windows {
    /// True if the window and all its ancestors are mapped; `None` if that depends on an unknown window.
    #[inline]
    pub(crate) fn is_viewable(&self, id: u32) -> Option<bool> {
        let window = self.known.get(id)?;
        let (state, viewable) = window.viewable.get();
        if state == self.state {
            return viewable;
        }
        let viewable = self.walk_up(window);
        window.viewable.set((self.state, viewable));
        viewable
    }

    /// The screen area of a window's area, clipped to the window and its ancestors; `None` if the window is not
    /// viewable, or if its position is unknown.
    pub(crate) fn on_screen(&self, id: u32, area: Area) -> Option<Area> {
        if self.is_viewable(id) != Some(true) {
            return None;
        }
        let (mut at, mut area) = (self.known.get(id)?, area);
        for _ in 0..ANCESTORS_LIMIT {
            let Geometry { width, height, .. } = at.geometry;
            area = area.intersection(Area::new(0, 0, width, height));
            let Some(parent) = at.parent else {
                return Some(area);
            };
            let (x, y) = at.geometry.inner_origin();
            area = area.moved(x, y);
            at = self.known.get(parent)?;
        }
        None
    }

    fn walk_up(&self, window: &Window) -> Option<bool> {
        let mut at = window;
        for _ in 0..ANCESTORS_LIMIT {
            if !at.mapped {
                return Some(false);
            }
            match at.parent {
                None => return Some(true),
                Some(parent) => at = self.known.get(parent)?,
            }
        }
        None
    }

    /// True if clearing the window paints anything; `None` if unknown.
    pub(crate) fn has_background(&self, id: u32) -> Option<bool> {
        let mut at = id;
        for _ in 0..ANCESTORS_LIMIT {
            let window = self.known.get(at)?;
            match (window.background, window.parent) {
                (Background::Absent, _) => return Some(false),
                (Background::Pixel | Background::Pixmap, _) => return Some(true),
                (Background::Unknown, _) => return None,
                (Background::ParentRelative, parent) => at = parent?,
            }
        }
        None
    }

    /// True if the window is known to paint its background when it becomes visible.
    pub(crate) fn paints(&self, id: u32) -> bool {
        self.has_background(id) != Some(false)
    }
}
