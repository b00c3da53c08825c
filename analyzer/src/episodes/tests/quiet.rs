//! Ends of episodes, and events that do not end or prolong an episode.

use super::*;
use SwitchKind::{Blocked, In};

use super::starting::{WINDOW, create_window};
use crate::episodes::episode::Unsure;
use x11prof_trace::{Direction, Existing, ExistingClient};

/// An event of this code about the key or button. It has no server time, so it begins at its delivery.
fn event(code: u8, detail: u8) -> Vec<u8> {
    let mut bytes = key_press(1, 0);
    (bytes[0], bytes[1]) = (code, detail);
    bytes
}

const PRESS: u8 = 2;
const RELEASE: u8 = 3;
/// The system call futex (x86-64).
const FUTEX: i64 = 202;
const CONTROL: u8 = 37;
const O: u8 = 32;

/// Input episodes: landmark, microseconds, events.
fn inputs(all: &Scheduled) -> Vec<(String, u64, u64)> {
    let input = found(&all.trace).into_iter();
    let input = input.filter(|one| one.trigger == Trigger::Input);
    let of =
        |one: super::super::Episode| (one.landmark.to_string(), one.latency() / 1000, one.events);
    input.map(of).collect()
}

/// The client wakes without work every 15 ms between these times.
fn ticks(all: &mut Scheduled, from: u64, to: u64) {
    for millis in (from..to).step_by(15) {
        all.client(millis * MS, In);
        all.client(millis * MS + 50, Blocked);
        all.waits(millis * MS + 50, POLL);
    }
}

/// The client draws for 30 ms for each motion, as Tk does: with a synchronisation at the end.
#[test]
fn each_synchronised_response_to_motion_is_an_episode() {
    let motion = |x| {
        let mut bytes = event(6, 0);
        bytes[20] = x;
        bytes
    };
    let mut all = Scheduled::new();
    all.at(2 * MS).client_sends(&[create_window()]);
    all.at(100 * MS).server_sends(&[motion(1)]);
    all.client(100 * MS + 100, In);
    for response in 0..3 {
        let end = 130 + 30 * response;
        all.at((end - 20) * MS).server_sends(&[motion(2)]);
        let sequence = 4 + 2 * response as u16;
        all.at(end * MS)
            .client_sends(&[request(61, 0, &[WINDOW, 0, 0]), get_input_focus()]);
        all.client(end * MS + 10, Blocked);
        all.waits(end * MS + 10, POLL);
        all.at(end * MS + 50).server_sends(&[reply(sequence)]);
        all.client(end * MS + 100, In);
    }
    all.client(200 * MS, Blocked);
    all.waits(200 * MS, POLL);
    all.at(2000 * MS).end();
    let latencies: Vec<u64> = inputs(&all)
        .iter()
        .map(|(_, latency, _)| *latency)
        .collect();
    // The last motion has no response.
    assert_eq!(latencies, [30_000, 50_000, 50_000, 30_000]);
}

/// The socket has no room for the whole request. Meanwhile the release of the key arrives.
#[test]
fn rest_of_a_request_prolongs_the_episode() {
    let mut all = Scheduled::new();
    let drawing = poly_fill_rectangle(300);
    let (first, rest) = drawing.split_at(1000);
    all.at(100 * MS).server_sends(&[event(PRESS, O)]);
    all.client(100 * MS + 100, In);
    all.at(100 * MS + 200).block(Direction::ToServer, first);
    all.client(100 * MS + 300, Blocked);
    all.waits(100 * MS + 300, POLL);
    all.at(110 * MS).server_sends(&[event(RELEASE, O)]);
    all.client(110 * MS + 50, In);
    all.client(110 * MS + 100, Blocked);
    all.waits(110 * MS + 100, POLL);
    all.client(600 * MS, In);
    all.at(600 * MS + 100).block(Direction::ToServer, rest);
    all.client(600 * MS + 200, Blocked);
    all.waits(600 * MS + 200, POLL);
    all.at(2000 * MS).end();
    let (landmark, latency, _) = inputs(&all).remove(0);
    assert_eq!(
        (landmark.as_str(), latency),
        ("KeyPress keycode 32", 500_100)
    );
    let episodes = found(&all.trace);
    let key = episodes.iter().find(|one| one.trigger == Trigger::Input);
    // The server did not read.
    assert_eq!(key.unwrap().parts.server() / 1000, 489_900 + 9_750);
}

