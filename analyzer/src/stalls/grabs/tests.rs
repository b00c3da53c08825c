//! Grabs over a synthetic trace.

use x11prof_trace::{Block, ConnectionId, Control, Direction, Opened, Record};

use crate::pipeline::Pipeline;
use crate::recording::trace_summary::TraceSummary;
use crate::stalls::grabs::Grabs;
use crate::stalls::grabs::report::GrabReport;
use crate::testing::*;
use crate::testing_display::Display;

fn run(records: &[Record]) -> GrabReport {
    let (mut grabs, mut summary) = (Grabs::default(), TraceSummary::default());
    let mut pipeline = Pipeline::new();
    pipeline.run_records(records.iter().cloned(), |observation| {
        summary.observe(observation);
        grabs.observe(observation);
    });
    GrabReport::new(&grabs, &summary)
}

/// Adds a client that sends this setup and one request, and nothing else.
fn from_another(trace: &mut Synthetic, setup: &Record) {
    let connection = ConnectionId(2);
    trace.control(Control::Opened(Opened {
        connection,
        transport: "unix".to_owned(),
        pid: None,
        name: Some("other".to_owned()),
        command: Vec::new(),
        started_ns: None,
    }));
    let Record::Block(setup) = setup else {
        panic!("{setup:?}")
    };
    let now = trace.records.iter().rev().find_map(|record| match record {
        Record::Block(block) => Some(block.time),
        _ => None,
    });
    let (setup_bytes, request) = (setup.bytes.to_vec(), get_input_focus());
    let offset = setup_bytes.len() as u64;
    for (offset, bytes) in [(0, setup_bytes), (offset, request)] {
        trace.records.push(Record::Block(Block {
            time: now.unwrap(),
            connection,
            direction: Direction::ToServer,
            offset,
            wire_len: bytes.len() as u32,
            fds: 0,
            gaps: Vec::new(),
            bytes: bytes.into(),
        }));
    }
}

#[test]
fn other_clients_wait_while_the_server_is_grabbed() {
    let mut trace = Synthetic::new();
    let setup = trace.records[3].clone();
    trace.wait(1000).client_sends(&[request(36, 0, &[])]);
    from_another(&mut trace, &setup);
    trace.wait(2000).client_sends(&[request(37, 0, &[])]).end();
    let report = run(&trace.records);
    assert_eq!(report.count, 1);
    let grab = &report.grabs[0];
    assert_eq!(
        (grab.what.as_str(), grab.end.as_str()),
        ("server", "ungrab")
    );
    assert_eq!(
        (grab.client.as_str(), grab.held_ms),
        ("xtex (client 1)", 2.0)
    );
    let waited = &grab.waited[0];
    assert_eq!(
        (waited.client.as_str(), waited.requests),
        ("other (client 2)", 1)
    );
    assert_eq!(waited.waited_ms, 2.0);
}

#[test]
fn client_that_connects_during_a_grab_waits() {
    let mut trace = Synthetic::new();
    let setup = trace.records[3].clone();
    trace.wait(1000).client_sends(&[request(36, 0, &[])]);
    from_another(&mut trace, &setup);
    // Without the request.
    trace.records.pop();
    trace.wait(205_000).client_sends(&[request(37, 0, &[])]);
    let waited = &run(&trace.records).grabs[0].waited;
    assert_eq!(waited.len(), 1);
    assert_eq!((waited[0].requests, waited[0].waited_ms), (0, 205.0));
}

#[test]
fn active_grab_starts_when_granted() {
    let mut trace = Synthetic::new();
    let grab_pointer = request(26, 0, &[ROOT, 0, 0, 0, 0]);
    let mut refusal = reply(1);
    refusal[1] = 1;
    trace
        .client_sends(std::slice::from_ref(&grab_pointer))
        .server_sends(&[refusal]);
    trace.client_sends(&[grab_pointer]);
    trace.wait(500).server_sends(&[reply(2)]);
    trace.wait(3000).end();
    let report = run(&trace.records);
    assert_eq!((report.count, report.refused), (1, 1));
    let grab = &report.grabs[0];
    assert_eq!(
        (grab.what.as_str(), grab.end.as_str()),
        ("pointer", "closed")
    );
    assert_eq!((grab.since_ms, grab.held_ms), (0.5, 3.0));
    assert_eq!(
        (grab.what.as_str(), grab.client.as_str()),
        ("pointer", "xtex (client 1)")
    );
}

#[test]
fn reset_keeps_active_grabs() {
    let mut trace = Synthetic::new();
    // GrabServer, UngrabServer, GrabServer.
    for opcode in [36, 37, 36] {
        trace.wait(1000).client_sends(&[request(opcode, 0, &[])]);
    }
    let (mut grabs, mut pipeline) = (Grabs::default(), Pipeline::new());
    pipeline.run_records(trace.records.iter().cloned(), |observation| {
        grabs.observe(observation)
    });
    assert_eq!(GrabReport::new(&grabs, &TraceSummary::default()).count, 2);
    grabs.start_afresh();
    let report = GrabReport::new(&grabs, &TraceSummary::default());
    assert_eq!((report.count, report.grabs.len()), (1, 1));
    assert_eq!(report.grabs[0].end, "trace");
}

#[test]
fn waiting_client_gets_the_server_grab_next() {
    let (grab, ungrab) = (|| request(36, 0, &[]), || request(37, 0, &[]));
    let mut display = Display::new();
    display.sends(2, 10.0, grab());
    display.sends(3, 20.0, grab());
    display.sends(2, 30.0, ungrab());
    display.sends(3, 70.0, ungrab());
    let report = run(&display.records);
    let held = report.grabs.iter();
    let held: Vec<(&str, f64)> = held.map(|one| (one.client.as_str(), one.held_ms)).collect();
    assert_eq!(
        held,
        [("panel (client 2)", 20.0), ("editor (client 3)", 40.0)]
    );
}
