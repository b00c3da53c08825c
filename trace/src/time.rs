//! Points in time in a trace.

use std::fmt;
use std::time::Duration;

/// A point in time: CLOCK_MONOTONIC nanoseconds of the recording machine. The trace's `Started` record relates one such
/// time to the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Creates a time from nanoseconds of CLOCK_MONOTONIC.
    pub const fn from_nanos(nanos: u64) -> Timestamp {
        Timestamp(nanos)
    }

    /// The time in nanoseconds of CLOCK_MONOTONIC.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The duration from `earlier` to this time; zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Prints the time in seconds, with nine decimals.
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

/// The day of a time in nanoseconds since 1970, UTC: `2026-11-22`.
pub fn utc_date(nanos: u64) -> String {
    // Hinnant's `civil_from_days`, for days since 1970.
    let days = nanos / 86_400_000_000_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::utc_date;

    #[test]
    fn dates_follow_the_calendar() {
        let day = 86_400_000_000_000;
        assert_eq!(utc_date(0), "1970-01-01");
        assert_eq!(utc_date(59 * day - 1), "1970-02-28");
        assert_eq!(utc_date(11_016 * day), "2000-02-29");
        assert_eq!(utc_date(20_779 * day + 5), "2026-11-22");
    }
}
