//! The special measurements, each a file of its own.

pub(crate) mod batch;
pub(crate) mod first_uses;
pub(crate) mod fonts;
pub(crate) mod late_work;
pub(crate) mod mixed_requests;
pub(crate) mod references;
pub(crate) mod requests;
pub(crate) mod screen_updates;
pub(crate) mod transport;
pub(crate) mod wakeups;
