//! User-defined events (Reiss, "Event-Based Performance Analysis"): the messages that start and end an instance, and
//! the resources of all instances of a type. Reiss's procedures correspond to events and requests of the protocol.

pub(crate) mod definition;
pub(crate) mod file;
pub(crate) mod instances;
pub(crate) mod matching;
pub(crate) mod server_time;
pub(crate) mod tag;
