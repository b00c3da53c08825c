//! Values by client, with one limit for all of them.

mod choice;
mod per_client;

pub use choice::{ClientChoice, Unmatched};
pub(crate) use per_client::{MAX_CLIENTS, PerClient};
