//! Message statistics, as text and CSV.

mod bars;
mod summary;
mod text;

pub use crate::csv_tables::statistics as csv;
pub use text::text;
