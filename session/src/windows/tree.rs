//! The tree of windows, with the properties that affect drawing.

use std::cell::Cell;
use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::ids::{ClientId, IdMap};
use crate::setup::Root;
use crate::windows::names::WindowNames;
use crate::windows::window::Window;

/// The maximum number of ancestors to follow. A window in a deeper or circular tree has unknown viewability.
pub(super) const ANCESTORS_LIMIT: usize = 64;

/// The maximum number of root windows. A display has one for each screen.
const ROOTS_LIMIT: usize = 256;

/// The maximum number of inferiors to count. The limit bounds the time that a malicious trace can use.
const COUNTED_LIMIT: u32 = 1 << 14;

/// The number of steps through lists of windows that each request may take without being counted.
const FREE_STEPS: usize = 256;
/// The maximum number of counted steps of all requests in a recording. If a malicious trace exceeds the limit, the
/// order of its windows is unknown, and some windows are not tracked.
const MOST_STEPS: usize = 1 << 25;
/// The cost of finding a window by its id, as a number of steps through a list.
pub(super) const FIND: usize = 8;

/// The windows of a display, as a tree.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    pub(super) known: IdMap<Window>,
    /// The names of windows, including windows from before the recording.
    names: IdMap<WindowNames>,
    /// Clients whose connections ended.
    gone: FxHashSet<ClientId>,
    /// The ids of root windows.
    roots: Vec<u32>,
    /// The sum of the steps that were counted so far.
    steps: Cell<usize>,
    /// The ids of windows that were destroyed but not yet reported as freed.
    destroyed: Vec<u32>,
    /// A version number that increases with each change of the tree. The viewability of a window is computed at most
    /// once for each version.
    pub(super) state: u64,
}

impl Windows {
    /// Counts `steps` steps of a request through lists of windows, except the first `FREE_STEPS`. Returns false, and
    /// counts nothing, if the total would exceed `MOST_STEPS`.
    pub(super) fn may_take(&self, steps: usize) -> bool {
        let steps = self.steps.get() + steps.saturating_sub(FREE_STEPS);
        let may = steps <= MOST_STEPS;
        if may {
            self.steps.set(steps);
        }
        may
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Window> {
        self.known.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Window> {
        self.state += 1;
        self.known.get_mut(id)
    }

    /// Adds a root window, if it is not known yet.
    pub(crate) fn add_root(&mut self, root: Root) {
        let known = self.known.get(root.id);
        if known.is_some_and(|known| known.parent.is_none()) || self.roots.len() >= ROOTS_LIMIT {
            return;
        }
        self.state += 1;
        self.destroy(root.id);
        if self.known.insert(root.id, Window::root(root)) && !self.roots.contains(&root.id) {
            self.roots.push(root.id);
        }
    }

    /// Removes and returns the ids of the windows that were destroyed since the last call.
    pub(crate) fn take_destroyed(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.destroyed)
    }

    /// The names in the properties of window `id`; `None` if no name has been set.
    pub(crate) fn names(&self, id: u32) -> Option<&WindowNames> {
        self.names.get(id)
    }

    /// The names in the properties of window `id`, as a mutable reference; `None` if there are too many windows.
    pub(crate) fn names_mut(&mut self, id: u32) -> Option<&mut WindowNames> {
        if self.names.get(id).is_none() {
            self.names.insert(id, WindowNames::default());
        }
        self.names.get_mut(id)
    }

    /// The window `id` and its known ancestors, from the window upwards.
    pub(crate) fn ancestry(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        let known = |id: &u32| self.known.get(*id).is_some();
        let first = Some(id).filter(known);
        let parent = move |id: &u32| self.known.get(*id)?.parent.filter(known);
        std::iter::successors(first, parent).take(ANCESTORS_LIMIT)
    }

    /// The ids of the root windows.
    pub(crate) fn roots(&self) -> impl Iterator<Item = u32> + '_ {
        let is_root = |id: &u32| {
            self.known
                .get(*id)
                .is_some_and(|root| root.parent.is_none())
        };
        self.roots.iter().copied().filter(is_root)
    }

