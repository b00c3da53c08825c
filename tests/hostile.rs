//! Traces that no recorder makes: whatever they claim, time, memory and disk stay in proportion to
//! their length.

#![allow(
    clippy::expect_used,
    reason = "a test that cannot go on says why and fails"
)]

mod harness;

use std::path::PathBuf;

use harness::Place;
use x11prof_trace::{
    Block, ConnectionId, Control, CpuTime, Direction, Gap, Opened, Record, Server, Started, Switch,
    SwitchKind, Timestamp, Writer,
};

/// A client's setup without a cookie, and the shortest answer that lets it in.
const SETUP: [u8; 12] = *b"l\0\x0b\0\0\0\0\0\0\0\0\0";

/// A trace with these records after its beginning.
fn trace(place: &Place, records: impl IntoIterator<Item = Record>) -> PathBuf {
    let started = Started {
        format: 0,
        recorder: "test".to_owned(),
        wall_clock_ns: 0,
        command: Vec::new(),
        cpu_model: String::new(),
        cpus: 1,
        kernel: String::new(),
        full: false,
    };
    let path = place.path("x11prof.mcap");
    let file = std::fs::File::create(&path).expect("a file");
    let mut writer = Writer::new(file, started, at(0)).expect("a trace");
    let server = Server {
        display: ":1".to_owned(),
        pid: Some(1),
        ..Server::default()
    };
    let opened = Opened {
        connection: ConnectionId(1),
        transport: "unix".to_owned(),
        pid: Some(2),
        name: None,
        command: Vec::new(),
    };
    let first =
        [Control::Server(server), Control::Opened(opened)].map(|it| Record::Control(at(0), it));
    for record in first
        .into_iter()
        .chain([block(0, &SETUP, None)])
        .chain(records)
    {
        writer.write(&record).expect("a record");
    }
    writer.finish().expect("a whole trace");
    path
}

/// Microseconds after the beginning.
fn at(micros: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + micros * 1000)
}

/// What a client sent: the bytes, and so many that were left out behind them.
fn block(offset: u64, bytes: &[u8], left_out: Option<u32>) -> Record {
    let len = u32::try_from(bytes.len()).expect("a short block");
    Record::Block(Block {
        time: at(offset),
        connection: ConnectionId(1),
        direction: Direction::ToServer,
        offset,
        wire_len: len + left_out.unwrap_or_default(),
        fds: 0,
        gaps: left_out
            .map(|left| Gap { at: len, len: left })
            .into_iter()
            .collect(),
        bytes: bytes.to_vec().into(),
    })
}

#[test]
fn two_hundred_thousand_processes_take_no_longer_than_their_number() {
    let place = Place::new();
    let switches = |pid: u32| {
        let switch = |micros, kind| Switch {
            time: at(u64::from(pid) * 10 + micros),
            pid,
            tid: pid,
            cpu: 0,
            kind,
        };
        let reading = CpuTime {
            pid,
            cpu_ns: 5,
            voluntary_switches: None,
            involuntary_switches: None,
        };
        let both = vec![switch(0, SwitchKind::In), switch(5, SwitchKind::Blocked)];
        let time = at(u64::from(pid) * 10 + 7);
        [
            Record::Schedule(both),
            Record::Control(time, Control::CpuTime(reading)),
        ]
    };
    trace(&place, (10..200_010).flat_map(switches));
    // Were it quadratic, each would take longer than the harness waits.
    for command in [
        &["report", "--params", "sun4-ipc", "--resources"][..],
        &["compare", "--params", "sun4-ipc"],
        &["stats"],
        &["episodes"],
        &["export", "--to", "pcapng", "-o", "capture"],
    ] {
        place.ok(command);
    }
}

#[test]
fn gaps_of_hundreds_of_terabytes_are_not_written() {
    let place = Place::new();
    let most = u32::MAX - 4;
    let absurd =
        (0..100_000_u64).map(|n| block(12 + n * u64::from(u32::MAX), &[127, 0, 1, 0], Some(most)));
    let trace = trace(&place, absurd);
    let ran = place.run(["export", "--to", "pcapng", "-o", "capture"]);
    let said = ran.stderr();
    ran.succeeded();
    let written = std::fs::metadata(place.path("capture"))
        .expect("a file")
        .len();
    let read = std::fs::metadata(trace).expect("a trace").len();
    assert!(written < 100_000 * 200, "{written} bytes out of {read}");
    assert!(said.contains("holes"), "{said}");
    for command in [
        &["report", "--params", "sun4-ipc", "--resources"][..],
        &["stats"],
        &["episodes"],
        &["dump"],
    ] {
        place.ok(command);
    }
}
