//! Small traces with exact results.

use x11prof_cost_model::{Clock, Micros, Network, ServerParameters, Substitutions};
use x11prof_server_model::TransportPart;
use x11prof_trace::{Control, Direction, Reader, Record, Switch, SwitchKind, Timestamp};

use crate::clients::ClientChoice;
use crate::comparisons::comparison::Comparison;
use crate::forecast::ForecastCause;
use crate::profile::report::ProfileReport;
use crate::profile::{Profile, profile_trace};
use crate::recording::trace_summary::identity;
use crate::recording::warnings::WarningKind;
use crate::testing::*;

/// Two requests with individual costs, and transport with round figures.
const TINY: &str = r#"
format = 1

[server]
name = "tiny"

[transport]
wakeup = { cpu_us = 10.0 }
byte_read = { cpu_us = 0.01 }
reply = { cpu_us = 3.0 }
event = { cpu_us = 1.0 }

[[request]]
name = "NoOperation"
points = [{ size = 0.0, cpu_us = 0.5 }]

[[request]]
name = "GetInputFocus"
points = [{ size = 0.0, cpu_us = 2.0, spread = 0.5 }]
"#;

fn profile() -> Profile {
    let parameters = ServerParameters::from_toml(TINY).unwrap();
    Profile::new(&parameters, &Substitutions::default())
}

fn report(trace: &Synthetic, network: &str) -> ProfileReport {
    let mut profile = profile();
    let summary = trace.run(&mut profile);
    ProfileReport::new(
        "tiny.mcap",
        &summary,
        &profile,
        &Network::parse(network).unwrap(),
    )
}

/// Ten NoOperation in one batch, a round trip, an Expose, and a request without cost data.
fn small() -> Synthetic {
    let mut trace = Synthetic::new();
    trace
        .cpu_time(SERVER_PID, 5_000)
        .cpu_time(CLIENT_PID, 1_000);
    trace.wait(1000).client_sends(&vec![no_operation(1); 10]);
    trace
        .wait(1000)
        .client_sends(&[get_input_focus()])
        .wait(50)
        .server_sends(&[reply(11)]);
    trace
        .wait(1000)
        .client_sends(&[map_window(ROOT)])
        .wait(50)
        .server_sends(&[expose(12)]);
    trace
        .cpu_time(SERVER_PID, 5_060)
        .cpu_time(CLIENT_PID, 1_500)
        .end();
    trace
}

#[test]
fn amounts_are_exact_and_totals_add_up() {
    let report = report(&small(), "1KB/s,20ms");
    let line = |name: &str| {
        report
            .requests
            .iter()
            .find(|line| line.name == name)
            .unwrap()
    };

    let noop = line("NoOperation");
    assert_eq!((noop.count, noop.bytes, noop.blocking), (10, 40, 0));
    assert_eq!(
        (noop.server_ms, noop.network_ms, noop.time_ms),
        (0.005, 40.0, 40.005)
    );
    assert_eq!((noop.exact, noop.no_cost), (10, 0));
    // One wake-up, and reading 40 bytes.
    assert_eq!(noop.transport_ms, 0.0104);

    let focus = line("GetInputFocus");
    assert_eq!(
        (focus.server_ms, focus.network_ms, focus.time_ms),
        (0.002, 24.0, 24.002)
    );
    assert_eq!((focus.low_ms, focus.high_ms), (24.001, 24.003));
    assert_eq!((focus.blocking, focus.transport_ms), (1, 0.01304));

    let map = line("MapWindow");
    assert_eq!((map.server_ms, map.network_ms, map.no_cost), (0.0, 8.0, 1));

    // The setup of 12 bytes also wakes the server; 12 + 80 bytes of it are transferred.
    let transport = &report.transport;
    assert_eq!(
        (transport.wakeups, transport.replies, transport.events),
        (4, 1, 1)
    );
    assert_eq!(
        (transport.bytes, transport.network_ms),
        (12 + 80 + 32 + 32, 156.0)
    );
    assert_eq!((transport.wakeup_ms, transport.read_ms), (0.04, 0.00064));
    assert_eq!((transport.reply_ms, transport.event_ms), (0.003, 0.001));
    assert_eq!(transport.server_ms, 0.04464);

    let total = &report.total;
    let sum =
        |part: fn(&crate::RequestReport) -> f64| -> f64 { report.requests.iter().map(part).sum() };
    assert_eq!((total.count, total.bytes, total.no_cost), (12, 52, 1));
    assert!((total.time_ms - sum(|line| line.time_ms) - transport.time_ms).abs() < 1e-9);
    assert!((total.server_ms - sum(|line| line.server_ms) - transport.server_ms).abs() < 1e-9);
    assert!((total.network_ms - sum(|line| line.network_ms) - transport.network_ms).abs() < 1e-9);
    assert!((total.server_ms + total.network_ms - total.time_ms).abs() < 1e-9);
    let caused: Vec<f64> = report.requests.iter().map(|line| line.charged_ms).collect();
    assert!(caused.is_sorted_by(|a, b| a >= b), "{caused:?}");
    let shares = sum(|line| line.percent_of_time) + transport.percent_of_time;
    assert!((shares - 100.0).abs() < 1e-9);

    assert_eq!(
        (total.server_cpu_ms, total.client_cpu_ms),
        (Some(0.06), Some(0.5))
    );
    assert_eq!(total.wall_ms, 3.1);
    assert_eq!(
        (report.server.name.as_str(), report.server.clock),
        ("tiny", Some(Clock::Cpu))
    );
    assert!(report.trace.complete);
    let connection = &report.trace.connections[0];
    assert_eq!((connection.requests, connection.last_sequence), (12, 12));
}