    /// The client that redirects the children of a root window; `None` if no recorded client does.
    pub(crate) fn window_manager(&self) -> Option<ClientId> {
        self.roots().find_map(|root| self.redirected_to(root))
    }

    /// Adds the window `id` under its parent.
    pub(crate) fn add(&mut self, id: u32, window: Window) {
        // The destruction of the id's old window was not observed. Otherwise a BadIDChoice error undoes this.
        self.destroy(id);
        self.state += 1;
        let parent = window.parent;
        if self.known.insert(id, window) {
            self.join(id, parent);
        }
    }

    /// Moves a window under another parent.
    pub(crate) fn reparent(&mut self, id: u32, parent: u32) {
        let Some(old) = self.known.get(id).and_then(|window| window.parent) else {
            return;
        };
        self.state += 1;
        self.leave(id, old);
        if let Some(window) = self.known.get_mut(id) {
            window.parent = Some(parent);
        }
        self.join(id, Some(parent));
    }

    /// Moves a window to the position `place` among its siblings. Position 0 is the lowest.
    pub(crate) fn restack(&mut self, id: u32, place: usize) {
        let Some(parent) = self.known.get(id).and_then(|window| window.parent) else {
            return;
        };
        self.leave(id, parent);
        let siblings = self
            .known
            .get(parent)
            .map_or(0, |parent| parent.children.len());
        if !self.may_take(siblings) {
            return self.join(id, Some(parent));
        }
        if let Some(parent) = self.known.get_mut(parent) {
            let place = place.min(parent.children.len());
            parent.children.insert(place, id);
        }
    }

    /// Removes a window and its inferiors. Does nothing for a root window.
    pub(crate) fn destroy(&mut self, id: u32) {
        let Some(parent) = self.known.get(id).and_then(|window| window.parent) else {
            return;
        };
        self.leave(id, parent);
        self.forget(id);
    }

    /// Removes a window and its inferiors, after the window was removed from its parent's children.
    fn forget(&mut self, id: u32) {
        self.state += 1;
        let mut doomed = vec![id];
        while let Some(id) = doomed.pop() {
            if let Some(window) = self.known.remove(id) {
                doomed.extend(window.children);
                self.names.remove(id);
                self.destroyed.push(id);
            }
        }
    }

    /// The ids of a window's known children; empty if the recording's requests have taken too many steps.
    pub(crate) fn children(&self, id: u32) -> Vec<u32> {
        let children = self.known.get(id).map(|window| &window.children);
        let children = children.filter(|children| self.may_take(FIND * children.len()));
        children
            .map(|children| children.iter().copied().collect())
            .unwrap_or_default()
    }

