//! A snapshot of all sums, to compute the growth between two snapshots.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use x11prof_session::ResourceKind;
use x11prof_trace::ConnectionId;

use super::request_rates::ClientWaits;
use crate::profile::stacks::{StackKey, StackSum};
use crate::server_time::Share;

/// The number of a client's resources of one kind, and their bytes.
pub(super) type Held = (u64, u64);

/// The sums at `time`, in the trace's nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    pub(super) time: u64,
    pub(super) stacks: FxHashMap<StackKey, StackSum>,
    pub(super) client_waits: FxHashMap<ConnectionId, ClientWaits>,
    pub(super) held: BTreeMap<ConnectionId, BTreeMap<ResourceKind, Held>>,
    /// The unattributed server runs.
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
