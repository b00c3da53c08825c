//! The execution profile: text and CSV.

mod doubts;
mod partition;
mod rest;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod transport;
mod verdict;
mod warnings;

pub use crate::csv_tables::profile as csv;
pub(crate) use doubts::of_warnings as doubts_of;
pub use text::text;
pub(crate) use verdict::{basis_word, network_words};
