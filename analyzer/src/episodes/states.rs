//! The states of the latency-benchmark paper's machine (its Figure 2): the client is busy or idle, user events are
//! waiting or not, and synchronous input or output (a reply of the server, a file) is pending or not.
//! A client is busy while one of its episodes is in progress. The times of the states are summed together with the
//! episodes' components, so that both always agree.

/// The state of a client that handles a stimulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BusyState {
    /// True if user events have arrived that the client has not begun to handle.
    pub(crate) events: bool,
    /// True if the client waits for a reply.
    pub(crate) outstanding: bool,
    /// True if the client waits for a file.
    pub(crate) file: bool,
}

/// The nanoseconds of busy clients, by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Busy([u64; 8]);

impl Busy {
    /// Adds `nanos` nanoseconds in a state.
    pub(crate) fn add(&mut self, state: BusyState, nanos: u64) {
        let at = usize::from(state.events)
            | usize::from(state.outstanding) << 1
            | usize::from(state.file) << 2;
        self.0[at] = self.0[at].saturating_add(nanos);
    }

    /// Adds the nanoseconds of `more`, state by state.
    pub(crate) fn merge(&mut self, more: &Busy) {
        for (time, more) in self.0.iter_mut().zip(more.0) {
            *time = time.saturating_add(more);
        }
    }

    /// Returns the nanoseconds added since `first`, an earlier state of the same sums.
    pub(crate) fn without(mut self, first: &Busy) -> Busy {
        for (time, first) in self.0.iter_mut().zip(first.0) {
            *time = time.saturating_sub(first);
        }
        self
    }

    /// The total nanoseconds of all states.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, time| sum.saturating_add(*time))
    }

    /// The states of the client, each with its total time in nanoseconds.
    pub(crate) fn times(&self) -> impl Iterator<Item = (BusyState, u64)> {
        self.0.into_iter().enumerate().map(|(n, time)| {
            let state = BusyState {
                events: n & 1 != 0,
                outstanding: n & 2 != 0,
                file: n & 4 != 0,
            };
            (state, time)
        })
    }
}
