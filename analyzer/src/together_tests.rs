//! Tests that coalesced requests have the same results as individual requests, to the twelfth digit of a sum.

use serde_json::Value;
use x11prof_cost_model::{Network, ServerParameters, Substitutions};
use x11prof_trace::{Control, HandlerTime, Record, Switch, SwitchKind, Timestamp};

use crate::episodes::{EpisodeOptions, Episodes, EpisodesReport};
use crate::pipeline::{Observation, Pipeline};
use crate::profile::groups::By;
use crate::profile::report::ProfileReport;
use crate::profile::{Profile, TimeSourceOption};
use crate::recording::trace_summary::TraceSummary;
use crate::roundtrips::{RoundTripOptions, RoundTrips};
use crate::stalls::report::StallsReport;
use crate::stalls::{FRAME_MS, Stalls};
use crate::statistics::Statistics;
use crate::statistics::report::StatisticsReport;
use crate::testing::*;

const COSTS: &str = r#"
format = 1
[server]
name = "test"
[transport]
wakeup = { cpu_us = 10.1 }
byte_read = { cpu_us = 0.0013 }
reply = { cpu_us = 1.7 }
event = { cpu_us = 1.3 }
after_sleep = [
    { asleep_us = 10, wakeup_us = 5.7, connection_us = 0 },
    { asleep_us = 1000, wakeup_us = 20.3, connection_us = 0 },
]
[[request]]
name = "NoOperation"
points = [{ size = 0.0, cpu_us = 0.013 }]
"#;
const WINDOW: u32 = BASE + 9;
/// The equal requests of each batch.
const RUNS: [u16; 5] = [1, 1, 2, 700, 3];

/// After its start-up, a client sends batches of equal requests, each between another request and one with a reply.
fn trace(timed: bool) -> Vec<Record> {
    let mut trace = Synthetic::new();
    for capture in ["switches", "clock"] {
        let pid = if capture == "switches" {
            SERVER_PID
        } else {
            CLIENT_PID
        };
        let capture = capture.to_owned();
        trace.control(Control::Capture {
            pid,
            capture,
            why: None,
        });
    }
    if timed {
        trace.control(Control::Timing {
            pid: SERVER_PID,
            why: None,
        });
    }
    let create = request(1, 8, &[WINDOW, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0]);
    let fill = request(70, 0, &[WINDOW, BASE + 2, 0, 10 | 10 << 16]);
    trace.client_sends(&[create, map_window(WINDOW), fill, get_input_focus()]);
    trace.wait(50).server_sends(&[reply(4)]);
    let (mut sequence, mut micros) = (4, 50);
    for equal in RUNS {
        let mut sent = vec![no_operation(2)];
        sent.extend(vec![no_operation(1); equal.into()]);
        sent.push(get_input_focus());
        trace.wait(300).client_sends(&sent);
        micros += 300;
        let at = |more: u64| Timestamp::from_nanos(1_000_000_000 + (micros + more) * 1000);
        let switch = |time, kind| Switch {
            time,
            pid: SERVER_PID,
            tid: SERVER_PID,
            cpu: 0,
            kind,
        };
        let run = [(at(1), SwitchKind::In), (at(45), SwitchKind::Blocked)];
        let run = run.map(|(time, kind)| switch(time, kind));
        trace.records.push(Record::Schedule(run.to_vec()));
        let handlers = [(1, 1, 130), (2, equal, 1700), (2 + equal, 1, 900)];
        let handlers = handlers.map(|(after, count, took_ns)| HandlerTime {
            start: at(2 + u64::from(after) / 100),
            took_ns,
            client: 1,
            sequence: sequence + after,
            count: count.into(),
        });
        if timed {
            trace.records.push(Record::HandlerTimes(handlers.to_vec()));
        }
        sequence += equal + 2;
        trace.wait(50).server_sends(&[reply(sequence)]);
        micros += 50;
    }
    trace.end();
    trace.records
}

/// The figures of all analyses, and the number of messages.
fn figures(records: &[Record], by: By, basis: TimeSourceOption, together: bool) -> (Value, u64) {
    let parameters = ServerParameters::from_toml(COSTS).unwrap();
    let rules = Substitutions::default();
    let profile = Profile::new(&parameters, &rules);
    let mut profile = profile.grouped(by).on(basis);
    let mut stalls = Stalls::new(&parameters, &rules, FRAME_MS);
    let mut statistics = Statistics::new(Vec::new());
    let mut episodes = Episodes::new(&EpisodeOptions::default());
    let mut round_trips = RoundTrips::new(&RoundTripOptions {
        link: Network::parse("none,30ms").ok(),
        ..RoundTripOptions::default()
    });
    let (mut pipeline, mut summary) = (Pipeline::new(), TraceSummary::default());
    if together {
        pipeline.take_together();
    }
    let mut messages = 0;
    pipeline.run_records(records.iter().cloned(), |observation| {
        messages += u64::from(matches!(observation, Observation::Message(_)));
        summary.observe(observation);
        profile.observe(observation);
        stalls.observe_with_cost(observation, profile.last_cost());
        statistics.observe(observation);
        episodes.observe(observation);
        round_trips.episodes(episodes.finished());
        round_trips.observe(observation);
    });
    profile.end();
    let episodes = EpisodesReport::new("test.mcap", &summary, &episodes.finish());
    let all = (
        ProfileReport::new("test.mcap", &summary, &profile, &Network::NONE),
        StallsReport::new(&stalls, &summary),
        StatisticsReport::new("test.mcap", &statistics, false),
        episodes,
        round_trips.finish("test.mcap"),
    );
    (serde_json::to_value(&all).unwrap(), messages)
}

/// Asserts that two trees of figures are equal. With coalesced requests, a sum of equal times is a product.
fn assert_equal(one: &Value, other: &Value, place: &str) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            assert!(one.keys().eq(other.keys()), "{place}");
            let both = one.iter().zip(other.values());
            both.for_each(|((name, one), other)| {
                assert_equal(one, other, &format!("{place}/{name}"))
            });
        }
        (Value::Array(one), Value::Array(other)) => {
            assert_eq!(one.len(), other.len(), "{place}");
            let both = one.iter().zip(other);
            both.for_each(|(one, other)| assert_equal(one, other, place));
        }
        _ => {
            // Deviations of equal values are rounding errors.
            let near = |(one, other): (f64, f64)| {
                let most = one.abs().max(other.abs());
                (one - other).abs() <= 1e-12 * most || most < 1e-7
            };
            let near = one.as_f64().zip(other.as_f64()).is_some_and(near);
            assert!(near || one == other, "{place}: {one} {other}");
        }
    }
}

#[test]
fn coalesced_requests_give_the_same_results() {
    for (timed, basis) in [
        (false, TimeSourceOption::Model),
        (false, TimeSourceOption::Measured),
        (true, TimeSourceOption::Timed),
    ] {
        let records = trace(timed);
        for by in [By::Client, By::Window] {
            let (one_by_one, all) = figures(&records, by, basis, false);
            let (together, messages) = figures(&records, by, basis, true);
            let saved: u64 = RUNS.iter().map(|equal| u64::from(*equal) - 1).sum();
            assert_eq!(messages, all - saved);
            assert_equal(&together, &one_by_one, &format!("{basis:?} {by:?}: "));
            assert_eq!(together.to_string().contains("\"timed\""), timed);
        }
    }
}
