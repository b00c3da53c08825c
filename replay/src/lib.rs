//! Replays a recorded session on another display server: the same requests of the same clients, in the same order.
//!
//! A [`Script`] is made from a recording: the requests that each client sent, and the messages that it had received
//! before. [`play`] sends the requests to the display of the environment. Ids, atoms, opcodes, picture formats and
//! times are replaced by those of the display. Input is sent through XTEST.
//!
//! The crate does not record or measure. For a recorder, a player is an ordinary client. The crate opens no file,
//! socket or command that is named in a recording.

mod error;
mod ids;
mod outcome;
mod player;
mod script;

pub use error::ReplayError;
pub use outcome::Played;
pub use player::{Pace, PlayConfig, play};
pub use script::Script;
