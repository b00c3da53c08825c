//! The server or a client is ready, but no processor is free.

use super::*;
use crate::episodes::cross_client::blame::{Blame, BlameKind};
use crate::episodes::{Episode, Thresholds};

fn key(all: &Scheduled) -> Episode {
    let options = EpisodeOptions {
        // All have a chain.
        thresholds: Thresholds::parse("1").unwrap(),
        ..EpisodeOptions::default()
    };
    let findings = findings(&all.trace, &options);
    let mut episodes = findings.episodes().into_iter();
    let key = episodes.find(|one| one.trigger == Trigger::Input);
    key.expect("the episode of the key").clone()
}

fn micros(of: &Episode, owner: LatencyComponent) -> u64 {
    of.parts.of(owner) / 1000
}

fn blamed(of: &Episode) -> (BlameKind, u64) {
    let blame = Blame::most(of).expect("a chain");
    (blame.kind, blame.nanos / 1000)
}

/// A key press at 100 ms, which the client receives immediately.
fn pressed() -> Scheduled {
    let mut all = Scheduled::new();
    all.switch(SERVER_PID, 2 * MS, SwitchKind::Blocked);
    all.at(100 * MS).server_sends(&[key_press(1, 1099)]);
    all
}

/// The client sends a request at 110 ms and waits.
fn asked() -> Scheduled {
    let mut all = pressed();
    all.client(100 * MS + 100, SwitchKind::In);
    all.at(110 * MS).client_sends(&[get_input_focus()]);
    all.client(110 * MS + 10, SwitchKind::Blocked);
    all
}

/// The client draws at `time` and is quiet; the server is ready for `ready`, then draws for `drawing`.
fn draws(all: &mut Scheduled, time: u64, ready: u64, drawing: u64) {
    all.at(time).client_sends(&[poly_fill_rectangle(3)]);
    all.client(time + 20, SwitchKind::Blocked);
    all.waits(time + 20, POLL);
    all.server(time + ready, time + ready + drawing);
    all.at(900 * MS).end();
}

#[test]
fn server_cpu_wait_before_reply_is_separate() {
    use SwitchKind::{Blocked, In, Preempted};
    let mut all = asked();
    for (time, kind) in [(170, In), (175, Preempted), (195, In)] {
        all.switch(SERVER_PID, time * MS, kind);
    }
    all.at(200 * MS).server_sends(&[reply(2)]);
    all.client(200 * MS + 100, In);
    all.switch(SERVER_PID, 201 * MS, Blocked);
    draws(&mut all, 205 * MS, 50, 4950);
    let key = key(&all);
    let of = |cause| micros(&key, LatencyComponent::Server(cause));
    // Counted from the time at which the client began to wait.
    assert_eq!(of(ServerCause::Processor), 59_990 + 20_000);
    assert_eq!(of(ServerCause::Reply), 10_100);
    assert_eq!(of(ServerCause::Drawing), 5000);
    assert_eq!((key.presentation, key.blocked()), (5_000_000, 90_090_000));
    assert_eq!(blamed(&key), (BlameKind::ServerProcessor, 79_990));
    let asked: Vec<(&str, u64)> = key
        .asked
        .iter()
        .map(|(of, nanos)| (of.as_str(), *nanos))
        .collect();
    assert_eq!(asked, [("GetInputFocus", 10_100_000)]);
}

#[test]
fn late_recorder_read_of_reply_is_not_server_work() {
    let mut all = asked();
    all.server(110 * MS + 50, 110 * MS + 250);
    all.at(230 * MS).server_sends(&[reply(2)]);
    all.client(230 * MS + 100, SwitchKind::In);
    draws(&mut all, 235 * MS, 50, 950);
    let key = key(&all);
    let of = |cause| micros(&key, LatencyComponent::Server(cause));
    assert_eq!(of(ServerCause::Processor), 119_750);
    // Until the client runs again.
    assert_eq!(of(ServerCause::Reply), 240 + 100);
    assert_eq!(blamed(&key), (BlameKind::ServerProcessor, 119_750));
}

#[test]
fn late_recorder_read_is_not_server_work() {
    let mut all = pressed();
    all.client(100 * MS + 100, SwitchKind::In);
    all.client(101 * MS, SwitchKind::Blocked);
    all.waits(101 * MS, POLL);
    // The server does other work meanwhile.
    all.server(150 * MS, 153 * MS);
    all.at(250 * MS).client_sends(&[poly_fill_rectangle(3)]);
    all.server(250 * MS + 50, 256 * MS);
    all.at(900 * MS).end();
    let key = key(&all);
    let of = |cause| micros(&key, LatencyComponent::Server(cause));
    assert_eq!(of(ServerCause::Processor), 149_000 - 3000);
    assert_eq!(
        (of(ServerCause::Reply), of(ServerCause::Drawing)),
        (3000, 6000)
    );
    assert_eq!(blamed(&key), (BlameKind::ServerProcessor, 146_000));
}

