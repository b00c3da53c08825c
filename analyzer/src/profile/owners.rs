//! Whose resource ids are whose. A server hands the ids of a client that is gone to the next one.

use std::collections::HashMap;

use x11prof_protocol::{ServerSetup, SetupStatus};
use x11prof_trace::ConnectionId;

/// Ranges of ids kept at most; a server has fewer clients than this.
const MOST: usize = 1 << 13;

/// The client of each range of ids.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    mask: u32,
    ranges: HashMap<u32, Range>,
}

#[derive(Debug)]
struct Range {
    client: ConnectionId,
    /// Another client had it before.
    reused: bool,
}

impl Owners {
    /// Learns which ids the client of `connection` was given (protocol, encoding of the setup).
    pub(crate) fn learn(&mut self, connection: ConnectionId, setup: &ServerSetup<'_>) {
        let word = |at| setup.order.u32(setup.bytes, at);
        let (SetupStatus::Success, Some(base), Some(mask)) = (setup.status, word(12), word(16))
        else {
            return;
        };
        self.mask = mask;
        if self.ranges.len() < MOST || self.ranges.contains_key(&base) {
            let range = Range {
                client: connection,
                reused: self.ranges.contains_key(&base),
            };
            self.ranges.insert(base, range);
        }
    }

    /// The client that `id` belongs to now; `None` for the server's own and where its setup is
    /// not in the trace.
    pub(crate) fn owner(&self, id: u32) -> Option<ConnectionId> {
        Some(self.range(id)?.client)
    }

    /// Whether several clients had `id` in turn.
    pub(crate) fn is_reused(&self, id: u32) -> bool {
        self.range(id).is_some_and(|range| range.reused)
    }

    fn range(&self, id: u32) -> Option<&Range> {
        self.ranges.get(&(id & !self.mask))
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{ByteOrder, ServerSetup, SetupStatus};
    use x11prof_trace::ConnectionId;

    use super::Owners;

    #[test]
    fn ids_belong_to_the_client_that_was_given_them_last() {
        let mut owners = Owners::default();
        let mut opens = |client, base: u32| {
            let mut bytes = vec![0; 12];
            bytes.extend(base.to_le_bytes());
            bytes.extend(0x1F_FFFF_u32.to_le_bytes());
            let setup = ServerSetup {
                status: SetupStatus::Success,
                order: ByteOrder::Little,
                wire_len: 20,
                bytes: &bytes,
            };
            owners.learn(ConnectionId(client), &setup);
        };
        opens(1, 0x20_0000);
        opens(2, 0x40_0000);
        opens(3, 0x20_0000);
        assert_eq!(owners.owner(0x20_0007), Some(ConnectionId(3)));
        assert_eq!(owners.owner(0x40_0007), Some(ConnectionId(2)));
        assert_eq!(owners.owner(0x50d), None);
        assert!(owners.is_reused(0x20_0007) && !owners.is_reused(0x40_0007));
    }
}