#[test]
fn waiting_for_a_processor_after_an_event_ends_no_episode() {
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[event(PRESS, O)]);
    all.client(100 * MS + 100, In);
    all.at(100 * MS + 200).client_sends(&[no_operation(1)]);
    all.client(100 * MS + 300, Blocked);
    all.waits(100 * MS + 300, POLL);
    all.at(101 * MS).server_sends(&[expose(2)]);
    // Other programs use all processors meanwhile.
    all.client(300 * MS, In);
    all.at(300 * MS + 200)
        .client_sends(&[poly_fill_rectangle(1)]);
    all.client(300 * MS + 300, Blocked);
    all.waits(300 * MS + 300, POLL);
    all.at(2000 * MS).end();
    let expected = ("KeyPress keycode 32".to_owned(), 200_200, 2);
    assert_eq!(inputs(&all), [expected]);
}

#[test]
fn wakeups_without_requests_do_not_extend_an_episode() {
    let mut all = Scheduled::new();
    ticks(&mut all, 15, 95);
    all.at(100 * MS).server_sends(&[event(PRESS, O)]);
    all.client(100 * MS + 100, In);
    all.client(100 * MS + 300, Blocked);
    all.waits(100 * MS + 300, POLL);
    ticks(&mut all, 110, 1990);
    // The client draws once in two seconds, independent of any event.
    all.client(2000 * MS, In);
    all.at(2000 * MS + 400)
        .client_sends(&[poly_fill_rectangle(1)]);
    all.client(2000 * MS + 500, Blocked);
    all.waits(2000 * MS + 500, POLL);
    all.at(3000 * MS).end();
    assert_eq!(inputs(&all), [("KeyPress keycode 32".to_owned(), 300, 1)]);
    let episodes = found(&all.trace);
    let last = episodes.last().expect("what it drew");
    assert_eq!(
        (last.landmark.as_str(), last.latency() / 1000),
        ("Timer or file", 400)
    );
}

#[test]
fn only_a_repaint_within_a_frame_is_the_response() {
    for (draws_at, latency) in [(120, 20_200), (140, 300)] {
        let mut all = Scheduled::new();
        all.at(100 * MS).server_sends(&[event(PRESS, O)]);
        all.client(100 * MS + 100, In);
        all.client(100 * MS + 300, Blocked);
        all.waits(100 * MS + 300, POLL);
        // A wake-up without work in between changes nothing.
        ticks(&mut all, 115, 116);
        all.client(draws_at * MS, In);
        all.at(draws_at * MS + 200)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.client(draws_at * MS + 500, Blocked);
        all.waits(draws_at * MS + 500, POLL);
        all.at(900 * MS).end();
        assert_eq!(
            inputs(&all),
            [("KeyPress keycode 32".to_owned(), latency, 1)]
        );
    }
}

/// The program has drawn on its window, then on a pixmap, which it copies at its next frame.
#[test]
fn next_frame_shows_the_pixmap_of_the_response() {
    for (copies_at, latency) in [(120, 20_200), (140, 200)] {
        let mut all = Scheduled::new();
        all.at(100 * MS).server_sends(&[event(PRESS, O)]);
        all.client(100 * MS + 100, In);
        let hidden = request(70, 0, &[BASE + 50, BASE + 2, 0, 10 | 10 << 16]);
        all.at(100 * MS + 200)
            .client_sends(&[poly_fill_rectangle(1), hidden]);
        all.client(100 * MS + 300, Blocked);
        all.waits(100 * MS + 300, POLL);
        all.client(copies_at * MS, In);
        all.at(copies_at * MS + 200)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.client(copies_at * MS + 500, Blocked);
        all.waits(copies_at * MS + 500, POLL);
        all.at(900 * MS).end();
        let found = inputs(&all);
        assert_eq!(found, [("KeyPress keycode 32".to_owned(), latency, 1)]);
    }
}

