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

mod across;
mod asked;
mod atoms;
mod bands;
mod body;
mod changes;
mod clients;
mod clip;
mod compositing;
mod definitions;
mod definitions_file;
mod directions;
mod drawables;
mod drawing;
mod expression;
mod extension_requests;
mod extras;
mod fonts;
mod gc;
mod geometry;
mod glyphs;
mod ids;
mod images;
mod ink;
mod names;
mod operation;
mod other;
mod pict_formats;
mod pictures;
mod region;
mod regions;
mod render;
mod resources;
mod session;
mod setup;
mod shapes;
mod stacking;
mod strangers;
mod surroundings;
mod target;
mod text;
mod window_events;
mod window_messages;
mod window_operations;
mod windows;

pub use across::Across;
pub use changes::{Change, Changed};
pub use definitions::Definitions;
pub use definitions_file::DefinitionError;
pub use drawables::{Drawable, DrawableKind};
pub use fonts::FontMetrics;
pub use gc::{Component, Gc};
pub use geometry::Geometry;
pub use ids::ClientId;
pub use operation::{Attribute, Attributes, Effect, Operation, Value};
pub use resources::{Resource, ResourceKind};
pub use session::{Observed, Session};
pub use surroundings::Surroundings;
