//! Real byte streams, setup included, through `protocol` into a session: the operation of each request, and
//! its dependence on earlier requests.

mod clips;
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
