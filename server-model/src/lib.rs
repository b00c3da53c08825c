//! A simulation of a display server that attributes the server's time to charges.
//!
//! The input is the server's reads and writes with their times. The output is the cost of each, from a parameter file.
//! docs/CONCEPTS.md defines the four terms, each with a file here: `operation`, `message`, `wakeup`, `cache`.
//! `server` combines them. `simulated` is a server for testing measurements.
//!
//! The simulation does not depend on traces, files, processes or clocks, and measures nothing. `session` provides the
//! meaning of messages, and `cost-model` the costs.

mod cache;
mod charge;
mod client;
mod clock;
mod message;
mod operation;
mod server;
#[cfg(any(test, feature = "testing"))]
pub mod simulated;
mod wakeup;

pub use charge::{Charge, RepeatedRequests, TransportPart};
pub use clock::Time;
pub use message::Traffic;
pub use server::ServerModel;
pub use x11prof_session::ClientId;
