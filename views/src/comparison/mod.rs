//! Servers side by side: text and CSV.

pub(crate) mod text;

pub use crate::csv_tables::comparison as csv;
pub use text::text;
