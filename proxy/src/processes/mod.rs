//! The processes at both ends of a connection, and the processes that a recording starts.

pub(crate) mod child;
pub(crate) mod command;
pub(crate) mod cpu_clock;
pub(crate) mod open_files;
pub(crate) mod peer;
pub(crate) mod process_info;
pub(crate) mod signals;
pub(crate) mod tcp_peer;
pub(crate) mod tcp_times;
