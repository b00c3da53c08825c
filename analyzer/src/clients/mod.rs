//! Values by client, with a common limit on their number.

mod choice;
mod per_client;

pub use choice::{ClientChoice, Unmatched};
pub(crate) use per_client::{MAX_CLIENTS, PerClient};
