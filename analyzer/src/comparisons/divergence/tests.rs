use super::{
    DifferenceKinds, DisplayStreams, Divergence, DivergenceReport, MessageDetails,
    ReceivedDifference,
};
use crate::Pipeline;
use crate::testing::{Synthetic, expose, get_input_focus, map_window, query_font, reply, request};
use x11prof_trace::{ConnectionId, Control};

/// The differences of two synthetic recordings.
fn diverge(sides: [&Synthetic; 2]) -> DivergenceReport {
    let (divergence, details) = detailed(sides);
    divergence.report(&streams(sides[0]), &details, &[], &[])
}

fn streams(recording: &Synthetic) -> DisplayStreams {
    let mut streams = DisplayStreams::default();
    Pipeline::new().run_records(recording.records.iter().cloned(), |observation| {
        streams.observe(observation)
    });
    streams
}

fn detailed(sides: [&Synthetic; 2]) -> (Divergence, [MessageDetails; 2]) {
    let divergence = Divergence::new(&streams(sides[0]), &streams(sides[1]));
    let mut details = divergence.details();
    for (details, side) in details.iter_mut().zip(sides) {
        Pipeline::new().run_records(side.records.iter().cloned(), |observation| {
            details.observe(observation)
        });
        assert!(details.is_complete());
    }
    (divergence, details)
}

fn window(id: u32) -> Synthetic {
    let mut one = Synthetic::new();
    one.client_sends(&[map_window(id), get_input_focus()]);
    one.server_sends(&[reply(2)]);
    one
}

#[test]
fn equal_recordings_have_no_difference() {
    let report = diverge([&window(0x20_0001), &window(0x20_0001)]);
    assert_eq!(report.clients, []);
    assert_eq!((report.requests, report.equal_requests), (2, 2));
    assert_eq!(report.varying, None);
}

#[test]
fn resource_ids_are_compared_by_creating_request() {
    let report = diverge([&window(0x20_0001), &window(0x20_0007)]);
    assert_eq!(report.clients, []);
}

#[test]
fn first_extra_request_reports_preceding_event() {
    let mut reference = window(0x20_0001);
    reference.server_sends(&[expose(2)]);
    reference.client_sends(&[query_font(), get_input_focus()]);
    let mut other = window(0x20_0001);
    other.client_sends(&[get_input_focus()]);
    let report = diverge([&reference, &other]);
    let client = &report.clients[0];
    let first = client.first_request.as_ref().unwrap();
    assert_eq!(first.requests_before, 2);
    assert_eq!((first.reference.count, first.other.count), (1, 0));
    assert!(first.reference.requests[0].starts_with("QueryFont"));
    let cause = &client.received[0];
    assert_eq!(
        (cause.kind.as_str(), cause.message.as_str()),
        ("event", "Expose")
    );
    assert_eq!(
        (cause.other.as_ref(), cause.requests_between),
        (None, Some(0))
    );
}

#[test]
fn repeated_requests_are_reported_as_a_loop() {
    let reference = window(0x20_0001);
    let mut other = window(0x20_0001);
    for _ in 0..200 {
        other.wait(1000).client_sends(&[query_font()]);
    }
    let report = diverge([&reference, &other]);
    let first = report.clients[0].first_request.as_ref().unwrap();
    let repeated = first.other.repeated.as_ref().unwrap();
    assert_eq!(
        (repeated.request.as_str(), repeated.count),
        ("QueryFont", 200)
    );
    assert!(
        (900.0..1100.0).contains(&repeated.per_second),
        "{repeated:?}"
    );
}

/// The loop waits for the end of work that both recordings have.
#[test]
fn loop_between_equal_requests_is_recognised() {
    let [mut reference, mut other] = [(); 2].map(|()| window(0x20_0001));
    for number in 0..40 {
        let work = request(61, 0, &[0x20_0001, 0, number]);
        reference.client_sends(&[work.clone(), query_font()]);
        other.client_sends(&[work, query_font()]);
        for _ in 0..5 {
            other.wait(1000).client_sends(&[query_font()]);
        }
    }
    let report = diverge([&reference, &other]);
    let first = report.clients[0].first_request.as_ref().unwrap();
    assert_eq!(first.other.count, 5);
    let repeated = first.other.repeated.as_ref().unwrap();
    assert_eq!(
        (repeated.request.as_str(), repeated.count),
        ("QueryFont", 200)
    );
    assert_eq!(first.reference.repeated, None);
}

