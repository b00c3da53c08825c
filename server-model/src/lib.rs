//! The simulation of a display server: what its time goes to.
//!
//! It is told what the server read and wrote, and when, and says what each thing cost that server by the prices
//! of its parameter file. docs/MODEL.md has the five nouns, and each has its file here: `operation`, `message`,
//! `wakeup`, `cache`, `screen_update`. `server` puts them together. `simulated` is a server to test measurements with.
//!
//! It does not know traces, files, processes or this machine's clock, and measures nothing. What a message means is
//! `session`'s to say, and what something costs is `cost-model`'s.

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

pub use charge::{Charge, TransportPart};
pub use clock::Time;
pub use message::Traffic;
pub use operation::across_network::Crossing;
pub use server::ServerModel;
pub use wakeup::shared_processor::Stretch;
pub use x11prof_session::ClientId;
