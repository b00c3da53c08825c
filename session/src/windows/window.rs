//! A window, with the properties that affect drawing.

use std::cell::Cell;
use std::collections::VecDeque;

use crate::geometry::placement::Geometry;
use crate::ids::{By, ClientId};
use crate::setup::Root;

/// The kind of a window's background, which determines the effect of clearing the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Background {
    /// The window has no background, so clearing paints nothing.
    Absent,
    /// The window has the background of its parent.
    ParentRelative,
    /// The background is a single colour.
    Pixel,
    /// The background is a pixmap.
    Pixmap,
    /// The background was set before the recording, or by a client that is not recorded.
    #[default]
    Unknown,
}

/// A window, with the properties that affect drawing.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The id of the parent; `None` for a root window.
    pub(crate) parent: Option<u32>,
    pub(crate) geometry: Geometry,
    pub(crate) depth: Option<u8>,
    pub(crate) input_only: bool,
    pub(crate) background: Background,
    /// True if the content of the window is kept when it is resized (its bit gravity is not Forget).
    pub(crate) keeps_bits: bool,
    pub(crate) mapped: bool,
    pub(crate) override_redirect: bool,
    /// The client that receives requests on the window's children instead of the server (SubstructureRedirect); `None`
    /// if there is none.
    pub(crate) redirected_to: Option<ClientId>,
    /// The request that last mapped or unmapped the window. An event from before this request is out of date.
    pub(crate) map_changed: Option<By>,
    pub(crate) moved: Option<By>,
    /// The request that created the window; `None` for a root window, and for a window from before the recording.
    pub(crate) by: Option<By>,
    /// The ids of the children from the lowest to the highest.
    pub(super) children: VecDeque<u32>,
    /// The window's viewability, and the version number of the window tree for which it was computed.
    pub(super) viewable: Cell<(u64, Option<bool>)>,
}

impl Window {
    /// Creates the state of a root window.
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

    /// Creates a window as CreateWindow does: unmapped, without a background.
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

    /// The ids of the window's known children, from the lowest to the highest.
    pub(crate) fn children(&self) -> &VecDeque<u32> {
        &self.children
    }
}
