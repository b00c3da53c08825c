//! Sums over many episodes: those over their threshold, and bursts.

use x11prof_trace::SwitchKind;

use super::*;
use crate::episodes::Thresholds;

/// An event at `millis` that is handled in N milliseconds.
fn handled(all: &mut Scheduled, millis: u64, event: Vec<u8>, takes: u64) {
    all.at(millis * MS).server_sends(&[event]);
    all.client(millis * MS, SwitchKind::In);
    let done = (millis + takes) * MS;
    all.at(done).client_sends(&[poly_fill_rectangle(1)]);
    all.client(done + 500, SwitchKind::Blocked);
    all.waits(done + 500, POLL);
}

/// An event of this code. It has no server time, so it begins at its delivery.
fn event(code: u8) -> Vec<u8> {
    let mut bytes = key_press(1, 0);
    bytes[0] = code;
    bytes
}

#[test]
fn thresholds_apply_per_trigger_and_device() {
    const BUTTON: u8 = 4;
    let mut all = Scheduled::new();
    handled(&mut all, 100, key_press(1, 0), 80);
    handled(&mut all, 300, event(BUTTON), 80);
    handled(&mut all, 500, expose(0), 60);
    all.at(900 * MS).end();
    let perceptible = |thresholds: &str| {
        let options = EpisodeOptions {
            thresholds: Thresholds::parse(thresholds).unwrap(),
            ..EpisodeOptions::default()
        };
        let findings = findings(&all.trace, &options);
        let by = findings.triggers.each_ref().map(|one| one.perceptible);
        assert_eq!(by.iter().sum::<u64>(), findings.perceptible);
        // Input, output, asynchronous.
        by
    };
    assert_eq!(perceptible("100"), [0, 0, 0]);
    assert_eq!(perceptible("80"), [2, 0, 0]);
    assert_eq!(perceptible("80.001"), [0, 0, 0]);
    assert_eq!(perceptible("output=60"), [0, 1, 0]);
    assert_eq!(perceptible("keyboard=80"), [1, 0, 0]);
    assert_eq!(perceptible("100,output=50,mouse=70"), [1, 1, 0]);
    assert_eq!(perceptible("input=10,asynchronous=0.1"), [2, 0, 1]);
}

#[test]
fn consecutive_frames_form_a_burst() {
    const MOTION: u8 = 6;
    let mut all = Scheduled::new();
    // At 60 events per second, the fourth takes longer than a frame.
    for (millis, takes) in [(100, 4), (116, 4), (132, 4), (148, 20), (172, 4), (188, 4)] {
        handled(&mut all, millis, event(MOTION), takes);
    }
    // More than two frames later, but too few frames for another burst.
    for millis in [232, 248] {
        handled(&mut all, millis, event(MOTION), 4);
    }
    all.at(900 * MS).end();
    let findings = findings(&all.trace, &EpisodeOptions::default());
    let bursts = findings.bursts.list();
    let reported: Vec<_> = bursts
        .iter()
        .map(|one| (one.landmark.as_str(), one.frames, one.over, one.late))
        .collect();
    assert_eq!(reported, [("MotionNotify", 6, 1, 1)]);
    let micros: Vec<_> = bursts
        .iter()
        .map(|one| {
            let length = one.end.since(one.start).as_micros();
            (one.start, length, one.longest / 1000, one.total / 1000)
        })
        .collect();
    let start = Timestamp::from_nanos(1_100_000_000);
    assert_eq!(micros, [(start, 92_000, 20_000, 40_000)]);
}
