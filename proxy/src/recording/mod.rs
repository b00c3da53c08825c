//! A recording from its beginning to its end, independent of the source of its messages.

pub(crate) mod config;
pub(crate) mod record_error;
pub(crate) mod session;