#[test]
fn ignored_events_do_not_join_the_next_action() {
    const ENTER: u8 = 7;
    const BUTTON: u8 = 4;
    let mut all = Scheduled::new();
    let crossings = [event(ENTER, 0), event(ENTER + 1, 0)];
    all.at(100 * MS).server_sends(&crossings);
    all.client(100 * MS + 30, In);
    all.client(100 * MS + 90, Blocked);
    all.waits(100 * MS + 90, POLL);
    all.at(250 * MS).server_sends(&[event(BUTTON, 1)]);
    all.client(250 * MS, In);
    all.at(255 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(256 * MS, Blocked);
    all.waits(256 * MS, POLL);
    all.at(900 * MS).end();
    assert_eq!(
        inputs(&all),
        [
            ("EnterNotify".to_owned(), 90, 2),
            ("ButtonPress button 1".to_owned(), 5000, 1),
        ]
    );
}

#[test]
fn release_during_handling_does_not_end_the_action() {
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[event(PRESS, CONTROL)]);
    all.client(100 * MS + 100, In);
    all.client(101 * MS, Blocked);
    all.waits(101 * MS, POLL);
    all.at(150 * MS).server_sends(&[event(PRESS, O)]);
    all.client(150 * MS, In);
    all.at(155 * MS).client_sends(&[no_operation(1)]);
    all.at(156 * MS).server_sends(&[event(RELEASE, O)]);
    all.at(157 * MS).server_sends(&[event(RELEASE, CONTROL)]);
    // The dialog.
    for millis in [160, 200, 250] {
        all.at(millis * MS).client_sends(&[poly_fill_rectangle(1)]);
    }
    all.client(251 * MS, Blocked);
    all.waits(251 * MS, POLL);
    all.at(900 * MS).end();
    assert_eq!(
        inputs(&all),
        [
            ("KeyPress keycode 37".to_owned(), 1000, 1),
            ("KeyPress keycode 32".to_owned(), 100_000, 3),
        ]
    );
}

#[test]
fn release_before_handling_ends_joins_its_press() {
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[event(PRESS, CONTROL)]);
    all.client(100 * MS, In);
    all.at(110 * MS).server_sends(&[event(PRESS, O)]);
    all.at(120 * MS).server_sends(&[event(RELEASE, O)]);
    all.at(130 * MS).server_sends(&[event(RELEASE, CONTROL)]);
    all.at(150 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.at(170 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(171 * MS, Blocked);
    all.waits(171 * MS, POLL);
    all.at(900 * MS).end();
    assert_eq!(
        inputs(&all),
        [
            ("KeyPress keycode 37".to_owned(), 50_000, 2),
            ("KeyPress keycode 32".to_owned(), 60_000, 2),
        ]
    );
}

#[test]
fn release_before_repaint_joins_press_without_extending() {
    for (repaints, latency) in [(true, 12_000), (false, 1000)] {
        let mut all = Scheduled::new();
        all.at(100 * MS).server_sends(&[event(PRESS, O)]);
        all.client(100 * MS, In);
        all.client(101 * MS, Blocked);
        all.waits(101 * MS, POLL);
        all.at(106 * MS).server_sends(&[event(RELEASE, O)]);
        all.client(106 * MS, In);
        all.at(106 * MS + 500).client_sends(&[no_operation(1)]);
        all.client(107 * MS, Blocked);
        all.waits(107 * MS, POLL);
        if repaints {
            all.client(111 * MS, In);
            all.at(112 * MS).client_sends(&[map_window(BASE + 1)]);
            all.client(113 * MS, Blocked);
            all.waits(113 * MS, POLL);
        }
        all.at(900 * MS).end();
        assert_eq!(
            inputs(&all),
            [("KeyPress keycode 32".to_owned(), latency, 2)]
        );
    }
}

/// The relay had no processor: it read the client's request, written before the client's wait, after the release.
#[test]
fn release_before_late_relay_read_stays_with_press() {
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[event(PRESS, O)]);
    all.client(100 * MS, In);
    all.client(101 * MS, Blocked);
    all.waits(101 * MS, POLL);
    all.at(106 * MS).server_sends(&[event(RELEASE, O)]);
    all.at(106 * MS + 20).client_sends(&[query_font()]);
    all.at(107 * MS).server_sends(&[reply(1)]);
    all.client(107 * MS + 10, In);
    all.at(112 * MS).client_sends(&[no_operation(1)]);
    all.client(113 * MS, Blocked);
    all.waits(113 * MS, POLL);
    all.at(900 * MS).end();
    assert_eq!(
        inputs(&all),
        [("KeyPress keycode 32".to_owned(), 12_000, 2)]
    );
}

#[test]
fn release_after_the_response_is_a_separate_action() {
    let mut all = Scheduled::new();
    for (millis, code) in [(100, PRESS), (180, RELEASE)] {
        all.at(millis * MS).server_sends(&[event(code, O)]);
        all.client(millis * MS, In);
        all.at(millis * MS + 500)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.client(millis * MS + 600, Blocked);
        all.waits(millis * MS + 600, POLL);
    }
    all.at(900 * MS).end();
    let names: Vec<String> = inputs(&all).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["KeyPress keycode 32", "KeyRelease keycode 32"]);
}

