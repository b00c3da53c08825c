//! The measured server: the connection to it, its process, and the resources of a client on it.

pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod exchange;
pub(crate) mod identity;
pub(crate) mod process;
pub(crate) mod target;
pub(crate) mod tracker;
pub(crate) mod wire;
