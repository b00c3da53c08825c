//! A server whose costs are known, for tests: what probes find of it is to be what it has.

mod peer;
mod screen;
mod server;

pub(crate) use self::peer::connected;
pub(crate) use self::server::{Quirks, Simulated, calibrated, truth, with_server};
