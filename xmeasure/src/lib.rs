//! Calibration of a display server: measures the server's cost of each request, as `cost_model::ServerParameters`.
//!
//! The load is prepared as bytes beforehand and goes over a raw connection, so that the client's own time is not
//! measured. If `x11prof` started the server, the server writes the time of each handler into shared memory, and the
//! calibration reads a request's own time there. Else the clock is the processor time of the server's process over a
//! stream of requests between two synchronisation points, or the wall where the processor time cannot be read.
//!
//! # What an entry means
//!
//! An entry is a request's cost **beyond its transport**, whichever way it is measured. Of a batch of `n` requests
//!
//! ```text
//! entry = (T(batch) − T(synchronisation)) / n
//!         − bytes · byte_read − replies · reply − reply bytes · byte_written − events · event
//! ```
//!
//! and of a handler's time `H`, where a NoOperation of as many bytes represents the work outside of handlers,
//!
//! ```text
//! entry = H − H(NoOperation) − its replies and events within H + entry(NoOperation of as many bytes)
//! ```
//!
//! so an entry plus the transport that the analysis adds is the server's time. `reply` and `event` are the costs of one
//! *among many*, which leave in one write. By convention NoOperation and GetInputFocus do the same work, and the
//! whole extra cost of GetInputFocus is its reply.
//!
//! `byte_read` is the cost of a byte of a very long NoOperation, the least possible; short requests are read in pieces,
//! and their entries hold the extra cost. A server that falls asleep within a batch, because bytes are still being
//! sent, does so with a real client as well.
//!
//! The key of a cost (name, attributes, sizes of the items) comes from feeding the sent bytes through `protocol` and
//! `session`, the code that looks costs up.
//!
//! The crate prints nothing, kills nothing, and undoes its changes to a server: all its resources go with its
//! connection.

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
pub use plan::{Pin, Plan, Progress};
pub use sampling::handlers::HandlerClock;
pub use server::identity::{identify, server_process, this_machine};
pub use server::target::Target;
