//! A simulation of a display server that attributes the server's time to charges.
//!
//! The input is the server's reads and writes with their times. The output is the cost of each, from a parameter file.
//! docs/CONCEPTS.md defines the five terms, each with a file here: `operation`, `message`, `wakeup`, `cache`,
//! `screen_update`. `server` combines them. `simulated` is a server for testing measurements.
//!
//! The simulation does not depend on traces, files, processes or clocks, and measures nothing. `session` provides the
//! meaning of messages, and `cost-model` the costs.

mod cache;
mod charge;
mod client;
mod clock;
mod message;
mod operation;
mod screen_update;
mod server;
pub mod simulated;
mod wakeup;

pub use charge::{Charge, RepeatedRequests, TransportPart};
pub use clock::Time;
pub use message::Traffic;
pub use server::ServerModel;
pub use x11prof_session::ClientId;
