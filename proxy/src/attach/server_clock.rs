//! The time of a message that RECORD reports. Reports contain the server's time in whole milliseconds, and arrive only
//! with later traffic.

use x11prof_trace::{Direction, Timestamp};

const MILLISECOND: u64 = 1_000_000;
/// If the server's time is behind the recorder's by less than this many milliseconds, both use CLOCK_MONOTONIC, and
/// the difference is the delay of the report.
const SAME_CLOCK: u32 = 10_000;

/// Converts times of the server's clock to the recorder's clock.
#[derive(Debug, Default)]
pub(super) struct ServerClock {
    /// The smallest lag of the server's clock behind the recorder's clock so far, in milliseconds; `None` before the
    /// first report.
    behind: Option<u32>,
    /// The time of the last report. Later reports do not get an earlier time.
    last: Timestamp,
}

impl ServerClock {
    /// The time of a message with the server time `millis` (milliseconds) in a report that was read at `read`. A
    /// message to a client gets the beginning of the millisecond, a message to the server its end, so that the
    /// rounding never makes round trips longer.
    pub(super) fn time(&mut self, millis: u32, read: Timestamp, way: Direction) -> Timestamp {
        // The server's counter wraps at 32 bits, and so does the difference.
        let ahead = ((read.as_nanos() / MILLISECOND) as u32).wrapping_sub(millis);
        let behind = match self.behind {
            _ if ahead < SAME_CLOCK => 0,
            // The lag stays the smallest one so far. A lag outside this range is a new minimum, or the clock was set.
            Some(least) if ahead.wrapping_sub(least) < SAME_CLOCK => least,
            _ => ahead,
        };
        self.behind = Some(behind);
        let late = u64::from(ahead.wrapping_sub(behind));
        let begin = (read.as_nanos() / MILLISECOND).saturating_sub(late) * MILLISECOND;
        let time = match way {
            Direction::ToClient => begin,
            Direction::ToServer => begin + MILLISECOND - 1,
        };
        self.passed(Timestamp::from_nanos(time.min(read.as_nanos())));
        self.last
    }

    /// Sets the earliest time of all later messages.
    pub(super) fn passed(&mut self, time: Timestamp) {
        self.last = self.last.max(time);
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Direction, Timestamp};

    use super::ServerClock;

    fn micros(clock: &mut ServerClock, millis: u32, read: u64, way: Direction) -> u64 {
        let read = Timestamp::from_nanos(read * 1000);
        clock.time(millis, read, way).as_nanos() / 1000
    }

    #[test]
    fn late_reports_keep_the_server_time() {
        use Direction::{ToClient, ToServer};
        let mut clock = ServerClock::default();
        assert_eq!(micros(&mut clock, 5000, 5_100_700, ToClient), 5_000_000);
        assert_eq!(micros(&mut clock, 5001, 5_100_700, ToServer), 5_001_999);
        // The time is never later than the read.
        assert_eq!(micros(&mut clock, 5100, 5_100_700, ToServer), 5_100_700);
        // The server's counter has wrapped.
        let wraps = (1_u64 << 32) * 1000;
        assert_eq!(
            micros(&mut clock, u32::MAX, wraps + 1_200, ToClient),
            wraps - 1000
        );
    }

    #[test]
    fn clock_offset_is_the_smallest_observed() {
        let mut clock = ServerClock::default();
        let way = Direction::ToClient;
        assert_eq!(micros(&mut clock, 1_000, 90_000_300, way), 90_000_000);
        assert_eq!(micros(&mut clock, 1_050, 90_150_300, way), 90_050_000);
        assert_eq!(micros(&mut clock, 1_200, 90_199_900, way), 90_199_000);
        assert_eq!(micros(&mut clock, 1_300, 90_399_900, way), 90_299_000);
        // The clock was set back.
        assert_eq!(micros(&mut clock, 7, 120_000_000, way), 120_000_000);
    }
}
