//! Names, patterns of names, and units in results.

pub(crate) mod label;
pub(crate) mod pattern;
pub(crate) mod units;
