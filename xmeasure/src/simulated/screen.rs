//! The simulated server's deferred work for screen changes.

use std::collections::HashMap;
use std::time::Duration;

use x11prof_cost_model::Deferred;

use super::server::Simulated;

/// The changes of the screen, and the time of the last update.
pub(crate) struct Shown {
    window: u32,
    /// The source of the pixels, by position.
    contents: HashMap<(i16, i16), (u32, i16, i16)>,
    /// Changed pixels that are not shown yet, redrawn pixels without a change, and the time of the first change.
    pixels: f64,
    same: f64,
    since: Option<Duration>,
    last: Option<Duration>,
}

/// A CopyArea (protocol, Encoding).
struct Copy {
    source: u32,
    to: u32,
    from: (i16, i16),
    place: (i16, i16),
    pixels: f64,
}

fn copies(bytes: &[u8]) -> impl Iterator<Item = Copy> {
    let request = |bytes: &[u8]| {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let half = |at: usize| i16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Copy {
            source: word(4),
            to: word(8),
            from: (half(16), half(18)),
            place: (half(20), half(22)),
            pixels: f64::from(half(24)) * f64::from(half(26)),
        }
    };
    let is_copy = bytes.first() == Some(&62);
    let requests = bytes.chunks_exact(28).map(request);
    requests
        .filter(move |_| is_copy)
        .collect::<Vec<_>>()
        .into_iter()
}

impl Shown {
    pub(super) fn new(window: u32) -> Shown {
        Shown {
            window,
            contents: HashMap::new(),
            pixels: 0.0,
            same: 0.0,
            since: None,
            last: None,
        }
    }

    /// Adds the screen changes of the requests.
    pub(super) fn change(&mut self, bytes: &[u8], now: Duration) {
        for copy in copies(bytes).filter(|copy| copy.to == self.window) {
            let (x, y) = copy.from;
            let content = (copy.source, x, y);
            let before = self.contents.insert(copy.place, content);
            match before == Some(content) {
                true => self.same += copy.pixels,
                false => self.pixels += copy.pixels,
            }
            self.since.get_or_insert(now);
        }
    }

    /// Shows the changes that are pending at `now`.
    pub(super) fn until(&mut self, now: Duration) {
        if self.since.take().is_some() {
            (self.pixels, self.same) = (0.0, 0.0);
            self.last = Some(now);
        }
    }
}

impl Simulated {
    fn deferred(&self) -> Option<Deferred> {
        self.truth.transport.as_ref()?.deferred
    }

    /// The cost, in microseconds, of the update of the changes, if it is due by `until`.
    pub(super) fn updates(&mut self, until: Duration) -> f64 {
        let (Some(deferred), Some(since)) = (self.deferred(), self.shown.since) else {
            return 0.0;
        };
        let micros = |time: f64| Duration::from_secs_f64(time / 1e6);
        let interval = micros(deferred.interval_us.0);
        let rested = self
            .shown
            .last
            .is_none_or(|last| since >= last + interval * 2);
        let due = match (rested, self.shown.last) {
            (true, _) => since + micros(deferred.first().0),
            (false, Some(last)) => since.max(last + interval),
            (false, None) => since,
        };
        if due > until {
            return 0.0;
        }
        let pixels = self.shown.pixels * deferred.pixel_us.0
            + self.shown.same * deferred.same_us.unwrap_or_default().0;
        self.shown.until(due);
        deferred.update_us.0 + pixels
    }
}
