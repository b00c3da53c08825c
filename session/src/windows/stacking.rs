//! The stacking order of siblings, and the effects of requests on it (protocol, ConfigureWindow and
//! CirculateWindow).

use std::ops::Range;

use crate::windows::tree::{FIND, Windows};
use crate::windows::window::Window;

/// The maximum number of pairs of windows to compare for one request. The limit bounds the time that a malicious trace
/// can use.
const COMPARED_LIMIT: usize = 1 << 12;

/// Values of ConfigureWindow's stack-mode.
const ABOVE: u32 = 0;
const BELOW: u32 = 1;
const TOP_IF: u32 = 2;
const BOTTOM_IF: u32 = 3;
const OPPOSITE: u32 = 4;

impl Windows {
    /// The position of window `id` among its siblings after restacking by `mode`, counted from the lowest. Restacking
    /// is relative to `sibling`, or to all siblings if it is `None`. Returns the current position if the request
    /// changes nothing, and `None` if unknown.
    pub(crate) fn restacked(&self, id: u32, sibling: Option<u32>, mode: u32) -> Option<usize> {
        let window = self.get(id)?;
        let siblings = self.get(window.parent?)?.children();
        let at = self.place(id)?;
        let beside = match sibling {
            Some(sibling) => {
                let beside = siblings.iter().position(|id| *id == sibling);
                Some(beside.filter(|beside| *beside != at)?)
            }
            None => None,
        };
        let (top, bottom) = (siblings.len() - 1, 0);
        let overlaps = |others: Range<usize>| {
            let others = match beside {
                Some(beside) if others.contains(&beside) => beside..beside + 1,
                Some(_) => 0..0,
                None => others,
            };
            let mut others = siblings
                .range(others)
                .take(COMPARED_LIMIT)
                .filter_map(|id| self.get(*id));
            others.any(|other| hides(other, window))
        };
        let is_hidden = || overlaps(at + 1..siblings.len());
        let is_hiding = || overlaps(0..at);
        Some(match mode {
            ABOVE => beside.map_or(top, |beside| beside + usize::from(beside < at)),
            BELOW => beside.map_or(bottom, |beside| beside - usize::from(beside > at)),
            TOP_IF | OPPOSITE if is_hidden() => top,
            BOTTOM_IF | OPPOSITE if is_hiding() => bottom,
            _ => at,
        })
    }

    /// The position of window `id` among its siblings, counted from the lowest; `None` if unknown.
    pub(crate) fn place(&self, id: u32) -> Option<usize> {
        let siblings = self.get(self.get(id)?.parent?)?.children();
        // The position of a second sibling may be searched as well.
        if !self.may_take(2 * siblings.len()) {
            return None;
        }
        siblings.iter().position(|other| *other == id)
    }

    /// Returns the child of `parent` that CirculateWindow moves, and its new position. CirculateWindow raises the
    /// lowest hidden child to the top or, if `lowers` is true, lowers the highest child that hides a sibling to the
    /// bottom. `None` if no child moves.
    pub(crate) fn circulated(&self, parent: u32, lowers: bool) -> Option<(u32, usize)> {
        let children = self.get(parent)?.children();
        if !self.may_take(FIND * children.len()) {
            return None;
        }
        let mut compared = 0;
        let mut overlaps = |at: usize, others: Range<usize>| {
            let Some(window) = self.get(children[at]).filter(|window| window.mapped) else {
                return false;
            };
            let mut others = children.range(others).filter_map(|id| self.get(*id));
            others.any(|other| {
                compared += 1;
                compared <= COMPARED_LIMIT && hides(other, window)
            })
        };
        if lowers {
            let mut from_top = (0..children.len()).rev();
            let at = from_top.find(|at| overlaps(*at, 0..*at))?;
            Some((children[at], 0))
        } else {
            let mut from_bottom = 0..children.len();
            let at = from_bottom.find(|at| overlaps(*at, at + 1..children.len()))?;
            Some((children[at], children.len() - 1))
        }
    }
}

/// Returns true if the window `one` is mapped and overlaps the window `other`.
fn hides(one: &Window, other: &Window) -> bool {
    let common = one.geometry.outer().intersection(other.geometry.outer());
    one.mapped && !common.is_empty()
}
