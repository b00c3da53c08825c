//! Computes whether a window is viewable, and whether clearing it paints anything.

use crate::windows::tree::{ANCESTORS_LIMIT, Windows};
use crate::windows::window::{Background, Window};

impl Windows {
    /// Returns true if the window and all its ancestors are mapped; `None` if that depends on an unknown window.
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

    /// Returns true if clearing the window paints anything; `None` if unknown.
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
}
