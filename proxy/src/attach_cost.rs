//! The cost of an attached recorder to the display server.

use std::time::Duration;

/// The interval of the current cost.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// The cost of an attached recorder to the display server: modelled, by the reports that the recorder got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachCost {
    /// The server's processor time for all reports so far.
    pub server: Duration,
    /// The length of the recording so far.
    pub of: Duration,
    /// The server's processor time for reports in the last seconds.
    pub recent: Duration,
    /// The length of those seconds: five, or fewer in a recording that has just begun.
    pub recent_of: Duration,
    /// The time that one report adds to a client's turn.
    pub report: Duration,
    /// The most bytes by which the server's memory has grown while reports waited for the recorder; `None` if the
    /// server's memory is not known.
    pub held: Option<u64>,
}

impl AttachCost {
    /// The percentage of one processor that all reports took, and those of the last seconds.
    pub fn percent(&self) -> [f64; 2] {
        let of =
            |part: Duration, of: Duration| 100.0 * part.as_secs_f64() / of.as_secs_f64().max(1e-9);
        [of(self.server, self.of), of(self.recent, self.recent_of)]
    }

    /// True if the last seconds were over this percentage of a processor. The first seconds of a recording are not
    /// held against a bound: a recorder that attaches hears of all windows at once.
    pub(crate) fn is_over(&self, bound: Option<f64>) -> bool {
        self.recent_of >= INTERVAL && bound.is_some_and(|bound| self.percent()[1] > bound)
    }
}
