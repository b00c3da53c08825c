//! Measured server time: the kernel's CPU time of the recorded server, attributed to the server's work.
//!
//! The kernel reports when the server ran (`server_runs`). The requests that had arrived by then show for which clients
//! it ran (`attribution`). Costs only attribute the time within a run, so the total is always the total that the kernel
//! measured.

mod attribution;
mod fit;
pub(crate) mod server_runs;
mod share;

pub(crate) use attribution::{Attribution, Evidence, RequestId, Source, UnattributedRuns, Work};
pub(crate) use fit::AttributionKey;
pub use share::TimeSource;
pub(crate) use share::{Rate, Share};
