//! Values by client, with one limit for all of them.

mod per_client;

pub(crate) use per_client::{MAX_CLIENTS, PerClient};
