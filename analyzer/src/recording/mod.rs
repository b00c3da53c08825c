//! Facts about a recording as a whole: its summary, the server that was recorded, CPU activity, and warnings.

pub(crate) mod activity;
pub(crate) mod recorded_server;
pub(crate) mod trace_summary;
pub(crate) mod warnings;
pub(crate) mod x_errors;
