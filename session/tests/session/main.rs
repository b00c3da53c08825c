//! Real byte streams, setup included, through `protocol` into a session: what operation each
//! request becomes, and how the requests before it decide that.

mod drawing;
mod harness;
mod images;
mod others;
mod resources;
mod text;
mod windows;
