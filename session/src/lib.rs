//! The state of a display session as its messages make it, and each request as an operation
//! in that state: kind, attributes that decide its cost, op-sizes.
//!
//! It follows windows, pixmaps, GCs, fonts, RENDER's pictures and glyph sets, XFIXES regions,
//! atoms, selections and all else that lives on the server from the messages alone; what happened
//! before the recording is unknown here, never guessed. It knows no cost, no clock and no I/O,
//! and does not pair or frame messages (that is `protocol`).
//!
//! What an operation is, which attributes and sizes each request has, and how a user can define
//! them otherwise, is in docs/OPERATIONS.md.

mod awaited;
mod definitions;
mod existing;
mod extension_kind;
mod extension_requests;
mod geometry;
mod ids;
mod latin1;
mod operations;
mod rendering;
mod replies;
mod resources;
mod session;
mod setup;
mod state;
mod tracking;
mod windows;

pub use definitions::DefinitionError;
pub use definitions::Definitions;
pub use existing::ExistingWindow;
pub use geometry::placement::Geometry;
pub use geometry::target::Effect;
pub use ids::{ClientId, IdRange};
pub use operations::changes::{Change, Changed};
pub use operations::enumerations::{
    FILL_STYLES, LINE_STYLES, PICTURE_OPERATORS, RASTER_OPERATIONS,
};
pub use operations::network_substitute::NetworkSubstitute;
pub use operations::operation::{Attribute, Attributes, Operation, Value};
pub use operations::pixel_access::{PixelAccess, PixelArea};
pub use operations::subject::{Target, event_window};
pub use rendering::gc::{Component, Gc};
pub use resources::atoms::PREDEFINED_ATOMS;
pub use resources::fonts::FontMetrics;
pub use resources::resource::{Resource, ResourceChange, ResourceKind};
pub use session::{Observed, Session};
pub use setup::PixmapFormat;
pub use windows::drawables::{Drawable, DrawableKind, ExistingDrawable};
pub use windows::names::WindowNames;
