//! The state of a display session as its messages make it, and each request as an operation
//! in that state: kind, attributes that decide its cost, op-sizes.
//!
//! It follows GCs, windows, pixmaps and fonts from the messages alone; what happened before
//! the recording is unknown here, never guessed. It knows no cost, no clock and no I/O, and
//! does not pair or frame messages (that is `protocol`).
//!
//! # Op-sizes
//!
//! An item's size is what is left of it after clipping to the drawable; a request's op-size is
//! the sum over its items (Xprof's Table 1).
//!
//! | Requests | Items | Size of an item | Attributes |
//! |---|---|---|---|
//! | PolyPoint | points | 1, or 0 where clipped away | `gxmode` |
//! | PolyLine, PolySegment | segments | length in pixels | `fillstyle` `gxmode` `linestyle` `linewidth` |
//! | PolyRectangle, PolyArc | rectangles, arcs | length of the outline in pixels | the same |
//! | FillPoly, PolyFillRectangle, PolyFillArc | shapes | area in pixels | `fillstyle` `gxmode` |
//! | PutImage, GetImage | one | area in pixels | `depth` `format` |
//! | CopyArea, CopyPlane, ClearArea | one | area in pixels | `depth` |
//! | PolyText8/16, ImageText8/16 | strings | characters | `fontname` |
//! | ChangeProperty | one | bytes of the property's data | |
//! | InternAtom | one | characters of the name | |
//! | RENDER glyph, rectangle, trapezoid and triangle requests, GLX:Render(Large) | one | bytes of the request | |
//! | all others | one | 0 | |
//!
//! An attribute whose value is not known (the GC is from before the recording, the font is the
//! server's default) is left out. An unviewable window does not change sizes: it makes the
//! effect [`Effect::Nothing`]. Sizes on a drawable that is not known are not clipped, and those
//! of a request whose tail was left out are of the items kept: both are [`Effect::Unknown`].

mod asked;
mod atoms;
mod body;
mod clients;
mod clip;
mod compositing;
mod definitions;
mod definitions_file;
mod drawables;
mod drawing;
mod expression;
mod extension_requests;
mod extras;
mod fonts;
mod gc;
mod glyphs;
mod ids;
mod images;
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
mod strangers;
mod target;
mod text;
mod window_events;
mod window_messages;
mod window_operations;
mod windows;

pub use definitions::Definitions;
pub use definitions_file::DefinitionError;
pub use drawables::{Drawable, DrawableKind};
pub use fonts::FontMetrics;
pub use gc::{Component, Gc};
pub use ids::ClientId;
pub use operation::{Attribute, Attributes, Effect, Operation, Value};
pub use resources::{Resource, ResourceKind};
pub use session::{Observed, Session};
pub use windows::Geometry;
