//! What can be seen of a window, and whether clearing it paints anything.

use crate::geometry::clip::Area;
use crate::geometry::placement::Geometry;
use crate::windows::tree::{ANCESTORS_LIMIT, Windows};
use crate::windows::window::{Background, Window};

impl Windows {
    /// Whether it and all its ancestors are mapped; `None` where one that would decide it is
    /// not known.
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

    /// An area of a window where it is on the screen, clipped to all that it is in; `None` where it
    /// is not viewable, or where it is is not known.
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

    /// Whether clearing it paints anything; `None` where that is not known.
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

    /// Whether its background is painted where it comes into sight, as far as is known.
    pub(crate) fn paints(&self, id: u32) -> bool {
        self.has_background(id) != Some(false)
    }
}
