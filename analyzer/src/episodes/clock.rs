//! The server's clock: milliseconds in events, as points of the recording's time.

use x11prof_trace::Timestamp;

const MILLISECOND: u64 = 1_000_000;
/// A server whose time is this close to the delivery of its event uses the recording's own clock: X servers count the
/// milliseconds of CLOCK_MONOTONIC, and two unrelated clocks are that close once in four million times.
const SAME_CLOCK: u32 = 1000;
/// The maximum time that an event may have been in flight.
const OLDEST: u32 = 60_000;

/// The offset of the server's milliseconds from the recording's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerClock {
    same: bool,
    /// The least that delivery was ahead of the server's time so far, modulo 2³².
    least: Option<u32>,
}

impl ServerClock {
    /// The time of an event that was delivered at `delivered` with the server's time `millis`; the delivery time if
    /// the clocks cannot be aligned.
    pub(crate) fn happened(&mut self, millis: u32, delivered: Timestamp) -> Timestamp {
        let nanos = delivered.as_nanos();
        // CurrentTime is no time.
        if millis == 0 {
            return delivered;
        }
        // The server's counter wraps at 32 bits, and so does the difference.
        let ahead = ((nanos / MILLISECOND) as u32).wrapping_sub(millis);
        self.same |= ahead <= SAME_CLOCK;
        let least = match (self.same, self.least) {
            (true, _) => 0,
            (false, Some(least)) if ahead.wrapping_sub(least) <= OLDEST => least,
            // Nearer than any so far, or a clock that was set: it starts afresh.
            _ => ahead,
        };
        self.least = Some(least);
        let behind = ahead.wrapping_sub(least);
        if behind > OLDEST {
            return delivered;
        }
        let millis = (nanos / MILLISECOND).saturating_sub(u64::from(behind));
        // It was somewhere in that millisecond.
        let middle = millis * MILLISECOND + MILLISECOND / 2;
        Timestamp::from_nanos(middle.min(nanos))
    }
}
