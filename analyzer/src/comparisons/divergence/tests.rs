use super::{DisplayStreams, Divergence, DivergenceReport};
use crate::Pipeline;
use crate::testing::{Synthetic, expose, get_input_focus, map_window, query_font, reply, request};

/// The differences of two synthetic recordings.
fn diverge(sides: [&Synthetic; 2]) -> DivergenceReport {
    let streams = sides.map(|side| {
        let mut streams = DisplayStreams::new();
        Pipeline::new().run_records(side.records.iter().cloned(), |observation| {
            streams.observe(observation)
        });
        streams
    });
    let divergence = Divergence::new(&streams[0], &streams[1]);
    let mut details = divergence.details();
    for (details, side) in details.iter_mut().zip(sides) {
        Pipeline::new().run_records(side.records.iter().cloned(), |observation| {
            details.observe(observation)
        });
        assert!(details.is_complete());
    }
    divergence.report(&streams[0], &details, &[])
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
