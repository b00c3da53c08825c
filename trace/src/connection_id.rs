//! The number of a connection.

use serde::{Deserialize, Serialize};

/// The number of a client connection in a trace, from 1 in the order of acceptance.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ConnectionId(pub u32);
