//! Formats typed results: text, CSV, lines of JSON, and the formats of other tools.
//!
//! The crate opens no file and never prints. Its functions receive results, and return text or write it to a writer of
//! the caller. `units` formats numbers, times and sizes; `table` lays out tables.

pub mod budget;
pub mod callers;
pub mod clients_now;
pub mod collection;
pub mod comparison;
pub mod cost_tables;
mod csv_tables;
pub mod difference;
pub mod divergence;
pub mod dump;
pub mod episodes;
pub mod export;
pub mod html;
pub mod link;
mod page;
#[cfg(test)]
mod paper_tests;
mod plain;
pub mod played;
pub mod profile;
pub mod resources;
pub mod roundtrips;
pub mod stalls;
pub mod statistics;
mod table;
pub mod units;

pub use page::{Page, ROWS, WIDTH};
pub use plain::{EscapedJson, plain, plain_lines};
