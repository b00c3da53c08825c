//! The result of a replay: the replayed requests, and the differences from the recording.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The replayed requests, and the differences from the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// The number of connections that the player opened for recorded clients.
    pub connections: u64,
    /// The number of recorded requests that were sent, including those in `left_out` as NoOperation.
    pub requests: u64,
    /// The number of requests that were replaced by NoOperation, by name: they need GPU buffers, a descriptor, or an
    /// extension that the display lacks, or would affect other users or programs of the display.
    pub left_out: BTreeMap<String, u64>,
    /// The number of request bytes that are missing from the recording, such as image data. Noise was sent instead.
    pub filled_bytes: u64,
    /// The number of shared memory segments. Their contents are never recorded.
    pub segments: u64,
    /// The number of round trips that the player added to keep the clients in the recorded order.
    pub added_round_trips: u64,
    /// The number of key presses, clicks and motions sent to the display.
    pub inputs: u64,
    /// The number of keycodes with different symbols on the display and in the recording.
    pub other_keys: u64,
    /// The number of recorded events that did not arrive in time, by name of the event.
    pub missed_events: BTreeMap<String, u64>,
    /// The number of errors in the recording and in the replay, by name of the failed request.
    pub errors: BTreeMap<String, (u64, u64)>,
    /// CPU time of the player in nanoseconds.
    pub player_cpu_ns: u64,
    /// The duration of the replay in nanoseconds, from its first step until all connections are closed.
    pub took_ns: u64,
}
