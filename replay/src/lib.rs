//! A recorded session played to another display server: the same requests of the same clients, in the same order.
//!
//! A [`Script`] is made from a recording: what each client sent, and what it had received before. [`play`] sends the
//! requests to the display of the environment. Ids, atoms, opcodes, picture formats and times are replaced by those
//! of the display; input is sent through XTEST.
//!
//! The crate records nothing and measures no server: a player is a client like any other, for a recorder. It opens no
//! file, socket or command named in a recording.

mod error;
mod ids;
mod outcome;
mod player;
mod script;

pub use error::ReplayError;
pub use outcome::Played;
pub use player::{Pace, PlayConfig, play};
pub use script::Script;