#[test]
fn requests_that_are_not_equal_have_a_reason() {
    let sides = [[1, 2, 3], [2, 1, 3]].map(|numbers| {
        let mut one = window(0x20_0001);
        one.client_sends(&numbers.map(|number| request(61, 0, &[0x20_0001, 0, number])));
        one
    });
    let report = diverge([&sides[0], &sides[1]]);
    assert_eq!(report.clients, []);
    assert_eq!((report.requests, report.equal_requests), (5, 4));
    assert_eq!(report.unequal_requests.moved, 1);
}

/// Messages whose fields exceed the limit are left out on both sides.
#[test]
fn fields_of_very_many_messages_are_not_kept() {
    let recording = |first: u8| {
        let mut one = window(0x20_0001);
        for number in 0..1300_u16 {
            let mut list = reply(number + 3);
            list[1] = 32;
            list[4..8].copy_from_slice(&1000_u32.to_le_bytes());
            list[16..20].copy_from_slice(&1000_u32.to_le_bytes());
            list.extend([first, 0, 0, 0].repeat(1000));
            one.wait(1000)
                .client_sends(&[request(20, 0, &[0x20_0001, 39, 6, 0, 1000])]);
            one.server_sends(&[list]);
        }
        one
    };
    let report = diverge([&recording(1), &recording(2)]);
    let counts: Vec<u64> = report.clients[0]
        .received
        .iter()
        .map(|one| one.count)
        .collect();
    assert!(counts.iter().sum::<u64>() <= 400_000, "{counts:?}");
    assert!(counts[0] > 390_000, "{counts:?}");
}

/// A client that reads a property of items of `format` bits, of which only the last one is not 0.
fn property(format: u8, items: usize, last: u8) -> Synthetic {
    let mut one = Synthetic::new();
    one.client_sends(&[request(20, 0, &[0x20_0001, 39, 19, 0, u32::MAX])]);
    let size = usize::from(format / 8);
    let mut value = vec![0; items * size];
    value[(items - 1) * size] = last;
    value.resize(value.len().next_multiple_of(4), 0);
    let mut reply = vec![1, format, 1, 0];
    for word in [value.len() as u32 / 4, 19, 0, items as u32] {
        reply.extend(word.to_le_bytes());
    }
    reply.resize(32, 0);
    reply.extend(value);
    one.server_sends(&[reply]);
    one
}

#[test]
fn long_lists_of_requests_are_compared_to_their_end() {
    // ChangeProperty of 1001 bytes, with unused bytes at the end, and FillPoly with a list of points.
    let recording = |id: u32, [last, unused]: [u8; 2], point: u32| {
        let mut one = window(id);
        let mut change = request(18, 0, &[id, 39, 31, 8, 1001]);
        change.extend([7; 1000]);
        change.extend([last, unused, unused, unused]);
        let mut fill = request(69, 0, &[id, id, 0]);
        fill.extend([1; 2000]);
        fill.extend(point.to_le_bytes());
        for bytes in [change, fill] {
            let mut bytes = bytes;
            let words = (bytes.len() / 4) as u16;
            bytes[2..4].copy_from_slice(&words.to_le_bytes());
            one.client_sends(&[bytes]);
        }
        one
    };
    let same = recording(0x20_0001, [1, 2], 3);
    let report = diverge([&same, &recording(0x20_0007, [1, 9], 3)]);
    assert_eq!(report.clients, []);
    for other in [
        recording(0x20_0001, [2, 2], 3),
        recording(0x20_0001, [1, 2], 4),
    ] {
        let report = diverge([&same, &other]);
        assert_eq!((report.requests, report.equal_requests), (4, 3));
        assert_eq!(report.clients[0].request_differences, 1);
    }
}

#[test]
fn long_replies_are_compared_to_their_end() {
    let difference = |format, items| {
        assert_eq!(
            diverge([&property(format, items, 5), &property(format, items, 5)]).clients,
            []
        );
        let report = diverge([&property(format, items, 5), &property(format, items, 6)]);
        let one = &report.clients[0].received[0];
        assert_eq!(one.message, "GetProperty");
        assert_ne!(one.reference, one.other);
        (one.field.clone().unwrap(), one.reference.clone().unwrap())
    };
    assert_eq!(difference(32, 1500), ("value[1499]".into(), "5".into()));
    let (field, value) = difference(8, 1500);
    assert_eq!(
        (field.as_str(), value.ends_with("\\0\\u{5}\"")),
        ("value", true)
    );
    // More than is kept of a text, more fields than are kept, more bytes than are decoded.
    for (format, items) in [(8, 5000), (32, 5000), (8, 600_000), (32, 600_000)] {
        let (field, value) = difference(format, items);
        assert!(value.contains("checksum "), "{field}: {value}");
    }
    let report = diverge([&property(32, 1500, 5), &property(32, 1504, 5)]);
    let mut lengths = report.clients[0].received.iter();
    let length = lengths.find(|one| one.field.as_deref() == Some("value[]"));
    let length = length.unwrap();
    assert_eq!(length.reference.as_deref(), Some("1500 items"));
    assert_eq!(length.other.as_deref(), Some("1504 items"));
}

