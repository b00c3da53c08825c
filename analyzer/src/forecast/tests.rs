//! Synthetic recordings, over links.

use x11prof_protocol::SequenceNumber;
use x11prof_trace::{ConnectionId, Control, Direction, EmulatedNetwork, ExtensionOpcodes, Record};

use super::changes::Changes;
use super::collect::Forecasts;
use super::report::ForecastCause;
use crate::pipeline::Pipeline;
use crate::testing::*;
use crate::testing_display::Display;

const CLIENT: ConnectionId = ConnectionId(1);
const WINDOW: u32 = BASE + 9;

fn forecasts(trace: &Synthetic) -> Forecasts {
    let mut found = Forecasts::default();
    let records = trace.records.iter().cloned();
    Pipeline::new().run_records(records, |observation| found.observe(observation));
    found
}

fn network(bytes_per_second: Option<f64>, rtt_ms: f64) -> EmulatedNetwork {
    EmulatedNetwork {
        bytes_per_second,
        round_trip_ns: (rtt_ms * 1e6) as u64,
        ..EmulatedNetwork::default()
    }
}

/// Milliseconds over a link, to the microsecond.
fn over(trace: &Synthetic, speed: Option<f64>, rtt_ms: f64) -> f64 {
    let report = forecasts(trace).report(network(speed, rtt_ms));
    (report.forecast_ms * 1e3).round() / 1e3
}

/// Three round trips of 50 µs, each after 10 µs of client time.
fn three_trips() -> Synthetic {
    let mut trace = Synthetic::new();
    for number in 1..=3 {
        trace.wait(10).client_sends(&[query_font()]);
        trace.wait(50).server_sends(&[reply(number)]);
    }
    trace
}

#[test]
fn without_a_link_the_forecast_equals_the_recording() {
    let report = forecasts(&three_trips()).report(network(None, 0.0));
    assert_eq!((report.recorded_ms, report.local_ms), (0.18, 0.18));
    assert_eq!(report.forecast_ms, 0.18);
    assert_eq!(report.causes, []);
}

#[test]
fn awaited_replies_connect_and_setup_take_round_trips() {
    assert_eq!(over(&three_trips(), None, 10.0), 50.18);
    let causes = forecasts(&three_trips()).report(network(None, 10.0)).causes;
    let causes: Vec<_> = causes
        .iter()
        .map(|one| {
            (
                one.kind.as_str(),
                one.name.as_str(),
                (one.connection, one.count),
                one.ms,
            )
        })
        .collect();
    let expected = [
        ("round-trips", "QueryFont", (1, 3), 30.0),
        ("connection", "(setup)", (1, 1), 20.0),
    ];
    assert_eq!(causes, expected);
}

#[test]
fn pipelined_reply_adds_no_round_trip() {
    let mut trace = Synthetic::new();
    trace.wait(10).client_sends(&[query_font()]);
    trace.wait(10).client_sends(&[no_operation(1)]);
    trace.wait(30).server_sends(&[reply(1)]);
    trace.wait(950).client_sends(&[no_operation(1)]);
    // The reply arrives during the client's pause.
    // The last request arrives half a round trip after it was sent.
    assert_eq!(over(&trace, None, 0.5), 1.0 + 1.0 + 0.25);
}

#[test]
fn awaited_event_adds_a_round_trip() {
    let mut trace = Synthetic::new();
    trace.wait(10).client_sends(&[map_window(WINDOW)]);
    trace.wait(100).server_sends(&[expose(1)]);
    trace.wait(40).client_sends(&[no_operation(1)]);
    assert_eq!(over(&trace, None, 10.0), 35.15);
}

#[test]
fn transfer_time_includes_packet_headers() {
    let mut trace = Synthetic::new();
    // 3000 bytes are three packets with 52 bytes of headers each.
    let long = request(127, 0, &[0; 749]);
    trace.wait(10).client_sends(&[long, query_font()]);
    trace.wait(50).server_sends(&[reply(2)]);
    let all = |bytes: usize| (bytes + bytes.div_ceil(1448) * 52) as f64 / 1e6 * 1e3;
    let sent = all(3000 + query_font().len());
    let setup = all(client_setup().len()) + all(server_setup().len());
    let expected = 0.06 + sent + all(32) + setup;
    let found = over(&trace, Some(1e6), 0.0);
    assert!((found - expected).abs() < 0.002, "{found} {expected}");
}

