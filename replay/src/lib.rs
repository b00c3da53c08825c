//! A recorded session played to another display server: the same requests of the same clients, in the same order.
//!
//! A [`Script`] is made of a recording: what each client sent, and what it had heard by then. [`play`] sends that to the
//! display of the environment. Ids, atoms, opcodes, picture formats and times become the display's own; input comes
//! from XTEST.
//!
//! The crate records nothing and measures no server: a player is a client, and a recorder watches it as any other. It
//! opens no file, socket or command that a recording names.

mod error;
mod ids;
mod outcome;
mod player;
mod script;

pub use error::ReplayError;
pub use outcome::Played;
pub use player::{Pace, PlayConfig, play};
pub use script::Script;
