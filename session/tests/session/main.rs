//! Real byte streams, setup included, through `protocol` into a session: what operation each
//! request becomes, and how the requests before it decide that.

mod clips;
mod definitions;
mod drawing;
mod harness;
mod images;
mod not_drawing;
mod render;
mod replies;
mod resources;
mod sharing;
mod text;
mod window_changes;
mod window_counts;
mod windows;