#[test]
fn shared_memory_image_counts_as_sent_bytes() {
    let mut trace = Synthetic::new();
    trace.control(Control::Extensions {
        extensions: vec![ExtensionOpcodes {
            name: "MIT-SHM".to_owned(),
            major: 140,
            first_event: 65,
            first_error: 128,
        }],
    });
    // 100×50 pixels of depth 24.
    let part = [
        WINDOW,
        BASE + 1,
        100 | 50 << 16,
        0,
        100 | 50 << 16,
        0,
        24 | 2 << 8,
        BASE + 2,
        0,
    ];
    trace
        .wait(10)
        .client_sends(&[request(140, 3, &part), get_input_focus()]);
    trace.wait(50).server_sends(&[reply(2)]);
    let (with, without) = (
        over(&trace, Some(1e6), 0.0),
        over(&three_trips(), Some(1e6), 0.0),
    );
    let image = 20_000.0 + 14.0 * 52.0;
    assert!(
        (with - without - image / 1e3).abs() < 0.5,
        "{with} {without}"
    );
    let report = forecasts(&trace).report(network(Some(1e6), 0.0));
    assert_eq!(report.pixel_bytes, report.shared_bytes);
    let saved = report.pixels_ms.unwrap();
    assert!((saved - image / 1e3).abs() < 0.5, "{saved}");
    // Instead of the request.
    assert_eq!(report.shared_bytes, 20_000 + 24 - 40);
}

#[test]
fn reply_no_longer_awaited_saves_its_round_trip() {
    let found = forecasts(&three_trips());
    let mut changes = Changes::default();
    changes.do_not_await(CLIENT, [SequenceNumber(1), SequenceNumber(2)]);
    let saved = found.length_with(&network(None, 10.0), &Changes::default())
        - found.length_with(&network(None, 10.0), &changes);
    // The server still works 50 µs for each.
    assert_eq!(saved, 20_020_000);
}

#[test]
fn event_before_sync_reply_is_still_awaited() {
    let saved = |code: u8| {
        let mut trace = Synthetic::new();
        for number in [1, 3] {
            let both = [map_window(WINDOW), get_input_focus()];
            trace.wait(10).client_sends(&both);
            let mut event = expose(number);
            event[0] = code;
            trace.wait(50).server_sends(&[event, reply(number + 1)]);
        }
        trace.wait(10).client_sends(&[no_operation(1)]);
        let found = forecasts(&trace);
        let mut changes = Changes::default();
        changes.do_not_await(CLIENT, [SequenceNumber(2), SequenceNumber(4)]);
        let before = found.length_with(&network(None, 10.0), &Changes::default());
        before - found.length_with(&network(None, 10.0), &changes)
    };
    // NoExposure follows every copy, and no client waits for it.
    let (expose, no_exposure) = (12, 14);
    assert_eq!(saved(expose), 0);
    assert!(saved(no_exposure) > 10_000_000);
}

#[test]
fn server_work_remains_if_client_does_not_wait() {
    let mut trace = Synthetic::new();
    for number in 1..=3 {
        trace.wait(10).client_sends(&[query_font()]);
        trace.wait(20_000).server_sends(&[reply(number)]);
    }
    let found = forecasts(&trace);
    let mut changes = Changes::default();
    changes.do_not_await(CLIENT, [SequenceNumber(1), SequenceNumber(2)]);
    let before = found.length_with(&network(None, 1.0), &Changes::default());
    let saved = before - found.length_with(&network(None, 1.0), &changes);
    // The saving is two round trips and the client's time in between; 60 ms of server time remain.
    assert_eq!(saved, 2_020_000);
}

#[test]
fn bytes_that_are_not_transferred_save_their_time() {
    let mut trace = Synthetic::new();
    let mut long = reply(2);
    long[4] = 250;
    long.extend([0; 1000]);
    let unneeded = request(127, 0, &[0; 249]);
    trace.wait(10).client_sends(&[unneeded, query_font()]);
    let (first, second) = long.split_at(500);
    trace.wait(50).block(Direction::ToClient, first);
    trace.block(Direction::ToClient, second);
    let found = forecasts(&trace);
    let mut changes = Changes::default();
    let before = found.length_with(&network(Some(1e6), 0.0), &changes);
    changes.not_sent.insert((CLIENT, SequenceNumber(1)), 1000);
    let without_request = found.length_with(&network(Some(1e6), 0.0), &changes);
    assert_eq!(before - without_request, 1_000_000);
    changes
        .not_returned
        .insert((CLIENT, SequenceNumber(2)), 1000);
    let without_both = found.length_with(&network(Some(1e6), 0.0), &changes);
    // One packet less.
    assert_eq!(without_request - without_both, 1_052_000);
}

/// The causes of time over a link of 1 MB/s and 10 ms, as kind, name, client and milliseconds.
fn causes_over_a_slow_line(found: &Forecasts) -> Vec<(String, String, u32, f64)> {
    let report = found.report(network(Some(1e6), 10.0));
    let causes = report.causes.into_iter();
    let cause = |one: ForecastCause| (one.kind, one.name, one.connection, one.ms.round());
    causes.map(cause).filter(|one| one.3 > 0.0).collect()
}

