//! Open requests over a synthetic display.

use x11prof_trace::{ConnectionId, Timestamp};

use super::{OpenKind, OpenRequestChange, OpenStep};
use crate::pipeline::{Observation, Pipeline};
use crate::testing::request;
use crate::testing_display::Display;

const WINDOW: u32 = 0x20_0005;
/// A window of client 3 of [`Display::timed`].
const OTHER: u32 = 0x60_0005;

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
    let asks = |target| request(24, 0, &[WINDOW, 7, target, 9, 0]);
    display.sends(2, 10.0, asks(8));
    display.sends(2, 20.0, asks(10));
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
fn requests_for_a_selection_in_two_properties_are_both_open() {
    let mut display = Display::new();
    display.sends(2, 10.0, request(24, 0, &[WINDOW, 7, 8, 9, 0]));
    display.sends(2, 10.0, request(24, 0, &[WINDOW, 7, 10, 11, 0]));
    let steps: Vec<_> = changes(&display).iter().map(|one| one.step).collect();
    assert_eq!(steps, [OpenStep::Opened; 2]);
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

/// Client 2 interns an atom; `sequence` is the number of its requests so far, including this one.
fn interns(display: &mut Display, sequence: u16, name: &str, atom: u32) {
    let mut bytes = request(16, 0, &[name.len() as u32]);
    bytes.extend(name.bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let units = (bytes.len() / 4) as u16;
    bytes[2..4].copy_from_slice(&units.to_le_bytes());
    let mut answer = crate::testing::reply(sequence);
    answer[8..12].copy_from_slice(&atom.to_le_bytes());
    display.sends(2, 1.0, bytes);
    display.gets(2, 2.0, answer);
}

/// SendEvent of this event.
fn sent(destination: u32, event: &[u8]) -> Vec<u8> {
    let words = event.chunks(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    let words: Vec<u32> = [destination, 0].into_iter().chain(words).collect();
    request(25, 0, &words)
}

fn kinds(display: &Display) -> Vec<(OpenStep, OpenKind, f64, Option<ConnectionId>)> {
    let found = changes(display).into_iter();
    let found = found.map(|one| (one.step, one.request.kind, ms(one.time), one.request.party));
    found.collect()
}

#[test]
fn ping_is_open_until_its_message_returns() {
    let mut display = Display::timed();
    interns(&mut display, 1, "WM_PROTOCOLS", 301);
    interns(&mut display, 2, "_NET_WM_PING", 302);
    let mut ping = event(33, &[OTHER, 301, 302, 9, OTHER]);
    ping[1] = 32;
    display.sends(2, 10.0, sent(OTHER, &ping));
    display.gets(3, 11.0, ping.clone());
    ping[0] |= 0x80;
    display.gets(2, 510.0, ping);
    let pinged = Some(ConnectionId(3));
    assert_eq!(
        kinds(&display),
        [
            (OpenStep::Opened, OpenKind::Ping, 10.0, pinged),
            (OpenStep::Answered, OpenKind::Ping, 510.0, pinged),
        ]
    );
}

#[test]
fn piece_is_open_until_its_property_is_deleted() {
    let mut display = Display::timed();
    interns(&mut display, 1, "INCR", 301);
    let property = |kind: u32, bytes: u32| request(18, 0, &[OTHER, 7, kind, 32, bytes, 0]);
    display.sends(2, 10.0, property(301, 1));
    // The requestor reads the size, and 2 s later deletes the property.
    display.gets(2, 2010.0, event(28, &[OTHER, 7, 0, 1]));
    let requestor = Some(ConnectionId(3));
    assert_eq!(
        kinds(&display),
        [
            (OpenStep::Opened, OpenKind::PieceTaken, 10.0, requestor),
            (OpenStep::Answered, OpenKind::PieceTaken, 2010.0, requestor),
        ]
    );
}

/// A taskbar that moves a window does not make its client wait.
#[test]
fn only_a_clients_own_change_waits_for_the_window_manager() {
    let steps = |by: u32| {
        let mut display = Display::timed();
        // ConfigureWindow: window, mask, x.
        display.sends(by, 10.0, request(12, 0, &[OTHER, 1, 40]));
        let mut redirected = event(23, &[0, OTHER, 0, 0, 0, 0]);
        redirected[26] = 1;
        display.gets(2, 11.0, redirected);
        let found = changes(&display);
        found
            .iter()
            .map(|one| (one.step, one.request.client.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(steps(3), [(OpenStep::Opened, 3)]);
    assert_eq!(steps(1), []);
}

/// A selection's owner that ends leaves its transfer open; the requestor uses the property again.
#[test]
fn next_request_for_a_property_ends_the_transfer_in_it() {
    let mut display = Display::timed();
    interns(&mut display, 1, "INCR", 301);
    display.sends(2, 10.0, request(18, 0, &[OTHER, 7, 301, 32, 1, 0]));
    display.sends(3, 20.0, request(19, 0, &[OTHER, 7]));
    display.sends(3, 900.0, request(24, 0, &[OTHER, 1, 8, 7, 0]));
    // PropertyNotify: window, atom, time, state. The new owner writes the selection.
    display.gets(3, 950.0, event(28, &[OTHER, 7, 0, 0]));
    let steps: Vec<_> = kinds(&display)
        .iter()
        .map(|(step, kind, ..)| (*step, *kind))
        .filter(|(_, kind)| *kind != OpenKind::PieceTaken)
        .collect();
    assert_eq!(
        steps,
        [
            (OpenStep::Opened, OpenKind::SelectionPiece),
            (OpenStep::Abandoned, OpenKind::SelectionPiece),
            (OpenStep::Opened, OpenKind::Selection),
        ]
    );
}
