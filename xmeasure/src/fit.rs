//! Computes the costs of a parameter file from readings.

pub(crate) mod entries;
pub(crate) mod handled;
pub(crate) mod samples;
pub(crate) mod transport;
