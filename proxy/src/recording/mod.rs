//! A recording from its beginning to its end.

pub(crate) mod record;
pub(crate) mod record_error;
pub(crate) mod serve;
