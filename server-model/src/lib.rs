//! A simulation of a display server that attributes the server's time to charges.
//!
//! The input is the server's reads and writes with their times. The output is the cost of each read and write, computed
//! from a parameter file. docs/CONCEPTS.md defines the four terms of the cost. Each term has a file here: `operation`,
//! `message`, `wakeup`, `cache`. `server` combines the terms. `simulated` is a server for tests of measurements.
//!
//! The simulation does not depend on traces, files, processes or clocks, and measures nothing. `session` interprets the
//! messages, and `cost-model` provides the costs.

mod cache;
mod charge;
mod client;
mod clock;
mod message;
mod server;
#[cfg(any(test, feature = "testing"))]
pub mod simulated;
mod wakeup;

pub use charge::{Charge, RepeatedRequests, TransportPart};
pub use clock::Time;
pub use message::Traffic;
pub use server::ServerModel;
pub use x11prof_session::ClientId;
