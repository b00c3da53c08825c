//! The result of a replay: the replayed requests, and the differences from the recording.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The replayed requests, and the differences from the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// The number of connections.
    pub connections: u64,
    /// Requests of the recording that were sent unchanged.
    pub requests: u64,
    /// Requests that were replaced by NoOperation, by name: they need GPU buffers, a descriptor, or an extension that
    /// the display lacks, or would affect other users or programs of the display.
    pub left_out: BTreeMap<String, u64>,
    /// Bytes of images that are missing from the recording. Noise was sent instead.
    pub filled_bytes: u64,
    /// Segments of shared memory, whose contents are never recorded.
    pub segments: u64,
    /// Round trips that the player added to keep the clients in the recorded order.
    pub added_round_trips: u64,
    /// Key presses, clicks and motions sent to the display.
    pub inputs: u64,
    /// The number of keycodes with different symbols on the display and in the recording.
    pub other_keys: u64,
    /// Recorded events that did not arrive in time, by name.
    pub missed_events: BTreeMap<String, u64>,
    /// Errors, by the name of the request: in the recording and in the replay.
    pub errors: BTreeMap<String, (u64, u64)>,
    /// CPU time of the player in nanoseconds.
    pub player_cpu_ns: u64,
    /// The time from the first request to the last, in nanoseconds.
    pub took_ns: u64,
}
