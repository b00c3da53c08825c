//! Rectangles, regions and shapes on drawables, and their clipping.

pub(crate) mod clip;
pub(crate) mod directions;
pub(crate) mod placement;
pub(crate) mod region;
pub(crate) mod shapes;
pub(crate) mod target;
