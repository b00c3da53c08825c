//! Computes the costs in a parameter file from the readings of the clocks.

pub(crate) mod entries;
pub(crate) mod handled;
pub(crate) mod samples;
pub(crate) mod transport;