    /// Returns the number of windows that a request on `id` and its inferiors affects. Unmapped windows and their
    /// inferiors count only if `unmapped` is true.
    pub(crate) fn count(&self, id: u32, unmapped: bool) -> u32 {
        let (mut count, mut steps) = (0_u32, 0);
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let Some(window) = self.known.get(id) else {
                continue;
            };
            if count > COUNTED_LIMIT {
                break;
            }
            count += 1;
            steps += FIND * (1 + window.children.len());
            if !self.may_take(steps) {
                break;
            }
            steps = steps.min(FREE_STEPS);
            pending.extend(window.children.iter().filter(|child| {
                unmapped || self.known.get(**child).is_some_and(|child| child.mapped)
            }));
        }
        count
    }

    /// Handles the save set of a disconnected client. Windows of the set inside the client's own windows are moved to
    /// the nearest ancestor that belongs to another client, and all windows of the set are mapped (protocol,
    /// ChangeSaveSet).
    pub(crate) fn save(&mut self, client: ClientId, save_set: &BTreeSet<u32>) {
        let is_own = |window: &Window| window.by.is_some_and(|by| by.client == client);
        for id in save_set {
            let old = self.known.get(*id).and_then(|window| window.parent);
            let mut parent = old;
            for _ in 0..ANCESTORS_LIMIT {
                match parent.and_then(|parent| self.known.get(parent)) {
                    Some(window) if is_own(window) => parent = window.parent,
                    _ => break,
                }
            }
            if let Some(parent) = parent.filter(|_| parent != old) {
                self.reparent(*id, parent);
            }
            if let Some(window) = self.get_mut(*id)
                && !is_own(window)
            {
                window.mapped = true;
            }
        }
    }

    /// Ends the redirections of a client.
    pub(crate) fn remove_client(&mut self, client: ClientId) {
        self.gone.insert(client);
    }

    /// The client that redirects the children of a window; `None` if no recorded client does.
    fn redirected_to(&self, id: u32) -> Option<ClientId> {
        let to = self.known.get(id)?.redirected_to;
        to.filter(|to| !self.gone.contains(to))
    }

    /// Returns true if the server sends a request of `client` to map or move the window to a window manager instead
    /// (protocol, SubstructureRedirect).
    pub(crate) fn is_redirected(&self, id: u32, client: ClientId) -> bool {
        let Some(window) = self.known.get(id) else {
            return false;
        };
        let to = window.parent.and_then(|parent| self.redirected_to(parent));
        !window.override_redirect && to.is_some_and(|to| to != client)
    }

    fn join(&mut self, id: u32, parent: Option<u32>) {
        if let Some(parent) = parent.and_then(|parent| self.known.get_mut(parent)) {
            parent.children.push_back(id);
        }
    }

    fn leave(&mut self, id: u32, parent: u32) {
        let Some(siblings) = self.known.get(parent).map(|parent| &parent.children) else {
            return;
        };
        // Clients usually destroy the newest or the oldest child, so these are checked first.
        let at = if siblings.back() == Some(&id) {
            Some(siblings.len() - 1)
        } else if siblings.front() == Some(&id) {
            Some(0)
        } else if self.may_take(siblings.len()) {
            siblings.iter().position(|child| *child == id)
        } else {
            None
        };
        if let Some(at) = at
            && let Some(parent) = self.known.get_mut(parent)
        {
            parent.children.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::SequenceNumber;

    use super::Windows;
    use crate::geometry::placement::Geometry;
    use crate::ids::{By, ClientId};
    use crate::setup::Root;
    use crate::windows::window::Window;

    fn tree(edges: &[(u32, u32)]) -> Windows {
        let mut windows = Windows::default();
        windows.add_root(Root {
            id: 1,
            width: 100,
            height: 100,
            depth: 24,
        });
        for (id, parent) in edges {
            let by = By {
                client: ClientId(1),
                sequence: SequenceNumber(1),
            };
            let window = Window {
                mapped: true,
                ..Window::new(*parent, Geometry::default(), by)
            };
            windows.add(*id, window);
        }
        windows
    }

    #[test]
    fn window_is_viewable_if_all_ancestors_are_mapped() {
        let mut windows = tree(&[(2, 1), (3, 2), (5, 4)]);
        assert_eq!(windows.is_viewable(3), Some(true));
        assert_eq!(windows.is_viewable(5), None, "its parent is not known");
        windows.get_mut(2).unwrap().mapped = false;
        assert_eq!(windows.is_viewable(3), Some(false));
        windows.reparent(3, 1);
        assert_eq!(windows.is_viewable(3), Some(true));
        assert_eq!(windows.children(2), []);
    }

    #[test]
    fn destroy_removes_inferiors_but_never_roots() {
        let mut windows = tree(&[(2, 1), (3, 2), (4, 3), (5, 1)]);
        windows.destroy(2);
        windows.destroy(1);
        assert!(windows.get(3).is_none() && windows.get(4).is_none());
        assert_eq!(windows.children(1), [5]);
    }

    #[test]
    fn cyclic_window_trees_terminate() {
        let mut windows = tree(&[(2, 1), (3, 2)]);
        windows.reparent(2, 3);
        assert_eq!(windows.is_viewable(3), None);
        assert_eq!(windows.has_background(3), Some(false));
        windows.destroy(3);
        assert!(windows.get(2).is_none());
    }
}
