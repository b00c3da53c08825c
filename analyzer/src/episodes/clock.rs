//! Converts times of the server's clock (milliseconds in events) to times of the recording.

use x11prof_trace::Timestamp;

const MILLISECOND: u64 = 1_000_000;
/// If an event is delivered at most this many milliseconds after its server time, the server uses the recording's
/// clock: X servers count the milliseconds of CLOCK_MONOTONIC, and two unrelated clocks are this close only once in
/// four million cases.
const SAME_CLOCK: u32 = 1000;
/// The maximum time that an event may have been in flight, in milliseconds. A larger difference means that the clocks
/// differ.
const OLDEST: u32 = 60_000;

/// The offset between the server's clock and the recording's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerClock {
    same: bool,
    /// The minimum difference so far between delivery time and server time, in milliseconds modulo 2³²; `None` before
    /// the first event.
    least: Option<u32>,
}

impl ServerClock {
    /// Returns the recording's time of an event that was delivered at `delivered` and has the server time `millis`
    /// (milliseconds). Returns the delivery time if the clocks cannot be aligned.
    pub(crate) fn happened(&mut self, millis: u32, delivered: Timestamp) -> Timestamp {
        let nanos = delivered.as_nanos();
        // CurrentTime is no time.
        if millis == 0 {
            return delivered;
        }
        // The server's counter wraps at 32 bits, so the difference wraps too.
        let ahead = ((nanos / MILLISECOND) as u32).wrapping_sub(millis);
        self.same |= ahead <= SAME_CLOCK;
        let least = match (self.same, self.least) {
            (true, _) => 0,
            (false, Some(least)) if ahead.wrapping_sub(least) <= OLDEST => least,
            // Closer than any earlier event, or the clock was set: restart from this value.
            _ => ahead,
        };
        self.least = Some(least);
        let behind = ahead.wrapping_sub(least);
        if behind > OLDEST {
            return delivered;
        }
        let millis = (nanos / MILLISECOND).saturating_sub(u64::from(behind));
        // The event happened at an unknown time within that millisecond.
        let middle = millis * MILLISECOND + MILLISECOND / 2;
        Timestamp::from_nanos(middle.min(nanos))
    }
}
