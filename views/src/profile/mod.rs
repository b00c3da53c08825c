//! The execution profile: text and CSV.

mod partition;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod transport;
mod warnings;

pub use crate::csv_tables::profile as csv;
pub use text::text;
