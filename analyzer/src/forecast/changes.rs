//! Changes to a recorded program's behaviour, whose effect a second simulation determines.

use rustc_hash::{FxHashMap, FxHashSet};
use x11prof_protocol::SequenceNumber;
use x11prof_trace::ConnectionId;

/// Changes of the recorded program's behaviour.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    /// The requests whose replies the client does not wait for.
    pub(crate) not_awaited: FxHashSet<(ConnectionId, SequenceNumber)>,
    /// The requests that the client does not send, with their number of bytes.
    pub(crate) not_sent: FxHashMap<(ConnectionId, SequenceNumber), u64>,
    /// The number of bytes that the server leaves out of each reply, by request.
    pub(crate) not_returned: FxHashMap<(ConnectionId, SequenceNumber), u64>,
    /// True if images have no pixels.
    pub(crate) no_pixels: bool,
}

impl Changes {
    /// Adds the changes of `others`.
    pub(crate) fn add(&mut self, others: Changes) {
        self.not_awaited.extend(others.not_awaited);
        self.no_pixels |= others.no_pixels;
        for (all, others) in [
            (&mut self.not_sent, others.not_sent),
            (&mut self.not_returned, others.not_returned),
        ] {
            // Two changes may shorten the same message.
            for (request, bytes) in others {
                let known = all.entry(request).or_default();
                *known = bytes.max(*known);
            }
        }
    }

    /// Notes requests of a client whose replies the client does not wait for in the forecast.
    pub(crate) fn do_not_await(
        &mut self,
        client: ConnectionId,
        requests: impl IntoIterator<Item = SequenceNumber>,
    ) {
        let requests = requests.into_iter().map(|request| (client, request));
        self.not_awaited.extend(requests);
    }
}
