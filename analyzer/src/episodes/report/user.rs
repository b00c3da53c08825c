//! The user-defined events: the resources used by each type.

use rustc_hash::FxHashMap;
use serde::Serialize;
use x11prof_trace::Timestamp;

use crate::episodes::findings::Findings;
use crate::episodes::user::instances::Resources;
use crate::text::units::{duration_ms, nanos_ms};

/// The sum, the mean and the standard deviation of a resource over the events of a type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ResourceUse {
    /// The sum over all events.
    pub total: f64,
    /// The mean per event; null if there are no events.
    pub mean: Option<f64>,
    /// The standard deviation of the sample; null for fewer than two.
    pub standard_deviation: Option<f64>,
}

/// The events of one type (Reiss, Figure 5).
#[derive(Debug, Clone, Serialize)]
pub struct EventTypeReport {
    /// The type's name, as defined by the user.
    pub name: String,
    /// The kind, from the user's file.
    #[serde(rename = "type")]
    pub kind: String,
    /// The number.
    pub count: u64,
    /// The beginning of the first event, since the trace's first record; null if there are no events.
    pub start_ms: Option<f64>,
    /// The end of the last event.
    pub end_ms: Option<f64>,
    /// The time from beginning to end, in milliseconds.
    pub time_ms: ResourceUse,
    /// The client's processor time.
    pub client_ms: ResourceUse,
    /// The server's time for the event; null without its context switches.
    pub server_ms: Option<ResourceUse>,
    /// Bytes of requests.
    pub bytes: ResourceUse,
    /// Requests.
    pub requests: ResourceUse,
    /// Round trips.
    pub round_trips: ResourceUse,
    /// Resources created on the server.
    pub allocated: ResourceUse,
    /// Bytes of the created resources.
    pub allocated_bytes: ResourceUse,
    /// Resources that were created and never freed.
    pub unfreed: ResourceUse,
    /// Bytes of the resources that were never freed.
    pub unfreed_bytes: ResourceUse,
}

impl ResourceUse {
    fn of(values: &[f64]) -> ResourceUse {
        let count = values.len() as f64;
        let total = values.iter().fold(0.0, |sum, value| sum + value);
        let mean = (!values.is_empty()).then(|| total / count);
        let square = |value: &f64| (value - mean.unwrap_or_default()).powi(2);
        let squares: f64 = values.iter().map(square).sum();
        ResourceUse {
            total,
            mean,
            standard_deviation: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
        }
    }
}

impl EventTypeReport {
    /// The types in the order of the file.
    pub(super) fn all(findings: &Findings, first: Timestamp) -> Vec<EventTypeReport> {
        let instances = &findings.user;
        let unfreed = instances.unfreed();
        let mut by_type: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (number, one) in instances.all.iter().enumerate() {
            by_type.entry(one.of).or_default().push(number);
        }
        let definitions = instances.definitions().0.iter().enumerate();
        let one = |(of, definition): (usize, &crate::episodes::EventDefinition)| {
            let numbers = by_type.get(&of).map_or(&[][..], Vec::as_slice);
            let used = |what: &dyn Fn(&Resources) -> f64| {
                let of = numbers
                    .iter()
                    .filter_map(|number| instances.all.get(*number));
                ResourceUse::of(&of.map(|one| what(&one.used)).collect::<Vec<_>>())
            };
            let left = |what: &dyn Fn(&(u64, u64)) -> u64| {
                let of = numbers
                    .iter()
                    .map(|number| unfreed.get(number).map_or(0, what));
                ResourceUse::of(&of.map(|count| count as f64).collect::<Vec<_>>())
            };
            let of = || {
                numbers
                    .iter()
                    .filter_map(|number| instances.all.get(*number))
            };
            let since = |nanos: u64| duration_ms(Timestamp::from_nanos(nanos).since(first));
            EventTypeReport {
                name: definition.name.clone(),
                kind: definition.kind.clone(),
                count: numbers.len() as u64,
                start_ms: of().map(|one| one.start).min().map(since),
                end_ms: of().map(|one| one.end).max().map(since),
                time_ms: used(&|one| nanos_ms(one.time)),
                client_ms: used(&|one| nanos_ms(one.client)),
                server_ms: instances
                    .knows_server()
                    .then(|| used(&|one| nanos_ms(one.server))),
                bytes: used(&|one| one.bytes as f64),
                requests: used(&|one| one.requests as f64),
                round_trips: used(&|one| one.round_trips as f64),
                allocated: used(&|one| one.made as f64),
                allocated_bytes: used(&|one| one.made_bytes as f64),
                unfreed: left(&|of| of.0),
                unfreed_bytes: left(&|of| of.1),
            }
        };
        definitions.map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ResourceUse;

    #[test]
    fn sum_mean_and_standard_deviation() {
        let of = |values: &[f64]| {
            let all = ResourceUse::of(values);
            (all.total, all.mean, all.standard_deviation)
        };
        assert_eq!(of(&[]), (0.0, None, None));
        assert_eq!(of(&[4.0]), (4.0, Some(4.0), None));
        assert_eq!(of(&[2.0, 4.0, 6.0]), (12.0, Some(4.0), Some(2.0)));
    }
}