#[test]
fn critical_path_causes_are_network_time() {
    let cause = |name: &str, ms| ForecastCause {
        kind: "bytes-to-server".to_owned(),
        name: name.to_owned(),
        client: "client 1".to_owned(),
        connection: 1,
        count: 1,
        ms,
    };
    let causes = [cause("GetInputFocus", 20.0), cause("setup", 5.0)];
    let network = Network::parse("1KB/s,20ms").unwrap();
    let before = report(&small(), "none");
    let report = report(&small(), "none").over(&network, &causes);
    let of = |name: &str| report.requests.iter().find(|line| line.name == name);
    let focus = of("GetInputFocus").unwrap();
    assert_eq!(focus.network_ms, 20.0);
    assert_eq!(focus.time_ms, focus.server_ms + 20.0);
    assert_eq!(of("NoOperation").unwrap().network_ms, 0.0);
    let (transport, total) = (&report.transport, &report.total);
    assert_eq!((transport.network_ms, total.network_ms), (5.0, 25.0));
    assert!((total.time_ms - before.total.time_ms - 25.0).abs() < 1e-9);
    assert_eq!(report.network.model.as_deref(), Some("simulated"));
}

#[test]
fn file_and_records_give_the_same_report() {
    let file = small().file();
    let mut profiles = [profile()];
    let summary = profile_trace(&mut Reader::new(&file[..]).unwrap(), &mut profiles).unwrap();
    let network = Network::parse("1KB/s,20ms").unwrap();
    let from_file = ProfileReport::new("tiny.mcap", &summary, &profiles[0], &network);
    assert_eq!(from_file, report(&small(), "1KB/s,20ms"));

    let server = identity(&mut Reader::new(&file[..]).unwrap()).unwrap();
    assert_eq!(server.unwrap().pid, Some(SERVER_PID));
}

#[test]
fn json_keeps_its_fields() {
    let report = report(&small(), "100KB/s,10ms");
    insta::assert_snapshot!("small_json", serde_json::to_string_pretty(&report).unwrap());
}

#[test]
fn comparison_applies_every_cost_table_in_one_pass() {
    let slow = TINY
        .replace("\"tiny\"", "\"slow\"")
        .replace("0.5 }]", "50.0 }]");
    let slow = slow.replace("GetInputFocus", "MapWindow");
    let mut profiles = [TINY, &slow].map(|text| {
        let parameters = ServerParameters::from_toml(text).unwrap();
        Profile::new(&parameters, &Substitutions::default())
    });
    let summary = profiles.each_mut().map(|profile| small().run(profile));
    let network = Network::parse("none").unwrap();
    let reports: Vec<ProfileReport> = (profiles.iter().zip(&summary))
        .map(|(profile, summary)| ProfileReport::new("tiny.mcap", summary, profile, &network))
        .collect();
    let comparison = Comparison::new(&reports);
    insta::assert_snapshot!(
        "comparison_json",
        serde_json::to_string_pretty(&comparison).unwrap()
    );
}

