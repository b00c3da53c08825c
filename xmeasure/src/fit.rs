//! The way from readings to the costs of a file.

pub(crate) mod entries;
pub(crate) mod handled;
pub(crate) mod samples;
pub(crate) mod transport;
