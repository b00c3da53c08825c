//! The user-defined events: the resources that each type of event used.

use rustc_hash::FxHashMap;
use serde::Serialize;
use x11prof_trace::Timestamp;

use crate::episodes::findings::Findings;
use crate::episodes::user::instances::Resources;
use crate::text::units::{duration_ms, nanos_ms};

/// The sum, the mean and the standard deviation of a resource over the events of a type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ResourceUse {
    /// The sum over all events of the type.
    pub total: f64,
    /// The mean of the resource per event; null if there are no events.
    pub mean: Option<f64>,
    /// The sample standard deviation; null for fewer than two events.
    pub standard_deviation: Option<f64>,
}

/// The user-defined events of one type, with the resources that they used (Reiss, Figure 5).
#[derive(Debug, Clone, Serialize)]
pub struct EventTypeReport {
    /// The name of the type, as defined by the user.
    pub name: String,
    /// The kind of event, as named in the user's file.
    #[serde(rename = "type")]
    pub kind: String,
    /// The number of events of this type.
    pub count: u64,
    /// The beginning of the first event, in milliseconds since the trace's first record; null without events.
    pub start_ms: Option<f64>,
    /// The end of the last event, in milliseconds since the trace's first record; null without events.
    pub end_ms: Option<f64>,
    /// The time from the beginning to the end of an event, in milliseconds.
    pub time_ms: ResourceUse,
    /// The client's CPU time during an event, in milliseconds.
    pub client_ms: ResourceUse,
    /// The server's time for the requests of an event, in milliseconds; null without the server's context switches.
    pub server_ms: Option<ResourceUse>,
    /// The number of bytes of an event's requests.
    pub bytes: ResourceUse,
    /// The number of an event's requests.
    pub requests: ResourceUse,
    /// The number of an event's round trips.
    pub round_trips: ResourceUse,
    /// The number of resources that an event created on the server.
    pub allocated: ResourceUse,
    /// The number of bytes of the created resources.
    pub allocated_bytes: ResourceUse,
    /// The number of resources that were created and never freed.
    pub unfreed: ResourceUse,
    /// The number of bytes of the resources that were never freed.
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
    /// The types of user-defined events, in the order of the user's file.
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
