//! A comparison of servers, as text and CSV.

mod replayed;
pub(crate) mod text;

pub use crate::csv_tables::comparison as csv;
pub use replayed::replayed;
pub use text::text;
