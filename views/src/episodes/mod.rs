//! Episodes: text, CSV, and the messages of the worst.

mod across;
mod csv;
mod text;
mod timeline;

pub use csv::csv;
pub use text::text;
pub use timeline::Timeline;
