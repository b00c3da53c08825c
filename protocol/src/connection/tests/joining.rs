use super::{Desk, GET_INPUT_FOCUS, NO_OPERATION};
use crate::connection::ConnectionCheckpoint;
use crate::{ByteOrder, Connection, SequenceNumber};

fn joint(last: u64) -> ConnectionCheckpoint {
    ConnectionCheckpoint {
        order: ByteOrder::Little,
        last_request: SequenceNumber(last),
        setup: false,
        awaited: Vec::new(),
    }
}

fn reply(number: u16) -> [u8; 32] {
    let mut reply = [0; 32];
    reply[0] = 1;
    reply[2..4].copy_from_slice(&number.to_le_bytes());
    reply
}

#[test]
fn connection_resumes_at_a_checkpoint() {
    let mut desk = Desk::new();
    desk.connection.join(&joint(70_000), &desk.extensions);
    desk.client(&GET_INPUT_FOCUS);
    desk.server(&reply(70_001_u32 as u16));
    assert!(
        desk.said[0].starts_with("70001 GetInputFocus"),
        "{:?}",
        desk.said
    );
    assert!(desk.said[1].contains("70001"), "{:?}", desk.said);
    // Requests in between are missing.
    desk.connection.join(&joint(70_010), &desk.extensions);
    desk.client(&NO_OPERATION);
    assert!(
        desk.said[2].starts_with("70011 NoOperation"),
        "{:?}",
        desk.said
    );
}

#[test]
fn reply_is_paired_across_a_large_gap_of_numbers() {
    let mut desk = Desk::new();
    let joint = ConnectionCheckpoint {
        awaited: vec![(SequenceNumber(1), 43, 0)],
        ..joint(1 << 44)
    };
    desk.connection.join(&joint, &desk.extensions);
    desk.client(&GET_INPUT_FOCUS);
    // Between the two pending requests there are 2^28 numbers with these bits.
    desk.server(&reply(2));
    desk.server(&reply(1));
    let last = desk.said.last().expect("a message");
    assert!(
        last.contains(&format!("{}", (1_u64 << 44) + 1)),
        "{:?}",
        desk.said
    );
}

#[test]
fn resumed_connection_matches_the_whole_one() {
    let mut whole = Desk::open();
    whole.client(&NO_OPERATION);
    whole.client(&GET_INPUT_FOCUS);
    // The first half of a QueryPointer request has arrived.
    whole.client(&[38, 0, 2, 0]);
    let (joint, under_way) = whole.connection.joint(&whole.extensions).unwrap();
    assert_eq!((joint.last_request.0, under_way), (3, [4, 0]));
    let awaited: Vec<_> = joint.awaited.iter().map(|one| (one.0.0, one.1)).collect();
    assert_eq!(awaited, [(2, 43), (3, 38)]);

    let mut part = Desk::new();
    part.connection.join(&joint, &part.extensions);
    whole.client(&[1, 0, 0, 0]);
    whole.said.clear();
    for desk in [&mut whole, &mut part] {
        desk.server(&reply(2));
        desk.server(&reply(3));
        desk.client(&NO_OPERATION);
    }
    assert_eq!(whole.said, part.said);
}

#[test]
fn no_checkpoint_during_setup_or_partial_header() {
    let mut desk = Desk::new();
    assert_eq!(desk.connection.joint(&desk.extensions), None);
    desk.connection = Connection::new();
    let mut desk = Desk::open();
    desk.client(&[127, 0]);
    assert_eq!(desk.connection.joint(&desk.extensions), None);
}
