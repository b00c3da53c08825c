//! Sockets that carry file descriptors, and the buffers that they are read into.

pub(crate) mod buffer;
pub(crate) mod socket;
pub(crate) mod spin_wait;
