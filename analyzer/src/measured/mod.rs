//! Server time as measured: the kernel's processor time of the recorded server, divided among what it
//! was for.
//!
//! The kernel says when the server ran (`activity::server_runs`). What had come for it by then says for whom
//! (`division`). Prices only divide within a run, so that the total is the kernel's on every machine.

mod division;
mod fit;
mod timed;

pub use crate::activity::share::Basis;
pub(crate) use crate::activity::share::{Rate, Share};
pub(crate) use division::{Division, Evidence, RequestId, Source, UnclaimedRuns, Work};
pub(crate) use fit::Divided;
