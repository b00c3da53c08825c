//! A snapshot of all sums. The difference of two snapshots is the growth between their times.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use x11prof_session::ResourceKind;
use x11prof_trace::ConnectionId;

use super::request_rates::ClientWaits;
use crate::server_time::Share;

/// The number of a client's resources of one kind, and their bytes.
pub(super) type Held = (u64, u64);

/// All sums at `time`, in nanoseconds of the trace.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    pub(super) time: u64,
    /// The period of the profile that begins at `time`.
    pub(super) period: u32,
    pub(super) client_waits: FxHashMap<ConnectionId, ClientWaits>,
    pub(super) held: BTreeMap<ConnectionId, BTreeMap<ResourceKind, Held>>,
    /// The server's CPU time that is not attributed to a client.
    pub(super) own: Share,
}

impl Snapshot {
    pub(super) fn held(&self, client: ConnectionId, kind: ResourceKind) -> Held {
        let of_client = self.held.get(&client);
        of_client
            .and_then(|kinds| kinds.get(&kind).copied())
            .unwrap_or_default()
    }
}