#[test]
fn comparison_rows_add_up_and_missing_costs_are_not_zero() {
    let from = TINY.find("[transport]").unwrap();
    let to = TINY.find("[[request]]").unwrap();
    let mute = TINY.replace(&TINY[from..to], "");
    let mut profiles = [TINY, &mute].map(|text| {
        let parameters = ServerParameters::from_toml(text).unwrap();
        Profile::new(&parameters, &Substitutions::default())
    });
    let summary = profiles.each_mut().map(|profile| small().run(profile));
    let network = Network::parse("none").unwrap();
    let reports: Vec<ProfileReport> = (profiles.iter().zip(&summary))
        .map(|(profile, summary)| ProfileReport::new("tiny.mcap", summary, profile, &network))
        .collect();
    let comparison = Comparison::new(&reports);
    for (at, of) in comparison.servers.iter().enumerate() {
        let rows = comparison.requests.iter();
        let rows: f64 = rows.map(|row| row.servers[at].charged_ms).sum();
        assert!(rows <= of.total_ms + 1e-9, "{rows} {of:?}");
        assert!(of.low_ms <= of.total_ms && of.total_ms <= of.high_ms);
    }
    assert!(comparison.servers[0].transport_ms > Some(0.0));
    assert_eq!(comparison.servers[1].transport_ms, None);
}

/// A replay adds requests of its own.
#[test]
fn comparison_counts_the_requests_of_the_first_report() {
    let first = report(&small(), "none");
    let mut other = first.clone();
    other.requests[0].name = "Added".to_owned();
    let comparison = Comparison::new(&[first.clone(), other]);
    let counts = comparison.requests.iter().map(|request| request.count);
    assert_eq!(counts.sum::<u64>(), first.total.count);
}

#[test]
fn pipelined_request_does_not_block() {
    let mut trace = Synthetic::new();
    trace
        .wait(100)
        .client_sends(&[get_input_focus(), get_input_focus()]);
    trace.wait(50).server_sends(&[reply(1), reply(2)]).end();
    let mut profile = profile();
    trace.run(&mut profile);
    assert_eq!(profile.line("GetInputFocus".into()).unwrap().blocking, 1);
}

#[test]
fn request_without_reply_is_no_round_trip() {
    let mut trace = Synthetic::new();
    trace.wait(100).client_sends(&[get_input_focus()]);
    let mut profile = profile();
    let summary = trace.run(&mut profile);
    assert_eq!(profile.line("GetInputFocus".into()).unwrap().blocking, 0);
    assert!(
        summary
            .warnings(&ClientChoice::default())
            .iter()
            .any(|warning| warning.kind == WarningKind::Incomplete)
    );
}

/// The last clock reading may be long before the end of a truncated recording.
#[test]
fn server_cpu_time_continues_after_its_last_clock_reading() {
    let mut trace = Synthetic::new();
    trace.cpu_time(SERVER_PID, 5_000);
    trace.wait(10).cpu_time(SERVER_PID, 5_060);
    let switch = |micros: u64, kind| Switch {
        time: Timestamp::from_nanos(1_000_000_000 + micros * 1000),
        pid: SERVER_PID,
        tid: SERVER_PID,
        cpu: 0,
        kind,
    };
    let runs = vec![
        switch(100, SwitchKind::In),
        switch(140, SwitchKind::Blocked),
    ];
    trace.records.push(Record::Schedule(runs));
    let report = report(&trace, "none");
    assert_eq!(report.total.server_cpu_ms, Some(0.1));
}

#[test]
fn client_that_keeps_running_is_not_blocked() {
    let mut trace = Synthetic::new();
    trace.control(Control::Capture {
        pid: CLIENT_PID,
        capture: "switches".to_owned(),
        why: None,
    });
    let runs = Switch {
        time: Timestamp::from_nanos(1_000_001_000),
        pid: CLIENT_PID,
        tid: CLIENT_PID,
        cpu: 0,
        kind: SwitchKind::In,
    };
    trace.records.push(Record::Schedule(vec![runs]));
    trace.wait(20).client_sends(&[get_input_focus()]);
    trace.wait(80).server_sends(&[reply(1)]).end();
    let mut profile = profile();
    trace.run(&mut profile);
    assert_eq!(profile.line("GetInputFocus".into()).unwrap().blocking, 0);
}

#[test]
fn batches_to_a_busy_server_do_not_wake_it() {
    let mut trace = Synthetic::new();
    // 100 of these requests keep the server busy for at least 50 µs.
    trace.wait(1000).client_sends(&vec![no_operation(1); 100]);
    trace.wait(20).client_sends(&[no_operation(1)]);
    trace.wait(1000).client_sends(&[no_operation(1)]);
    let mut profile = profile();
    trace.run(&mut profile);
    // The setup, the first and the last.
    assert_eq!(profile.transport(TransportPart::Wakeup).count, 3);
}

