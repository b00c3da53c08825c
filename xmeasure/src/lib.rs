//! Calibration of a display server: what each request costs it, written down as
//! `cost_model::ServerParameters`.
//!
//! The load is prepared as bytes beforehand and goes over a raw connection between two
//! synchronisation points, so that the client is never what is measured. Two clocks are read:
//! the processor time of the server's process, and the wall.
//!
//! # What an entry means
//!
//! An entry is what a request costs **beyond its transport**. Of a batch of `n` requests
//!
//! ```text
//! entry = (T(batch) − T(synchronisation)) / n
//!         − bytes · byte_read − replies · reply − reply bytes · byte_written − events · event
//! ```
//!
//! so that an entry plus the transport that the analysis adds is what the server spent. `reply`
//! and `event` are those of one *among many*, which leave in one write; what a lone reply costs
//! more is the write that carries it: the file's `flush`. By convention NoOperation and
//! GetInputFocus do the same work, and all that the second costs more is its reply.
//!
//! `byte_read` is what a byte of a very long NoOperation costs, the least that it can; what short
//! requests cost more for being read in pieces is in their entries. A server that falls asleep
//! within a batch, because bytes are still being sent, does so with a real client as well.
//!
//! What a cost is filed under (name, attributes, sizes of the items) is computed by feeding the
//! very bytes that are sent through `protocol` and `session`, the code that looks costs up.
//!
//! The crate prints nothing, kills nothing, and undoes what it does to a server: all that it
//! makes goes with its connection.

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
