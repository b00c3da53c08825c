//! The way from readings to the costs of a file.

mod blanks;
pub(crate) mod entries;
pub(crate) mod samples;
mod size_of_time;
pub(crate) mod transport;
