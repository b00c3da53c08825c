//! Calibration of a display server: measures the server's cost of each request, as `cost_model::ServerParameters`.
//!
//! The load is prepared as bytes beforehand and sent over a raw connection, so that the client's own time is not
//! measured. If `x11prof` started the server, the server writes the time of each handler into shared memory, and
//! the calibration reads a request's own time there. Otherwise the clock is the CPU time of the server's process
//! over a stream of requests between two synchronisation points, or wall time if the CPU time cannot be read.
//!
//! # What an entry means
//!
//! An entry is a request's cost **beyond its transport**, for both methods of measurement. For a batch of `n`
//! requests
//!
//! ```text
//! entry = (T(batch) − T(synchronisation)) / n
//!         − bytes · byte_read − replies · reply − reply bytes · byte_written − events · event
//! ```
//!
//! and for a handler's time `H`, if a NoOperation of the same length represents the work outside of handlers,
//!
//! ```text
//! entry = H − H(NoOperation) − its replies and events within H + entry(NoOperation of as many bytes)
//! ```
//!
//! so an entry plus the transport that the analysis adds is the server's time. `reply` and `event` are the costs of
//! one message *among many*, which are sent in one write. By convention NoOperation and GetInputFocus do the same
//! work, and the whole extra cost of GetInputFocus is its reply.
//!
//! `byte_read` is the cost of a byte of a very long NoOperation, where it is lowest. Servers read short requests in
//! pieces, and the entries of short requests contain the extra cost. A server that falls asleep within a batch, because
//! bytes are still being sent, also does so with a real client.
//!
//! The key of a cost (name, attributes, sizes of the items) is determined by feeding the sent bytes through
//! `protocol` and `session`, the code that looks up costs.
//!
//! The crate prints nothing, kills no process, and undoes its changes to a server: all its resources are freed with
//! its connection.

mod calibrate;
mod error;
mod fit;
mod plan;
mod probes;
mod progress;
mod sampling;
mod server;
#[cfg(test)]
mod simulated;
mod workloads;

pub use calibrate::measure;
pub use error::MeasureError;
pub use plan::{Plan, Progress, usual_processor};
pub use server::identity::this_machine;
pub use server::process::pin_this_thread;
pub use server::target::Target;
