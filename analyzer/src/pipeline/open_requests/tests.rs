//! Open requests over a synthetic display.

use x11prof_trace::{ConnectionId, Timestamp};

use super::{OpenKind, OpenRequestChange, OpenStep};
use crate::pipeline::{Observation, Pipeline};
use crate::testing::request;
use crate::testing_display::Display;

const WINDOW: u32 = 0x20_0005;

/// An event of this code, with words from the fifth byte on.
fn event(code: u8, words: &[u32]) -> Vec<u8> {
    let mut bytes = vec![code, 32, 0, 0];
    words
        .iter()
        .for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.resize(32, 0);
    bytes
}

fn changes(display: &Display) -> Vec<OpenRequestChange> {
    let mut found = Vec::new();
    Pipeline::new().run_records(display.records.iter().cloned(), |observation| {
        if let Observation::OpenRequest(change) = observation {
            found.push(*change);
        }
    });
    found
}

fn ms(time: Timestamp) -> f64 {
    (time.as_nanos() - 1_000_000_000) as f64 / 1e6
}

#[test]
fn selection_is_open_until_selection_notify() {
    let mut display = Display::new();
    display.sends(2, 10.0, request(24, 0, &[WINDOW, 7, 8, 9, 0]));
    // Time, owner, requestor, selection, target, property.
    display.gets(3, 11.0, event(30, &[0, 1, WINDOW, 7, 8, 9]));
    // A request with another target is a different request.
    display.gets(2, 20.0, event(31, &[0, WINDOW, 7, 1, 0]));
    display.gets(2, 61.0, event(31 | 0x80, &[0, WINDOW, 7, 8, 9]));
    let found = changes(&display);
    let steps: Vec<_> = found
        .iter()
        .map(|one| (one.step, ms(one.time), one.request.party))
        .collect();
    let owner = Some(ConnectionId(3));
    assert_eq!(
        steps,
        [
            (OpenStep::Opened, 10.0, None),
            (OpenStep::Reached, 11.0, owner),
            (OpenStep::Answered, 61.0, owner),
        ]
    );
    let request = found[0].request;
    assert_eq!(request.kind, OpenKind::Selection);
    assert_eq!((request.client, ms(request.since)), (ConnectionId(2), 10.0));
    assert!(found.iter().all(|one| one.request.number == request.number));
}

#[test]
fn repeated_request_replaces_first_and_ends_with_connection() {
    let mut display = Display::new();
    let asks = || request(24, 0, &[WINDOW, 7, 8, 9, 0]);
    display.sends(2, 10.0, asks());
    display.sends(2, 20.0, asks());
    let closed = x11prof_trace::Control::Closed {
        connection: ConnectionId(2),
        by: "client".to_owned(),
        why: None,
    };
    display.control(30.0, closed);
    let steps: Vec<_> = changes(&display)
        .iter()
        .map(|one| (one.step, one.request.number))
        .collect();
    assert_eq!(
        steps,
        [
            (OpenStep::Opened, 0),
            (OpenStep::Abandoned, 0),
            (OpenStep::Opened, 1),
            (OpenStep::Abandoned, 1),
        ]
    );
}

#[test]
fn refused_grab_waits_for_holder_until_granted() {
    let mut display = Display::new();
    let grab = || request(26, 0, &[WINDOW, 0, 0, 0, 0]);
    let reply = |sequence: u16, status: u8| {
        let mut bytes = crate::testing::reply(sequence);
        bytes[1] = status;
        bytes
    };
    display.sends(3, 1.0, grab());
    display.gets(3, 2.0, reply(1, 0));
    for (n, status) in [(1, 1), (2, 1), (3, 0)] {
        let at = f64::from(n) * 10.0;
        if status == 0 {
            display.sends(3, at - 1.0, request(27, 0, &[0]));
        }
        display.sends(2, at, grab());
        display.gets(2, at + 1.0, reply(n, status));
    }
    let steps: Vec<_> = changes(&display)
        .iter()
        .map(|one| {
            (
                one.step,
                ms(one.time),
                one.request.client,
                one.request.party,
            )
        })
        .collect();
    let (own, holder) = (ConnectionId(2), Some(ConnectionId(3)));
    assert_eq!(
        steps,
        [
            (OpenStep::Opened, 10.0, own, holder),
            (OpenStep::Answered, 31.0, own, holder),
        ]
    );
}