#[test]
fn time_behind_other_bytes_belongs_to_the_bytes_on_the_line() {
    let mut trace = Synthetic::new();
    let long = request(127, 0, &[0; 50_000]);
    trace.wait(10).client_sends(&[long]);
    trace.wait(10).client_sends(&[query_font()]);
    trace.wait(50).server_sends(&[reply(2)]);
    let causes = causes_over_a_slow_line(&forecasts(&trace));
    let of = |name: &str| causes.iter().find(|one| one.1 == name).unwrap().clone();
    let (long, short) = (of("NoOperation"), of("QueryFont"));
    assert_eq!((long.0.as_str(), long.3), ("bytes-to-server", 207.0));
    assert_eq!((short.0.as_str(), short.3), ("round-trips", 10.0));
    assert!(
        !causes.iter().any(|one| one.0 == "bytes-back"),
        "{causes:?}"
    );
}

#[test]
fn parts_of_a_long_reply_have_the_name_of_its_request() {
    let mut trace = Synthetic::new();
    let mut long = reply(1);
    long[4..8].copy_from_slice(&25_000_u32.to_le_bytes());
    long.extend([0; 100_000]);
    trace.wait(10).client_sends(&[query_font()]);
    for part in long.chunks(30_000) {
        trace.wait(50).block(Direction::ToClient, part);
    }
    let causes = forecasts(&trace).report(network(Some(1e6), 10.0)).causes;
    let bytes = causes.iter().filter(|one| one.kind == "bytes-back");
    let bytes: Vec<_> = bytes
        .filter(|one| one.name != "(setup)")
        .map(|one| (one.name.as_str(), one.count, one.ms.round()))
        .collect();
    assert_eq!(bytes, [("QueryFont", 1, 104.0)]);
}

#[test]
fn request_in_several_writes_counts_once() {
    let mut trace = Synthetic::new();
    let long = request(127, 0, &[0; 25_000]);
    trace.wait(10);
    for _ in 0..2 {
        for part in long.chunks(30_000) {
            trace.wait(50).block(Direction::ToServer, part);
        }
    }
    trace.wait(10).client_sends(&[query_font()]);
    trace.wait(50).server_sends(&[reply(3)]);
    let causes = forecasts(&trace).report(network(Some(1e6), 10.0)).causes;
    let bytes = causes.iter().filter(|one| one.name == "NoOperation");
    let bytes: Vec<_> = bytes
        .map(|one| (one.kind.as_str(), one.count, one.ms.round()))
        .collect();
    assert_eq!(bytes, [("bytes-to-server", 2, 207.0)]);
}

#[test]
fn clients_on_one_line_delay_each_other_by_bytes_only() {
    let mut display = Display::new();
    for number in 1..=20_u16 {
        let at = f64::from(number);
        display.sends(1, at, query_font());
        display.gets(1, at + 0.5, reply(number));
    }
    display.sends(1, 21.0, request(127, 0, &[0; 50_000]));
    display.sends(2, 260.0, query_font());
    display.gets(2, 261.0, reply(1));
    let mut found = Forecasts::default();
    Pipeline::new().run_records(display.records, |seen| found.observe(seen));
    found.keep(None, |client| client == ConnectionId(2));
    let causes = causes_over_a_slow_line(&found);
    let others = causes.iter().filter(|one| one.2 == 1);
    let others: Vec<_> = others.map(|one| (one.0.as_str(), one.1.as_str())).collect();
    assert_eq!(others, [("bytes-to-server", "NoOperation")], "{causes:?}");
}

#[test]
fn thread_waits_for_its_connections_one_after_the_other() {
    let mut display = Display::new();
    for record in &mut display.records {
        if let Record::Control(_, Control::Opened(opened)) = record {
            opened.pid = (opened.connection.0 < 3).then_some(CLIENT_PID);
        }
    }
    for number in 1..=4_u16 {
        for client in [1, 2] {
            let at = f64::from(number) + f64::from(client) / 4.0;
            display.sends(client, at, query_font());
            display.gets(client, at + 0.1, reply(number));
        }
    }
    let mut found = Forecasts::default();
    Pipeline::new().run_records(display.records, |seen| found.observe(seen));
    let over = network(None, 100.0);
    let forecast = found.length_with(&over, &Changes::default());
    // Both connections begin together: connecting, setup, eight replies, and the client's own time.
    assert_eq!(forecast / 1_000_000, 1004);
    let mut changes = Changes::default();
    changes.do_not_await(CLIENT, [SequenceNumber(2)]);
    let saved = forecast - found.length_with(&over, &changes);
    assert_eq!(saved / 1_000_000, 100);
}
