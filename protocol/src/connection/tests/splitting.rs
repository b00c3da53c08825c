//! The messages of a stream do not depend on how the stream is split, and any bytes are accepted as a stream.

use proptest::prelude::*;

use super::{ACCEPTED, Desk, GET_INPUT_FOCUS, NO_OPERATION, SETUP, answer, reply};
use crate::{Input, Side};

/// A conversation with all kinds of messages, and the direction of each.
fn conversation() -> Vec<(Side, Vec<u8>)> {
    let mut query = vec![98, 0, 4, 0, 6, 0, 0, 0];
    query.extend(b"RENDER\0\0");
    let mut present = reply(1, 0);
    present[8..12].copy_from_slice(&[1, 139, 0, 142]);
    let mut big = vec![72, 2, 0, 0, 12, 0, 0, 0];
    big.resize(48, 3);
    vec![
        (Side::Client, SETUP.to_vec()),
        (Side::Server, ACCEPTED.to_vec()),
        (Side::Client, [&query[..], &NO_OPERATION].concat()),
        (
            Side::Server,
            [present, answer([12, 0, 2, 0, 0, 0, 0, 0], 32)].concat(),
        ),
        (
            Side::Client,
            [&big[..], &[139, 8, 1, 0], &GET_INPUT_FOCUS].concat(),
        ),
        (
            Side::Server,
            [
                answer([35, 139, 4, 0, 3, 0, 0, 0], 44),
                answer([0, 1, 3, 0, 0, 0, 0, 0], 32),
                answer([1, 0, 5, 0, 2, 0, 0, 0], 40),
            ]
            .concat(),
        ),
    ]
}

proptest! {
    #[test]
    fn splitting_the_stream_changes_nothing(
        cuts in prop::collection::vec(1..20_usize, 1..60),
    ) {
        let mut whole = Desk::new();
        let mut split = Desk::new();
        let mut cuts = cuts.iter().cycle();
        for (side, bytes) in conversation() {
            whole.input(side, Input::Bytes(&bytes));
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let cut = cuts.next().copied().unwrap_or(1);
                let (now, later) = rest.split_at(cut.min(rest.len()));
                split.input(side, Input::Bytes(now));
                rest = later;
            }
        }
        prop_assert_eq!(whole.said.len(), 12);
        prop_assert_eq!(split.said, whole.said);
    }

    #[test]
    fn garbage_never_panics_and_memory_is_bounded(
        parts in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..300), 0..2_000_u64),
            0..60,
        ),
        opened in any::<bool>(),
    ) {
        let mut desk = if opened { Desk::open() } else { Desk::new() }
            .with("RENDER", 139, 0, 142)
            .with("XKEYBOARD", 135, 85, 137);
        for (from_client, bytes, gap) in parts {
            let side = if from_client { Side::Client } else { Side::Server };
            desk.input(side, Input::Bytes(&bytes));
            if gap > 1000 {
                desk.input(side, Input::Omitted(gap - 1000));
            }
        }
        prop_assert!(desk.connection.awaiting_reply() <= 1 << 16);
        prop_assert!(desk.connection.client.kept() <= 2 << 20);
        prop_assert!(desk.connection.server.kept() <= 2 << 20);
    }
}

#[test]
fn splitting_at_every_boundary_changes_nothing() {
    let mut whole = Desk::new();
    for (side, bytes) in conversation() {
        whole.input(side, Input::Bytes(&bytes));
    }
    for at in 1..100 {
        let mut split = Desk::new();
        for (side, bytes) in conversation() {
            let (now, later) = bytes.split_at(at.min(bytes.len()));
            split.input(side, Input::Bytes(now));
            split.input(side, Input::Bytes(later));
        }
        assert_eq!(split.said, whole.said, "split at {at}");
    }
}
