//! Typed results in text form and for other programs: text, CSV, lines of JSON, other tools' formats.
//!
//! Pure, as the analyzer is: it takes results and returns text, or writes to a writer that it is given. It
//! opens no file, asks no terminal and prints nothing. How a number, a time or a size is written is
//! `units`' to say; how a table is laid out is `table`'s.

pub mod audit;
pub mod budget;
pub mod callers;
pub mod clients_now;
pub mod collection;
pub mod comparison;
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
pub mod prices;
pub mod profile;
pub mod resources;
pub mod roundtrips;
pub mod stalls;
pub mod statistics;
mod table;
pub mod units;

pub use page::{Page, ROWS, WIDTH};
pub use plain::{plain, plain_lines};
