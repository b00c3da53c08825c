//! Server time as measured: the kernel's processor time of the recorded server, divided among what it
//! was for.
//!
//! The kernel says when the server ran (`server_runs`). What had come for it by then says for whom
//! (`attribution`). Prices only divide within a run, so that the total is the kernel's on every machine.

mod attribution;
mod fit;
pub(crate) mod server_runs;
mod share;

pub(crate) use attribution::{Attribution, Evidence, RequestId, Source, UnattributedRuns, Work};
pub(crate) use fit::AttributionKey;
pub use share::Basis;
pub(crate) use share::{Rate, Share};
