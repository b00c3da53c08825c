//! Running loads and reading the clocks: on a real server, often enough, at one pace.

pub(crate) mod busy_client;
pub(crate) mod live;
pub(crate) mod pace;
pub(crate) mod sampler;
pub(crate) mod statistics;
pub(crate) mod steady;
