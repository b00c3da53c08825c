//! The state of a display session as its messages make it, and each request as an operation
//! in that state: kind, attributes that decide its cost, op-sizes.
//!
//! It follows GCs, windows, pixmaps, fonts and atoms from the messages alone; what happened
//! before the recording is unknown here, never guessed. It knows no cost, no clock and no I/O.

mod operation;
pub use operation::{Attribute, Attributes, Effect, Operation, Value};
