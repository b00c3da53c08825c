//! Drawables: the tree of windows, the effects of requests and events on it, and pixmaps.

pub(crate) mod drawables;
pub(crate) mod earlier_drawables;
pub(crate) mod events;
pub(crate) mod names;
pub(crate) mod requests;
pub(crate) mod stacking;
pub(crate) mod tree;
mod viewability;
pub(crate) mod window;
