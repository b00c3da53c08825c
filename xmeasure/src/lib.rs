//! Calibration of a display server: measures the server's cost of each request, as `cost_model::ServerParameters`.
//!
//! The load is prepared as bytes beforehand and goes over a raw connection between two synchronisation points, so that
//! the client's own time is not measured. The clock is the processor time of the server's process, or the wall where that
//! cannot be read.
//!
//! # What an entry means
//!
//! An entry is a request's cost **beyond its transport**. Of a batch of `n` requests
//!
//! ```text
//! entry = (T(batch) − T(synchronisation)) / n
//!         − bytes · byte_read − replies · reply − reply bytes · byte_written − events · event
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
mod machine_speed;
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
pub use machine_speed::probe;
pub use plan::{Pin, Plan, Progress};
pub use server::identity::{identify, this_machine};
pub use server::target::Target;
