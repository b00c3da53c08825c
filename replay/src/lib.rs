//! Replays a recorded session on another display server: the same requests of the same clients, in the same order.
//!
//! A [`Script`] is a recorded session as a list of steps: each step's requests, and the messages that its client had
//! received before it sent them. [`play`] sends the requests to the display of the environment. The player replaces
//! ids, atoms, opcodes, picture formats and times with those of the display. It sends input through XTEST.
//!
//! The crate does not record or measure. A recorder sees the player as ordinary clients. The crate does not open
//! files or sockets, or run commands, that are named in a recording.

mod error;
mod ids;
mod outcome;
mod player;
mod script;

pub use error::ReplayError;
pub use outcome::Played;
pub use player::{Pace, PlayConfig, play};
pub use script::Script;
