//! The number of a connection in a trace.

use serde::{Deserialize, Serialize};

/// The number of a client's connection in a trace, counted from 1 in the order of acceptance.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ConnectionId(pub u32);