#[test]
fn server_cpu_wait_before_drawing_is_separate() {
    let mut all = pressed();
    all.client(100 * MS + 100, SwitchKind::In);
    draws(&mut all, 105 * MS, 40_000, 5000);
    let key = key(&all);
    assert_eq!(key.latency(), 45_000_000 + 5_500_000);
    assert_eq!(key.presentation, 45_000_000);
    assert_eq!(
        micros(&key, LatencyComponent::Server(ServerCause::Processor)),
        40_000
    );
    assert_eq!(blamed(&key), (BlameKind::ServerProcessor, 40_000));
    assert_eq!(key.blocked(), 0);
}

#[test]
fn without_server_switches_the_server_is_blamed() {
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[key_press(1, 1099)]);
    all.client(100 * MS + 100, SwitchKind::In);
    all.at(110 * MS).client_sends(&[get_input_focus()]);
    all.client(110 * MS, SwitchKind::Blocked);
    all.at(200 * MS).server_sends(&[reply(2)]);
    all.client(200 * MS, SwitchKind::In);
    all.at(205 * MS).client_sends(&[poly_fill_rectangle(3)]);
    all.client(205 * MS, SwitchKind::Blocked);
    all.waits(205 * MS, POLL);
    all.at(900 * MS).end();
    assert_eq!(blamed(&key(&all)), (BlameKind::Server, 90_000));
}

#[test]
fn late_client_start_is_blamed_on_cpu_wait() {
    let mut all = pressed();
    all.client(160 * MS, SwitchKind::In);
    draws(&mut all, 165 * MS, 50, 950);
    let key = key(&all);
    assert_eq!(micros(&key, LatencyComponent::Waiting), 60_500);
    assert_eq!(blamed(&key), (BlameKind::Processor, 60_000));
}

#[test]
fn cpu_wait_after_the_reply_is_blamed() {
    let mut all = asked();
    all.server(110 * MS + 100, 110 * MS + 300);
    all.at(110 * MS + 200).server_sends(&[reply(2)]);
    all.client(150 * MS, SwitchKind::In);
    draws(&mut all, 152 * MS, 50, 950);
    let key = key(&all);
    let ready = micros(&key, LatencyComponent::OffCpu(Cause::Processor));
    assert_eq!((ready, key.round_trips), (39_800, 1));
    assert_eq!(blamed(&key), (BlameKind::Processor, 39_800));
}

#[test]
fn wait_for_child_process_is_blamed_elsewhere() {
    const WAIT4: i64 = 61;
    let mut all = pressed();
    all.client(100 * MS + 100, SwitchKind::In);
    all.client(105 * MS, SwitchKind::Blocked);
    all.waits(105 * MS, WAIT4);
    all.client(185 * MS, SwitchKind::In);
    draws(&mut all, 190 * MS, 50, 950);
    assert_eq!(blamed(&key(&all)), (BlameKind::Elsewhere, 80_000));
}

#[test]
fn client_that_was_stopped_before_the_recording_lacks_no_processor() {
    let mut trace = Synthetic::connected_before();
    trace.control(Control::Capture {
        pid: CLIENT_PID,
        capture: "switches".to_owned(),
        why: None,
    });
    trace.wait(MS).control(Control::Waiting(Waiting {
        pid: CLIENT_PID,
        tid: CLIENT_PID,
        since_ns: 1_001_000_000,
        syscall: POLL,
        wait_channel: Some("do_signal_stop".to_owned()),
        arguments: Vec::new(),
        peer: None,
    }));
    let mut all = Scheduled { trace, now: MS };
    all.at(101 * MS).server_sends(&[key_press(1, 1100)]);
    all.client(801 * MS, SwitchKind::In);
    all.at(802 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(803 * MS, SwitchKind::Blocked);
    all.waits(803 * MS, POLL);
    all.at(2000 * MS).end();
    let blame = Blame::most(&key(&all)).unwrap();
    let expected = (BlameKind::Elsewhere, 700 * MS);
    assert_eq!((blame.kind, blame.nanos / 1000), expected);
}
