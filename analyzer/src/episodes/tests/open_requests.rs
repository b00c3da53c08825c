//! Actions whose response waits for another client.

use super::{POLL, Scheduled, found};
use crate::episodes::awaited::AwaitedOutcome;
use crate::episodes::episode::{Episode, LatencyComponent, Trigger};
use crate::testing::{Synthetic, map_window, poly_fill_rectangle, reply, request};
use x11prof_trace::SwitchKind;

const WINDOW: u32 = 0x20_0005;
const MS: u64 = 1_000_000;

/// A key press at this time of the server, in milliseconds.
fn press(key: u8, millis: u32) -> Vec<u8> {
    let mut press = reply(0);
    (press[0], press[1]) = (2, key);
    press[4..8].copy_from_slice(&millis.to_le_bytes());
    press
}

fn convert() -> Vec<u8> {
    request(24, 0, &[WINDOW, 7, 8, 9, 0])
}

/// SelectionNotify: time, requestor, selection, target, property.
fn notify() -> Vec<u8> {
    let mut bytes = vec![31, 0, 0, 0, 0, 0, 0, 0];
    for word in [WINDOW, 7, 8, 9] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.resize(32, 0);
    bytes
}

/// The server's clock counts milliseconds.
fn assert_near(nanos: u64, millis: u64) {
    assert!(nanos.abs_diff(millis * MS) <= MS, "{nanos} {millis}");
}

fn actions(trace: &Synthetic) -> Vec<Episode> {
    let mut all = found(trace);
    all.retain(|one| one.trigger == Trigger::Input);
    all
}

#[test]
fn action_ends_with_drawing_after_the_reply() {
    let mut trace = Synthetic::new();
    trace.wait(1_000_000).server_sends(&[press(38, 2000)]);
    trace.wait(1000).client_sends(&[convert()]);
    trace.wait(500_000).server_sends(&[notify()]);
    trace.wait(2000).client_sends(&[poly_fill_rectangle(1)]);
    trace.wait(1_000_000).end();
    let all = actions(&trace);
    let [paste] = all.as_slice() else {
        panic!("{all:#?}")
    };
    assert_near(paste.latency(), 503);
    assert_near(paste.parts.of(LatencyComponent::Awaited), 500);
    let wait = paste.awaited.first().unwrap();
    assert_eq!(wait.outcome, AwaitedOutcome::Answered);
    assert_near(wait.nanos(), 500);
}

#[test]
fn other_keys_during_a_pending_request_are_separate_actions() {
    let mut trace = Synthetic::new();
    trace.wait(1_000_000).server_sends(&[press(38, 2000)]);
    trace.wait(1000).client_sends(&[convert()]);
    trace.wait(99_000).server_sends(&[press(39, 2100)]);
    trace.wait(3000).client_sends(&[poly_fill_rectangle(1)]);
    trace.wait(397_000).server_sends(&[notify()]);
    trace.wait(2000).client_sends(&[poly_fill_rectangle(1)]);
    trace.wait(1_000_000).end();
    let mut all = actions(&trace);
    all.sort_by_key(|one| one.start);
    assert_eq!(all.len(), 2);
    assert_near(all[0].latency(), 502);
    assert_near(all[1].latency(), 3);
}

#[test]
fn client_that_draws_without_the_reply_gave_up() {
    let mut trace = Synthetic::new();
    trace.wait(1_000_000).server_sends(&[press(38, 2000)]);
    trace.wait(1000).client_sends(&[convert()]);
    trace.wait(400_000).client_sends(&[map_window(WINDOW)]);
    trace.wait(1_000_000).end();
    let all = actions(&trace);
    let [paste] = all.as_slice() else {
        panic!("{all:#?}")
    };
    assert_near(paste.latency(), 401);
    assert_eq!(paste.awaited[0].outcome, AwaitedOutcome::GaveUp);
}

#[test]
fn action_without_reply_lasts_to_the_recording_end() {
    let mut trace = Synthetic::new();
    trace.wait(1_000_000).server_sends(&[press(38, 2000)]);
    trace.wait(1000).client_sends(&[convert()]);
    trace.wait(700_000).end();
    let all = actions(&trace);
    assert_near(all[0].latency(), 701);
    assert_eq!(all[0].awaited[0].outcome, AwaitedOutcome::Unanswered);
}

