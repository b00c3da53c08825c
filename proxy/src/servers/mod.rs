//! X servers that x11prof starts, and their helpers.

pub(crate) mod compositor;
pub(crate) mod private_server;
pub(crate) mod server_error;
pub(crate) mod server_kind;