#[test]
fn non_drawing_ticks_do_not_extend_an_episode() {
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[event(PRESS, O)]);
    all.client(100 * MS + 100, In);
    all.at(100 * MS + 200).client_sends(&[no_operation(1)]);
    all.client(100 * MS + 300, Blocked);
    all.waits(100 * MS + 300, POLL);
    // At each frame the client sends a request that draws nothing.
    for tick in 1..60 {
        let at = (100 + 16 * tick) * MS;
        all.client(at, In);
        all.at(at + 100).client_sends(&[no_operation(1)]);
        all.client(at + 200, Blocked);
        all.waits(at + 200, POLL);
    }
    all.at(3000 * MS).end();
    assert_eq!(
        inputs(&all),
        [("KeyPress keycode 32".to_owned(), 16_100, 1)]
    );
}

#[test]
fn thread_paced_frames_limit_latency_to_a_frame() {
    let mut all = Scheduled::new();
    // ClearArea.
    for frame in 0..40 {
        let at = (100 + 40 * frame) * MS;
        // The client wakes in the middle of its wait and handles the key with the next frame.
        if frame == 20 {
            all.at(at - 10 * MS).server_sends(&[event(PRESS, O)]);
        }
        all.client(at, In);
        all.at(at + 2 * MS)
            .client_sends(&[request(61, 0, &[ROOT, 0, 0])]);
        all.client(at + 3 * MS, Blocked);
        all.waits(at + 3 * MS, FUTEX);
    }
    all.at(3000 * MS).end();
    let episodes = found(&all.trace);
    let (input, rest): (Vec<_>, Vec<_>) = episodes
        .iter()
        .partition(|one| one.trigger == Trigger::Input);
    assert_eq!(
        inputs(&all),
        [("KeyPress keycode 32".to_owned(), 12_000, 1)]
    );
    assert_eq!(input[0].unsure, Some(Unsure::NeverWaits));
    assert!(rest.len() >= 20, "{rest:?}");
    let longest = rest.iter().map(|one| one.latency()).max();
    assert!(longest <= Some(3 * MS * 1000), "{longest:?}");
}

#[test]
fn episode_across_a_recording_gap_is_unsure() {
    let mut all = Scheduled::new();
    let press = |all: &mut Scheduled, at: u64| {
        all.at(at).server_sends(&[event(PRESS, O)]);
        all.client(at, In);
        all.at(at + MS)
            .client_sends(&[request(61, 0, &[ROOT, 0, 0])]);
    };
    press(&mut all, 100 * MS);
    let (since_ns, why) = (102 * MS * 1000, "stopped".to_owned());
    all.at(150 * MS).control(Control::Hole { since_ns, why });
    all.client(151 * MS, Blocked);
    press(&mut all, 300 * MS);
    all.client(302 * MS, Blocked);
    all.at(3000 * MS).end();
    let unsure: Vec<_> = found(&all.trace)
        .iter()
        .filter(|one| one.trigger == Trigger::Input)
        .map(|one| one.unsure)
        .collect();
    assert_eq!(unsure, [Some(Unsure::Hole), None]);
}

#[test]
fn animation_with_short_gaps_is_a_burst() {
    let mut all = Scheduled::new();
    all.at(90 * MS).server_sends(&[event(PRESS, O)]);
    for frame in 0..30 {
        let at = (91 + 31 * frame) * MS;
        all.client(at, In);
        // ClearArea.
        all.at(at + 29 * MS)
            .client_sends(&[request(61, 0, &[ROOT, 0, 0])]);
        all.client(at + 30 * MS, Blocked);
    }
    all.at(3000 * MS).end();
    let mut episodes = Episodes::new(&EpisodeOptions::default());
    let mut pipeline = Pipeline::new();
    pipeline.run_records(all.trace.records.iter().cloned(), |observation| {
        episodes.observe(observation);
    });
    let findings = episodes.finish();
    let frames: Vec<u64> = findings
        .bursts
        .list()
        .iter()
        .map(|one| one.frames)
        .collect();
    assert_eq!(frames, [29], "{:?}", findings.episodes());
    let longest = findings.episodes().iter().map(|one| one.latency()).max();
    assert!(longest <= Some(32 * MS * 1000), "{longest:?}");
    assert!(inputs(&all).len() == 1, "{:?}", inputs(&all));
}

