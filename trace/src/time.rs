//! Times of a trace.

use std::fmt;
use std::time::Duration;

/// A point in time: CLOCK_MONOTONIC nanoseconds of the recording machine. The trace's `Started` record relates one such
/// time to the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// A time in nanoseconds of CLOCK_MONOTONIC.
    pub const fn from_nanos(nanos: u64) -> Timestamp {
        Timestamp(nanos)
    }

    /// Nanoseconds of CLOCK_MONOTONIC.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this; zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Seconds with nine decimals.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}
