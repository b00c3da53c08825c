//! A window, with the properties that affect drawing.

use std::cell::Cell;
use std::collections::VecDeque;

use crate::geometry::placement::Geometry;
use crate::ids::{By, ClientId};
use crate::setup::Root;

/// The kind of a window's background, as it affects clearing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Background {
    /// The window has no background, so clearing paints nothing.
    Absent,
    /// The parent's background.
    ParentRelative,
    /// A single colour.
    Pixel,
    /// A pixmap.
    Pixmap,
    /// The background was set before the recording, or by a client outside it.
    #[default]
    Unknown,
}

/// A window.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// `None` for a root.
    pub(crate) parent: Option<u32>,
    pub(crate) geometry: Geometry,
    pub(crate) depth: Option<u8>,
    pub(crate) input_only: bool,
    pub(crate) background: Background,
    /// True if the content is kept when the window is resized (the bit gravity is not Forget).
    pub(crate) keeps_bits: bool,
    pub(crate) mapped: bool,
    pub(crate) override_redirect: bool,
    /// The client that receives requests on children instead of the server (SubstructureRedirect).
    pub(crate) redirected_to: Option<ClientId>,
    /// The request that last mapped or unmapped the window. An earlier event is out of date.
    pub(crate) map_changed: Option<By>,
    pub(crate) moved: Option<By>,
    /// The request that created the window; `None` for a root, and for a window from before the recording.
    pub(crate) by: Option<By>,
    /// The children from the lowest to the highest.
    pub(super) children: VecDeque<u32>,
    /// The window's viewability, and the version of the tree for which it was computed.
    pub(super) viewable: Cell<(u64, Option<bool>)>,
}

impl Window {
    /// A root window.
    pub(super) fn root(root: Root) -> Window {
        let geometry = Geometry {
            width: root.width,
            height: root.height,
            ..Geometry::default()
        };
        Window {
            parent: None,
            depth: Some(root.depth),
            background: Background::Pixel,
            mapped: true,
            override_redirect: true,
            ..Window::reported_of(root.id, geometry)
        }
    }

    /// A window after CreateWindow: unmapped, without a background.
    pub(crate) fn new(parent: u32, geometry: Geometry, by: By) -> Window {
        Window {
            by: Some(by),
            background: Background::Absent,
            ..Window::reported_of(parent, geometry)
        }
    }

    /// A window that is known only from an event, and was not created by a request in the recording.
    pub(crate) fn reported_of(parent: u32, geometry: Geometry) -> Window {
        Window {
            parent: Some(parent),
            geometry,
            ..Window::default()
        }
    }

    /// The window's known children, from the lowest to the highest.
    pub(crate) fn children(&self) -> &VecDeque<u32> {
        &self.children
    }
}