#[test]
fn animation_frame_after_a_key_release_is_not_its_response() {
    let mut all = Scheduled::new();
    for frame in 0..20 {
        let at = (100 + 16 * frame) * MS;
        if frame == 10 {
            all.at(at - 5 * MS).server_sends(&[event(RELEASE, O)]);
            all.client(at - 5 * MS + 50, In);
            all.client(at - 5 * MS + 250, Blocked);
            all.waits(at - 5 * MS + 250, POLL);
        }
        all.client(at, In);
        all.at(at + 500)
            .client_sends(&[request(61, 0, &[ROOT, 0, 0])]);
        all.client(at + 600, Blocked);
        all.waits(at + 600, POLL);
    }
    all.at(3000 * MS).end();
    assert_eq!(inputs(&all), [("KeyRelease keycode 32".to_owned(), 250, 1)]);
}

#[test]
fn sleeping_loop_handles_a_key_in_one_turn() {
    let mut all = Scheduled::new();
    // The recorder sees only some of the client's sleeps.
    for turn in 0..800 {
        let at = 100 * MS + turn * 1100;
        if turn == 400 {
            all.at(at - 500).server_sends(&[event(PRESS, O)]);
        }
        all.client(at, In);
        all.client(at + 50, Blocked);
        if turn % 20 == 0 {
            all.waits(at + 50, NANOSLEEP);
        }
    }
    all.client(1200 * MS, In);
    all.at(1200 * MS + 100)
        .client_sends(&[request(61, 0, &[ROOT, 0, 0])]);
    all.client(1200 * MS + 200, Blocked);
    all.waits(1200 * MS + 200, NANOSLEEP);
    all.at(3000 * MS).end();
    // The episode begins in the middle of the sleep.
    assert_eq!(inputs(&all), [("KeyPress keycode 32".to_owned(), 550, 1)]);
    let last = found(&all.trace).pop().expect("what it drew");
    assert_eq!(last.latency() / 1000, 100);
}

/// An attached recording has no message of such a client.
#[test]
fn existing_client_that_sends_nothing_has_no_episode() {
    let mut trace = Synthetic::new();
    trace
        .records
        .retain(|record| matches!(record, Record::Control(..)));
    let clients = vec![ExistingClient {
        connection: ConnectionId(1),
        ..ExistingClient::default()
    }];
    trace.control(Control::Existing(Existing {
        clients,
        ..Existing::default()
    }));
    trace.wait(6_000_000).end();
    assert!(found(&trace).is_empty());
}

#[test]
fn existing_client_has_no_start_up() {
    let found = found(&Synthetic::joined());
    let names: Vec<&str> = found.iter().map(|one| one.landmark.as_str()).collect();
    assert_eq!((names, found[0].latency()), (vec!["Timer or file"], 0));
}

/// A cursor blinks 21 ms after the release of a key. The timer was set before the key, or at the release.
#[test]
fn drawing_at_an_earlier_timer_is_no_response() {
    for (before, latency) in [(111, 300), (5000, 21_400)] {
        let mut all = Scheduled::new();
        all.client(10 * MS, In);
        all.client(10 * MS + 50, Blocked);
        all.polls_for(10 * MS + 50, before);
        all.at(100 * MS).server_sends(&[event(RELEASE, O)]);
        all.client(100 * MS + 100, In);
        all.client(100 * MS + 300, Blocked);
        all.polls_for(100 * MS + 300, 21);
        all.client(121 * MS + 300, In);
        all.at(121 * MS + 400)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.client(121 * MS + 500, Blocked);
        all.polls_for(121 * MS + 500, 500);
        all.at(2000 * MS).end();
        let latencies: Vec<u64> = inputs(&all).iter().map(|one| one.1).collect();
        assert_eq!(latencies, [latency], "{before}");
    }
}

#[test]
fn action_that_the_recording_ends_lasts_at_least_until_then_and_is_unsure() {
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[event(PRESS, O)]);
    all.client(100 * MS, In);
    all.client(101 * MS, Blocked);
    all.waits(101 * MS, 230);
    all.at(3000 * MS)
        .control(Control::Ended { exit_status: None });
    let episodes = found(&all.trace);
    let key = episodes.iter().find(|one| one.trigger == Trigger::Input);
    let key = key.expect("the key");
    assert_eq!(key.latency(), 2_900_000_000);
    assert_eq!(key.unsure, Some(Unsure::Ended));
}
