//! The outcome of a player: the requests that it played, and the differences from the recording.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The requests that were played, and the differences from the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// Connections.
    pub connections: u64,
    /// Requests of the recording that were sent as they were.
    pub requests: u64,
    /// Requests that were replaced by NoOperation, by name: they need GPU buffers, a descriptor, or an extension that
    /// the display lacks, or would affect other users or programs of the display.
    pub left_out: BTreeMap<String, u64>,
    /// Bytes of images that the recording has not; noise was sent in their place.
    pub filled_bytes: u64,
    /// Segments of shared memory, whose contents no recording has.
    pub segments: u64,
    /// Round trips added, so that clients go on in the recorded order.
    pub added_round_trips: u64,
    /// Key presses, clicks and motions given to the display.
    pub inputs: u64,
    /// Keycodes that have other symbols on the display than in the recording.
    pub other_keys: u64,
    /// Events that the recording has and that did not come in time, by name.
    pub missed_events: BTreeMap<String, u64>,
    /// Errors, by the name of the request: in the recording and here.
    pub errors: BTreeMap<String, (u64, u64)>,
    /// Processor time of the player in nanoseconds.
    pub player_cpu_ns: u64,
    /// The time from the first request to the last, in nanoseconds.
    pub took_ns: u64,
}
