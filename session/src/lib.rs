//! Computes the state of a display session from its messages, and maps each request to an operation: the request's
//! name, the attributes that determine its cost, and its op-sizes (area, length or number of bytes).
//!
//! From the messages, a session tracks windows, pixmaps, GCs, fonts, RENDER's pictures and glyph sets, XFIXES regions,
//! atoms, selections and all other resources of the server. State from before the recording is unknown and never
//! guessed. The session has no costs, no clock and no I/O, and does not pair or frame messages (`protocol` does).
//!
//! docs/REFERENCE.md defines operations, and lists the attributes and sizes of each request.

mod awaited;
mod existing;
mod extension_kind;
mod extension_requests;
mod geometry;
mod ids;
mod inputs;
mod latin1;
mod operations;
mod pattern;
mod rendering;
mod replies;
mod request_table;
mod resources;
mod session;
mod setup;
mod state;
mod tracking;
mod windows;

pub use existing::ExistingWindow;
pub use geometry::placement::Geometry;
pub use geometry::target::Effect;
pub use ids::{ClientId, IdRange};
pub use inputs::{Input, Inputs};
pub use operations::network_substitute::NetworkSubstitute;
pub use operations::operation::{Attribute, Attributes, Operation, Value};
pub use operations::pixel_access::{PixelAccess, PixelArea};
pub use operations::subject::event_window;
pub use pattern::matches;
pub use rendering::gc::{Component, Gc};
pub use request_table::{Drawing, Target};
pub use resources::atoms::PREDEFINED_ATOMS;
pub use resources::resource::{Resource, ResourceChange, ResourceKind};
pub use session::{Observed, Session, only_draws};
pub use setup::PixmapFormat;
pub use windows::drawables::{Drawable, DrawableKind, ExistingDrawable};
pub use windows::names::WindowNames;
