//! The simulation of a display server: it divides the server's time into charges.
//!
//! Its input is the server's reads and writes with their times; its output is the cost of each on the server, by the
//! costs of its parameter file. docs/CONCEPTS.md has the five nouns, each with a file here: `operation`, `message`,
//! `wakeup`, `cache`, `screen_update`. `server` puts them together. `simulated` is a server to test measurements with.
//!
//! The simulation does not know traces, files, processes or this machine's clock, and measures nothing. `session` gives
//! the meaning of messages, and `cost-model` the costs.

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

pub use charge::{Alike, Charge, TransportPart};
pub use clock::Time;
pub use message::Traffic;
pub use operation::across_network::Crossing;
pub use server::ServerModel;
pub use x11prof_session::ClientId;
