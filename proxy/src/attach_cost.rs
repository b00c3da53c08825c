//! The cost of an attached recorder to the display server.

use std::time::Duration;

/// The length of the interval over which the current cost is computed.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// The cost of an attached recorder to the display server, estimated from the reports that the recorder received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachCost {
    /// The server's CPU time for all reports up to now.
    pub server: Duration,
    /// The length of the recording up to now.
    pub of: Duration,
    /// The server's CPU time for reports in the last interval.
    pub recent: Duration,
    /// The length of the last interval: five seconds, or less in a recording that has just begun.
    pub recent_of: Duration,
    /// The time that one report adds to the handling of a client's requests.
    pub report: Duration,
    /// The largest growth of the server's memory in bytes while reports waited for the recorder; `None` if unknown.
    pub held: Option<u64>,
}

impl AttachCost {
    /// The percentage of one processor that the server used for all reports, and for the reports of the last interval.
    pub fn percent(&self) -> [f64; 2] {
        let of =
            |part: Duration, of: Duration| 100.0 * part.as_secs_f64() / of.as_secs_f64().max(1e-9);
        [of(self.server, self.of), of(self.recent, self.recent_of)]
    }

    /// True if the cost of the last interval exceeds `bound`, a percentage of a processor. The first seconds of a
    /// recording do not count, because an attaching recorder receives reports about all windows at once.
    pub(crate) fn is_over(&self, bound: Option<f64>) -> bool {
        self.recent_of >= INTERVAL && bound.is_some_and(|bound| self.percent()[1] > bound)
    }
}