#[test]
fn cold_costs_after_a_sleep_are_separate() {
    const COSTS: &str = r#"
format = 1
[server]
name = "cold"
[transport]
wakeup = { cpu_us = 10 }
byte_read = { cpu_us = 0.125 }
reply = { cpu_us = 1 }
event = { cpu_us = 1 }
after_sleep = [
    { asleep_us = 10, wakeup_us = 5, connection_us = 0, megapixel_us = 0 },
    { asleep_us = 1000, wakeup_us = 20, connection_us = 0, megapixel_us = 1e6 },
]
[[request]]
name = "PolyFillRectangle"
points = [{ size = 0.0, cpu_us = 0.5 }]
"#;
    let parameters = ServerParameters::from_toml(COSTS).unwrap();
    let mut profile = Profile::new(&parameters, &Substitutions::default());
    let mut trace = Synthetic::new();
    trace
        .wait(10)
        .client_sends(&[poly_fill_rectangle(1), poly_fill_rectangle(1)]);
    trace
        .wait(2000)
        .client_sends(&[poly_fill_rectangle(1), no_operation(1)]);
    trace.run(&mut profile);
    // The first request of all, and the first one after the sleep.
    let cold = profile.transport(TransportPart::Cold);
    assert_eq!((cold.count, cold.server.time), (2, Micros(200.0)));
    let read = profile.transport(TransportPart::Read).server.time;
    assert_eq!(read, Micros(3.0 * 20.0 * 0.125 + 0.5));
}

#[test]
fn failed_request_uses_its_fixed_cost_only() {
    const COSTS: &str = r#"
format = 1
[server]
name = "fixed"
[[request]]
name = "NoOperation"
fixed = { cpu_us = 0.25 }
points = [{ size = 0.0, cpu_us = 0.5 }]
"#;
    let parameters = ServerParameters::from_toml(COSTS).unwrap();
    let mut profile = Profile::new(&parameters, &Substitutions::default());
    let mut trace = Synthetic::new();
    trace.wait(10).client_sends(&vec![no_operation(1); 3]);
    trace.wait(10).server_sends(&[bad_window(2, 127)]);
    // The request cannot fail twice, nor after a later reply.
    trace
        .wait(10)
        .server_sends(&[bad_window(2, 127), reply(3), bad_window(1, 127)]);
    trace.run(&mut profile);
    let line = profile.line("NoOperation".into()).unwrap();
    assert_eq!(line.count, 3);
    assert!(
        (line.server.time.0 - 1.25).abs() < 1e-12,
        "{:?}",
        line.server
    );
    assert_eq!(profile.transport(TransportPart::Error).bytes, 96);
}

#[test]
fn replies_to_missing_requests_are_reported() {
    let mut trace = Synthetic::new();
    trace.wait(10).client_sends(&[get_input_focus()]);
    trace.wait(10).server_sends(&[reply(1), reply(5)]).end();
    let mut profile = profile();
    let summary = trace.run(&mut profile);
    assert_eq!(summary.connections()[0].last_sequence, 5);
    let missing = summary
        .warnings(&ClientChoice::default())
        .into_iter()
        .find(|warning| warning.kind == WarningKind::MissingRequest);
    assert_eq!(missing.unwrap().count, 4);
}

#[test]
fn bytes_after_a_gap_are_counted_as_lost() {
    let mut trace = Synthetic::new();
    trace.wait(10).client_sends(&[no_operation(1)]);
    let lost = trace.records.len();
    trace
        .wait(10)
        .client_sends(&[no_operation(3)])
        .client_sends(&[no_operation(4)])
        .end();
    trace.records.remove(lost);
    let mut profile = profile();
    let summary = trace.run(&mut profile);
    assert_eq!(profile.line("NoOperation".into()).unwrap().count, 1);
    let lost = summary
        .warnings(&ClientChoice::default())
        .into_iter()
        .find(|warning| warning.kind == WarningKind::LostBytes);
    assert_eq!(lost.unwrap().count, 16);
}

#[test]
fn garbage_never_panics() {
    let mut trace = Synthetic::new();
    let noise: Vec<u8> = (0..5000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for piece in noise.chunks(333) {
        trace
            .wait(1)
            .block(Direction::ToServer, piece)
            .block(Direction::ToClient, piece);
    }
    trace.end();
    let _ = report(&trace, "none");
}
