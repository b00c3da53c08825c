//! The handler times of requests, which the server measures: a server that `x11prof` started writes the duration of
//! each request handler into shared memory.

use x11prof_trace::HandlerTime;

use crate::sampling::statistics::midmean;

/// The handler times of a phase in one pass, in microseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Handled {
    /// The time of one request, by the index of its kind.
    pub(crate) warm: Vec<f64>,
    /// The time of the first request of the phase. Other loads ran before, so the code and the data of the request are
    /// not in the caches.
    pub(crate) cold: f64,
}

impl Handled {
    /// Computes the times of a phase from the times `each` of its requests, which alternate between `kinds` kinds. The
    /// time of a kind is the mean of the middle half of its times, because interrupted requests take far longer than
    /// other requests. `None` without times.
    pub(crate) fn new(each: &[f64], kinds: usize) -> Option<Handled> {
        let of_kind = |kind| midmean(each.iter().skip(kind).step_by(kinds).copied());
        Some(Handled {
            warm: (0..kinds).map(of_kind).collect::<Option<_>>()?,
            cold: *each.first().filter(|time| time.is_finite())?,
        })
    }
}

/// True if `times` contains the time of the request `sequence` of the client with index `client`.
pub(crate) fn contains(times: &[HandlerTime], client: u16, sequence: u16) -> bool {
    let covers = |time: &HandlerTime| {
        time.client == client && u32::from(sequence.wrapping_sub(time.sequence)) < time.count
    };
    times.iter().any(covers)
}

/// The handler times of `count` requests of the client with index `client`, from sequence number `first` on, in
/// microseconds; NaN for a request without a time. If several short requests have a common time, each of them has the
/// mean.
pub(crate) fn by_request(times: &[HandlerTime], client: u16, first: u16, count: usize) -> Vec<f64> {
    let mut each = vec![f64::NAN; count];
    for time in times.iter().filter(|time| time.client == client) {
        let start = usize::from(time.sequence.wrapping_sub(first));
        let mean = time.took_ns as f64 / f64::from(time.count.max(1)) / 1e3;
        let requests = each.iter_mut().skip(start).take(time.count as usize);
        requests.for_each(|each| *each = mean);
    }
    each
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{HandlerTime, Timestamp};

    use super::{Handled, by_request, contains};

    fn time(client: u16, sequence: u16, count: u32, took_ns: u64) -> HandlerTime {
        HandlerTime {
            start: Timestamp::from_nanos(0),
            took_ns,
            client,
            sequence,
            count,
        }
    }

    #[test]
    fn entries_are_assigned_across_sequence_wraparound() {
        let times = [
            time(3, 65534, 3, 6000),
            time(4, 65535, 1, 999),
            time(3, 1, 1, 5000),
        ];
        let each = by_request(&times, 3, 65535, 4);
        assert_eq!(each[2], 5.0);
        // The first entry begins before the batch, so the times of its requests are unknown.
        assert!(each[0].is_nan() && each[1].is_nan() && each[3].is_nan());
        assert_eq!(by_request(&times, 3, 65534, 4), [2.0, 2.0, 2.0, 5.0]);
        assert!(contains(&times, 3, 0) && !contains(&times, 4, 0));
    }

    #[test]
    fn interrupted_requests_are_excluded() {
        let mut each = vec![1.0; 20];
        (each[0], each[5], each[7]) = (3.0, 900.0, f64::NAN);
        let handled = Handled::new(&each, 1).unwrap();
        assert_eq!((handled.warm, handled.cold), (vec![1.0], 3.0));
        let two = Handled::new(&[1.0, 2.0].repeat(6), 2).unwrap();
        assert_eq!(two.warm, [1.0, 2.0]);
        assert_eq!(Handled::new(&[f64::NAN], 1), None);
    }
}
