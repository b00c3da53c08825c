//! The result of a replay: the replayed requests, and the differences from the recording.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The replayed requests, and the differences from the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// The number of connections that the player opened for recorded clients.
    pub connections: u64,
    /// The number of recorded requests that were sent, including requests that were replaced by NoOperation.
    pub requests: u64,
    /// The number of requests that were replaced by NoOperation, by name. Such requests need GPU buffers, a file
    /// descriptor, or an extension that the display lacks, or would affect other users or programs of the display.
    pub left_out: BTreeMap<String, u64>,
    /// The number of request bytes, such as image data, that are missing from the recording. Pseudo-random bytes were
    /// sent instead.
    pub filled_bytes: u64,
    /// The number of shared memory segments. Recordings do not contain their contents.
    pub segments: u64,
    /// The number of round trips that the player added to keep the clients in the recorded order.
    pub added_round_trips: u64,
    /// The number of key presses, clicks and motions sent to the display.
    pub inputs: u64,
    /// The number of key presses and clicks that were left out because another program would have got them.
    pub inputs_for_others: u64,
    /// The number of keycodes with different symbols on the display and in the recording.
    pub other_keys: u64,
    /// The number of recorded events that did not arrive in time, by name of the event.
    pub missed_events: BTreeMap<String, u64>,
    /// The number of errors in the recording, and the number in the replay, by name of the failed request.
    pub errors: BTreeMap<String, (u64, u64)>,
    /// The player's CPU time in nanoseconds.
    pub player_cpu_ns: u64,
    /// The duration of the replay in nanoseconds, from its first step until all connections are closed.
    pub took_ns: u64,
}
