//! Runs the loads of a calibration repeatedly on a server, and reads the clocks.

pub(crate) mod batch;
mod busy_client;
pub(crate) mod executor;
pub(crate) mod handlers;
pub(crate) mod job;
pub(crate) mod live;
pub(crate) mod reading;
pub(crate) mod readings;
pub(crate) mod rounding;
pub(crate) mod sampler;
pub(crate) mod statistics;
pub(crate) mod streamed;