#[test]
fn connection_that_only_one_server_closes_is_reported() {
    let mut other = window(0x20_0001);
    other.wait(2_000_000).control(Control::Closed {
        connection: ConnectionId(1),
        by: "server".to_owned(),
        why: None,
    });
    let report = diverge([&window(0x20_0001), &other]);
    let closed = report.clients[0].closed_by_server.as_ref().unwrap();
    assert_eq!((closed.in_reference, closed.since_ms), (false, 2000.0));
    assert_eq!(diverge([&other, &other]).clients, []);
}

/// WM_HINTS (35) contains windows, but its type does not define which items these are.
#[test]
fn own_window_in_hints_is_compared_by_its_creation() {
    let hints = |window: u32, flags: u32| {
        let mut one = Synthetic::new();
        let create = request(1, 0, &[window, 0x10, 0, 0x10_0010, 0, 0, 0]);
        let hints = request(18, 0, &[window, 35, 35, 32, 2, flags, window]);
        one.client_sends(&[create, hints, get_input_focus()]);
        one.server_sends(&[reply(3)]);
        one
    };
    let report = diverge([&hints(0x20_0001, 64), &hints(0x20_0007, 64)]);
    assert_eq!(report.clients, []);
    let report = diverge([&hints(0x20_0001, 64), &hints(0x20_0007, 65)]);
    assert!(report.clients[0].first_request.is_some());
}

#[test]
fn equal_server_ids_are_the_same() {
    use super::meaning::{PairedIds, ServerNumber::Id};
    let mut ids = PairedIds::default();
    assert!(ids.pair(Id(0x21), Id(0x40)));
    assert!(ids.pair(Id(0x21), Id(0x40)) && ids.pair(Id(0x21), Id(0x21)));
    assert!(!ids.pair(Id(0x21), Id(0x41)) && !ids.can_be_same(Id(0x22), Id(0x40)));
}

#[test]
fn field_beyond_the_limit_of_one_side_is_not_missing() {
    let report = diverge([&property(32, 1500, 5), &property(32, 5000, 5)]);
    let received = &report.clients[0].received;
    let fields: Vec<_> = received.iter().map(|one| one.field.as_deref()).collect();
    assert!(fields.contains(&Some("value[]")), "{fields:?}");
    let both = received
        .iter()
        .all(|one| one.reference.is_some() && one.other.is_some());
    assert!(both, "{received:?}");
}

#[test]
fn swapped_events_are_reported_by_their_positions() {
    let with = |codes: [u8; 3]| {
        let mut one = window(0x20_0001);
        for code in codes {
            let mut event = expose(2);
            event[0] = code;
            one.server_sends(&[event]);
        }
        one
    };
    let report = diverge([&with([12, 19, 18]), &with([19, 12, 18])]);
    let [one] = report.clients[0].received.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!((one.kind.as_str(), one.count), ("event", 1));
    assert_eq!(one.field.as_deref(), Some(ReceivedDifference::MOVED));
    assert!(one.reference.is_some() && one.other.is_some());
    let report = diverge([&with([12, 19, 18]), &with([19, 18, 18])]);
    let missing = &report.clients[0].received[0];
    assert_eq!(
        (missing.message.as_str(), &missing.other),
        ("Expose", &None)
    );
}

/// Both recordings end while the client is active, the other one earlier in the program.
#[test]
fn end_of_an_active_clients_recording_is_not_compared() {
    let [mut reference, mut other] = [(); 2].map(|()| window(0x20_0001));
    reference.client_sends(&[query_font(), get_input_focus()]);
    reference.server_sends(&[expose(4)]);
    reference.client_sends(&[map_window(0x20_0001)]);
    let report = diverge([&reference, &other]);
    assert_eq!((report.clients.as_slice(), report.left_out), (&[][..], 4));
    let report = diverge([&other, &reference]);
    assert_eq!((report.clients.as_slice(), report.left_out), (&[][..], 4));
    // The client stops in the other recording.
    for side in [&mut reference, &mut other] {
        side.wait(1_000_000).control(Control::Closed {
            connection: ConnectionId(1),
            by: "client".to_owned(),
            why: None,
        });
    }
    let report = diverge([&reference, &other]);
    assert!(report.clients[0].first_request.is_some());
    assert_eq!(report.left_out, 0);
}

