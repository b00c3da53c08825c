//! The common saving of all advice: findings overlap, and each round trip is saved once.

use std::collections::HashSet;

use x11prof_protocol::SequenceNumber;
use x11prof_trace::ConnectionId;

use super::insights::Finding;

/// The saving of a finding beyond those before it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Beyond {
    pub(super) round_trips: u64,
    pub(super) nanos: u64,
}

/// Requests that earlier findings save: round trips as a whole, and time of waiting.
#[derive(Debug, Default)]
pub(super) struct Together {
    round_trips: HashSet<(ConnectionId, SequenceNumber)>,
    shortened: HashSet<(ConnectionId, SequenceNumber)>,
}

impl Together {
    /// Takes the next finding.
    pub(super) fn add(&mut self, finding: &Finding) -> Beyond {
        let (saves, client) = (&finding.saves, finding.client);
        let all = saves.waits.len();
        if all == 0 {
            return Beyond {
                round_trips: saves.round_trips,
                nanos: saves.nanos,
            };
        }
        let new = |known: &mut HashSet<_>| {
            let requests = saves.waits.iter();
            let new = requests.filter(|request| known.insert((client, **request)));
            new.count() as f64 / all as f64
        };
        let round_trips = match saves.round_trips {
            0 => 0.0,
            many => many as f64 * new(&mut self.round_trips),
        };
        Beyond {
            round_trips: round_trips.round() as u64,
            nanos: (saves.nanos as f64 * new(&mut self.shortened)) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::pipeline::Pipeline;
    use crate::roundtrips::{RoundTripOptions, RoundTrips};
    use crate::testing::*;

    #[test]
    fn a_round_trip_is_saved_once() {
        let mut trace = Synthetic::new();
        let extension = |name: u32| request(98, 0, &[4, name]);
        // Three extensions one after the other, which two kinds of advice are about; one of them twice more.
        for (number, name) in (1..).zip([1, 2, 3, 3, 3]) {
            trace.wait(10).client_sends(&[extension(name)]);
            trace.wait(50).server_sends(&[reply(number)]);
        }
        let mut found = RoundTrips::new(&RoundTripOptions {
            rtt_ms: 10.0,
            client: None,
            start_up: false,
        });
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            found.observe(observation);
        });
        let report = found.finish("it");
        let adds: Vec<_> = report
            .suggestions
            .iter()
            .map(|one| (one.kind.as_str(), one.round_trips, one.adds_round_trips))
            .collect();
        assert_eq!(
            adds,
            [("extensions", 4, 4), ("duplicates", 2, 0), ("serial", 2, 0)]
        );
        let total = &report.total;
        assert_eq!((total.round_trips, total.round_trips_after), (5, 1));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        near(total.before_ms, 50.25);
        near(total.after_ms, 10.05);
        let fixes: Vec<_> = report
            .suggestions
            .iter()
            .map(|one| one.fix.as_deref())
            .collect();
        assert_eq!(fixes, [None, Some("answer-queries"), None]);
    }
}