/// A client that asked for a selection 102 ms after the beginning and waits in poll.
struct Paste(Scheduled);

impl Paste {
    fn new() -> Paste {
        let mut paste = Paste(Scheduled::new());
        paste.0.at(101_000).server_sends(&[press(38, 1100)]);
        paste.turn(101_050, &[convert()]);
        paste
    }

    /// The client runs for 0.1 ms from `micros` on, sends these requests, and waits in poll again.
    fn turn(&mut self, micros: u64, requests: &[Vec<u8>]) {
        self.0.client(micros, SwitchKind::In);
        if !requests.is_empty() {
            self.0.at(micros + 50).client_sends(requests);
        }
        self.0.client(micros + 100, SwitchKind::Blocked);
        self.0.waits(micros + 100, POLL);
    }

    fn actions(mut self) -> Vec<(u64, Option<AwaitedOutcome>)> {
        self.0.at(2_000_000).end();
        let mut all = actions(&self.0.trace);
        all.sort_by_key(|one| one.start);
        let outcome = |one: &Episode| one.awaited.first().map(|one| one.outcome);
        all.iter()
            .map(|one| (one.latency() / MS, outcome(one)))
            .collect()
    }
}

#[test]
fn action_lasts_to_the_reply_while_its_client_shows_progress() {
    let mut paste = Paste::new();
    for millis in [200, 300, 400] {
        paste.turn(millis * 1000, &[map_window(WINDOW)]);
    }
    paste.0.at(500_000).server_sends(&[notify()]);
    paste.turn(500_050, &[map_window(WINDOW)]);
    assert_eq!(paste.actions(), [(399, Some(AwaitedOutcome::Answered))]);
}

#[test]
fn client_that_ignores_the_late_reply_gave_up() {
    let mut paste = Paste::new();
    paste.turn(300_000, &[map_window(WINDOW)]);
    paste.0.at(700_000).server_sends(&[notify()]);
    paste.turn(700_050, &[]);
    assert_eq!(paste.actions(), [(199, Some(AwaitedOutcome::GaveUp))]);
}

/// A terminal emulator draws what the program in the terminal prints.
#[test]
fn press_whose_effect_no_message_causes_is_not_part_of_the_wait() {
    let mut paste = Paste::new();
    paste.0.at(200_000).server_sends(&[press(39, 1200)]);
    paste.turn(200_050, &[]);
    paste.turn(205_000, &[map_window(WINDOW)]);
    paste.0.at(500_000).server_sends(&[notify()]);
    paste.turn(500_050, &[map_window(WINDOW)]);
    let answered = Some(AwaitedOutcome::Answered);
    assert_eq!(paste.actions(), [(399, answered), (5, None)]);
}

#[test]
fn unanswered_request_ends_when_the_user_goes_on() {
    let mut paste = Paste::new();
    paste.0.at(600_000).server_sends(&[press(39, 1600)]);
    paste.turn(600_050, &[map_window(WINDOW)]);
    let gave_up = Some(AwaitedOutcome::GaveUp);
    assert_eq!(paste.actions(), [(499, gave_up), (0, None)]);
}

/// The program's cursor blinks while the program waits, and after it has given up.
#[test]
fn drawing_that_is_not_periodic_ends_an_unanswered_wait() {
    let mut paste = Paste(Scheduled::new());
    let blinks = [poly_fill_rectangle(1), map_window(WINDOW)];
    paste.turn(50_000, &blinks);
    paste.0.at(101_000).server_sends(&[press(38, 1100)]);
    paste.turn(101_050, &[convert()]);
    for millis in [600, 1100] {
        paste.turn(millis * 1000, &blinks);
    }
    paste.turn(1_200_000, &[map_window(WINDOW)]);
    paste.turn(1_600_000, &blinks);
    let gave_up = Some(AwaitedOutcome::GaveUp);
    assert_eq!(paste.actions(), [(1099, gave_up)]);
}
