//! The cost of an attached recorder to the display server.

use std::time::Duration;

/// The interval of the current cost.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// The cost of an attached recorder to the display server, estimated from the reports that the recorder received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachCost {
    /// The server's CPU time for all reports so far.
    pub server: Duration,
    /// The length of the recording so far.
    pub of: Duration,
    /// The server's CPU time for reports in the last seconds.
    pub recent: Duration,
    /// The length of that interval: five seconds, or less in a recording that has just begun.
    pub recent_of: Duration,
    /// The time that one report adds to a client's turn.
    pub report: Duration,
    /// The largest growth of the server's memory in bytes while reports waited for the recorder; `None` if the server's
    /// memory is not known.
    pub held: Option<u64>,
}

impl AttachCost {
    /// The percentage of one processor used for all reports, and for the reports of the last seconds.
    pub fn percent(&self) -> [f64; 2] {
        let of =
            |part: Duration, of: Duration| 100.0 * part.as_secs_f64() / of.as_secs_f64().max(1e-9);
        [of(self.server, self.of), of(self.recent, self.recent_of)]
    }

    /// True if the last seconds exceeded this percentage of a processor. The first seconds of a recording do not count,
    /// because an attaching recorder receives reports about all windows at once.
    pub(crate) fn is_over(&self, bound: Option<f64>) -> bool {
        self.recent_of >= INTERVAL && bound.is_some_and(|bound| self.percent()[1] > bound)
    }
}