#[test]
fn flood_of_events_is_counted_to_its_end() {
    let [mut reference, mut other] = [(); 2].map(|()| window(0x20_0001));
    for _ in 0..30_000 {
        other.server_sends(&[expose(2)]);
    }
    reference.client_sends(&[get_input_focus()]);
    other.client_sends(&[get_input_focus()]);
    let report = diverge([&reference, &other]);
    let [flood] = report.clients[0].received.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!((flood.message.as_str(), flood.count), ("Expose", 30_000));
    assert_eq!(report.left_out, 0);
}

#[test]
fn client_that_ends_does_not_wait_for_a_reply() {
    let mut reference = window(0x20_0001);
    reference.client_sends(&[query_font()]);
    let mut other = window(0x20_0001);
    other.client_sends(&[query_font()]);
    let mut ended = other.records.clone();
    reference.server_sends(&[reply(3)]);
    let report = diverge([&reference, &other]);
    assert!(report.clients[0].waits_for.is_some());
    other.control(Control::Closed {
        connection: ConnectionId(1),
        by: "client".to_owned(),
        why: None,
    });
    assert_eq!(diverge([&reference, &other]).clients, []);
    // The client is stopped after it waited.
    std::mem::swap(&mut other.records, &mut ended);
    other.wait(2_000_000).control(Control::Closed {
        connection: ConnectionId(1),
        by: "client".to_owned(),
        why: None,
    });
    let report = diverge([&reference, &other]);
    assert!(report.clients[0].waits_for.is_some());
}

#[test]
fn bytes_of_a_sent_event_are_not_compared() {
    let message = |window: u32, mask: u32| {
        let mut one = Synthetic::new();
        let create = request(1, 0, &[window, 0x10, 0, 0x10_0010, 0, 0, 0]);
        let event = [window, mask, 33 | 32 << 8, window, 39, 0, 0, 0, 0, 0];
        one.client_sends(&[create, request(25, 0, &event), get_input_focus()]);
        one.server_sends(&[reply(3)]);
        one
    };
    let report = diverge([&message(0x20_0001, 7), &message(0x20_0007, 7)]);
    assert_eq!(report.clients, []);
    let report = diverge([&message(0x20_0001, 7), &message(0x20_0007, 8)]);
    assert!(report.clients[0].first_request.is_some());
}

#[test]
fn request_without_effect_is_no_difference() {
    let mut other = window(0x20_0001);
    other.client_sends(&[request(127, 0, &[])]);
    assert_eq!(diverge([&window(0x20_0001), &other]).clients, []);
}

#[test]
fn difference_that_does_not_occur_again_is_left_out() {
    let [mut reference, mut other, mut again] = [(); 3].map(|()| window(0x20_0001));
    other.server_sends(&[expose(2)]);
    other.client_sends(&[query_font()]);
    again.client_sends(&[query_font()]);
    for one in [&mut reference, &mut other, &mut again] {
        one.client_sends(&[get_input_focus()]);
    }
    let (divergence, details) = detailed([&reference, &other]);
    let kinds = |sides| {
        let (divergence, details) = detailed(sides);
        divergence.kinds(&details)
    };
    let report = |other_again: &[DifferenceKinds]| {
        divergence.report(&streams(&reference), &details, &[], other_again)
    };
    assert_eq!(report(&[]).clients[0].received[0].message, "Expose");
    let with_again = report(&[kinds([&reference, &again])]);
    assert_eq!(with_again.varying, Some(1));
    assert_eq!(with_again.clients[0].received, []);
    assert!(with_again.clients[0].first_request.is_some());
    assert_eq!(report(&[kinds([&reference; 2])]).clients, []);
}

#[test]
fn value_that_the_request_has_is_named_before_nearer_ones() {
    let recording = |width: u16, height: u16| {
        let mut one = Synthetic::new();
        one.client_sends(&[request(14, 0, &[0x10]), request(14, 0, &[0x10])]);
        for (sequence, x, width) in [(1, 0, width), (2, height, 10)] {
            let mut geometry = reply(sequence);
            geometry[12..14].copy_from_slice(&x.to_le_bytes());
            geometry[16..18].copy_from_slice(&width.to_le_bytes());
            one.server_sends(&[geometry]);
        }
        let size = u32::from(width) | 10 << 16;
        one.client_sends(&[request(1, 0, &[0x20_0001, 0x10, 0, size, 0, 0, 0])]);
        one
    };
    let report = diverge([&recording(640, 3), &recording(800, 4)]);
    let received = report.clients[0].received.iter();
    let fields = received.map(|one| (one.field.as_deref().unwrap(), one.in_request));
    assert_eq!(fields.collect::<Vec<_>>(), [("width", true), ("x", false)]);
}
