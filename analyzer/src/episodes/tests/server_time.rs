//! The server time of user-defined events.

use super::*;
use crate::episodes::report::EpisodesReport;
use crate::episodes::{EventDefinitions, EventTypeReport};
use crate::recording::trace_summary::TraceSummary;
use x11prof_trace::HandlerTime;

use super::super::user::instances::Instances;
use super::devices::button;

const KEYS: &str =
    "format = 1\n[[event]]\nname = \"Key\"\ntype = \"input\"\nstart = { event = \"KeyPress\" }\n";

fn keys(trace: &Synthetic) -> EventTypeReport {
    let options = EpisodeOptions {
        events: EventDefinitions::parse(KEYS).unwrap(),
        ..EpisodeOptions::default()
    };
    let findings = findings(trace, &options);
    let report = EpisodesReport::new("", &TraceSummary::default(), &findings);
    report.events.into_iter().next().expect("a type")
}

/// Two keys. After each, the client draws without waiting.
fn typed(switches: bool) -> Scheduled {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    if switches {
        all.trace.control(Control::Capture {
            pid: SERVER_PID,
            capture: "switches".to_owned(),
            why: None,
        });
        all.switch(SERVER_PID, 2 * MS, Blocked);
    }
    for (press, runs) in [(100, 3), (300, 5)] {
        all.at(press * MS)
            .server_sends(&[key_press(1, 999 + press as u32)]);
        all.client(press * MS + 100, In);
        all.at((press + 4) * MS)
            .client_sends(&[poly_fill_rectangle(3)]);
        all.client((press + 4) * MS + 20, Blocked);
        all.waits((press + 4) * MS + 20, POLL);
        if switches {
            all.server((press + 4) * MS + 50, (press + 4 + runs) * MS + 50);
        }
    }
    if switches {
        // Unattributed.
        all.server(600 * MS, 640 * MS);
    }
    all.at(900 * MS).end();
    all
}

#[test]
fn server_runs_are_attributed_to_the_sending_client() {
    let server = keys(&typed(true).trace).server_ms.expect("it is known");
    assert_eq!((server.total, server.mean), (8.0, Some(4.0)));
}

/// Seconds of the analysis of keys that the server, which runs all the time, does not complete.
fn busy_server_seconds(keys: u64) -> f64 {
    let mut all = Scheduled::new();
    all.switch(SERVER_PID, 2 * MS, SwitchKind::In);
    for press in 10..10 + keys {
        all.at(press * MS)
            .server_sends(&[key_press(1, 999 + press as u32)]);
        all.at(press * MS + 500)
            .client_sends(&[poly_fill_rectangle(3)]);
    }
    let last = (keys + 20) * MS;
    all.at(last).end();
    let begun = std::time::Instant::now();
    let found = findings(&all.trace, &EpisodeOptions::default());
    let seconds = begun.elapsed().as_secs_f64();
    assert!(found.count() > keys / 2);
    seconds
}

#[test]
fn analysis_time_is_linear_if_the_server_never_waits() {
    // Eight times the keys. A walk over all of them at each event would take 64 times the time.
    let (few, many) = (busy_server_seconds(500), busy_server_seconds(4000));
    assert!(many < few * 24.0, "{few} s, {many} s");
}

#[test]
fn without_server_switches_server_time_is_unknown() {
    let keys = keys(&typed(false).trace);
    assert_eq!((keys.count, keys.server_ms), (2, None));
}

#[test]
fn handler_times_give_server_time_of_events() {
    let mut trace = typed(true).trace;
    let timing = Control::Timing {
        pid: SERVER_PID,
        why: None,
    };
    // After the server's record, before the client.
    trace
        .records
        .insert(2, Record::Control(Timestamp::from_nanos(0), timing));
    for (micros, sequence, took_ns) in [(104_060, 2, 1_234_567), (304_060, 3, 2_000_003)] {
        trace.records.push(Record::HandlerTimes(vec![HandlerTime {
            start: Timestamp::from_nanos(1_000_000_000 + micros * 1000),
            took_ns,
            client: (BASE >> 21) as u16,
            sequence,
            count: 1,
        }]));
    }
    let server = keys(&trace).server_ms.expect("it is known");
    assert_eq!((server.total * 1e6).round(), 3_234_570.0);
}

#[test]
fn event_instances_do_not_depend_on_episode_order() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    for (kind, millis) in [(4, 100), (5, 300)] {
        all.at(millis * MS)
            .server_sends(&[button(kind, 1, 999 + millis as u32)]);
        all.client(millis * MS + 100, In);
        all.at((millis + 4) * MS)
            .client_sends(&[poly_fill_rectangle(3)]);
        all.client((millis + 4) * MS + 20, Blocked);
        all.waits((millis + 4) * MS + 20, POLL);
    }
    all.at(900 * MS).end();
    let held = "format = 1\n[[event]]\nname = \"Held\"\nstart = { event = \"ButtonPress\" }\n\
                end = { event = \"ButtonRelease\" }\n";
    let options = EpisodeOptions {
        events: EventDefinitions::parse(held).unwrap(),
        ..EpisodeOptions::default()
    };
    let mut episodes = Episodes::new(&options);
    let mut settled = Vec::new();
    Pipeline::new().run_records(all.trace.records, |observation| {
        episodes.observe(observation);
        settled.extend(episodes.settled().cloned());
    });
    episodes.end();
    settled.extend(episodes.settled().cloned());
    let times = [false, true].map(|reversed| {
        let mut instances = Instances::new(options.events.clone());
        match reversed {
            false => settled.iter().for_each(|one| instances.add(one)),
            true => settled.iter().rev().for_each(|one| instances.add(one)),
        }
        instances.finish(Timestamp::from_nanos(2_000_000_000));
        let times = instances.all.iter().map(|one| one.used.time / 1_000_000);
        times.collect::<Vec<_>>()
    });
    assert_eq!(times, [[200], [200]]);
}
