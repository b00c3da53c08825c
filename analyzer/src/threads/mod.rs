//! The state of each thread, from the kernel's context switches. The pipeline has the only instance
//! (`watched::WatchedThreads`). `thread_states` turns a batch of context switches into steps. The other files use these
//! steps to compute when a process last stopped or was idle and how many of its threads were ready (`processes`),
//! when the server was ready but not running (`server_ready`), and how much CPU time a process used since a clock was
//! read (`since_reading`). `delays` contains the bounds that these files share.

pub(crate) mod delays;
pub(crate) mod processes;
pub(crate) mod server_ready;
pub(crate) mod since_reading;
pub(crate) mod thread_states;
pub(crate) mod watched;
