//! Sockets that transfer file descriptors, and the buffers into which they are read.

pub(crate) mod buffer;
pub(crate) mod passed_fds;
pub(crate) mod socket;
