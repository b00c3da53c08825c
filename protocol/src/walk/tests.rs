use proptest::prelude::*;

use super::Walker;
use crate::{ByteOrder, Head, HeadKind, Side};

/// A piece without its borrow: bytes, head, offset, ends.
type Seen = (Vec<u8>, Option<Head>, u64, bool);

fn walk(walker: &mut Walker, bytes: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    walker.feed(bytes, |piece| {
        assert_eq!(piece.bytes, &bytes[piece.at..][..piece.bytes.len()]);
        seen.push((piece.bytes.to_vec(), piece.head, piece.offset, piece.ends));
    });
    seen
}

fn lengths(seen: &[Seen]) -> Vec<(HeadKind, u64)> {
    let ends = seen.iter().filter(|(.., ends)| *ends);
    ends.map(|(_, head, ..)| head.map_or((HeadKind::Event, 0), |head| (head.kind, head.len)))
        .collect()
}

fn client(order: u8) -> (Walker, Vec<Seen>) {
    let mut walker = Walker::new(Side::Client);
    let seen = walk(&mut walker, &[order, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0]);
    (walker, seen)
}

fn server(order: ByteOrder) -> Walker {
    let mut walker = Walker::new(Side::Server);
    walker.set_order(order);
    let seen = walk(&mut walker, &[1, 0, 0, 11, 0, 0, 0, 0]);
    assert_eq!(lengths(&seen), [(HeadKind::ServerSetup, 8)]);
    walker
}

#[test]
fn setup_length_includes_padded_name_and_data() {
    let mut walker = Walker::new(Side::Client);
    let mut setup = vec![b'l', 0, 11, 0, 0, 0, 18, 0, 16, 0, 0, 0];
    setup.extend(b"MIT-MAGIC-COOKIE-1\0\0");
    setup.extend([7; 16]);
    let seen = walk(&mut walker, &setup);
    assert_eq!(lengths(&seen), [(HeadKind::ClientSetup, 48)]);
    assert_eq!(seen[0].1.map(|head| head.header_len), Some(12));
    assert_eq!(walker.order(), Some(ByteOrder::Little));
}

#[test]
fn requests_are_framed_in_both_byte_orders() {
    let (mut walker, seen) = client(b'B');
    assert_eq!(lengths(&seen), [(HeadKind::ClientSetup, 12)]);
    assert_eq!(walker.order(), Some(ByteOrder::Big));
    let seen = walk(&mut walker, &[127, 9, 0, 2, 0, 0, 0, 0, 43, 0, 0, 1]);
    assert_eq!(
        lengths(&seen),
        [(HeadKind::Request, 8), (HeadKind::Request, 4)]
    );
    let head = seen[0]
        .1
        .map(|head| (head.code, head.data, head.header_len));
    assert_eq!(head, Some((127, 9, 4)));

    let (mut walker, _) = client(b'l');
    let seen = walk(&mut walker, &[43, 0, 1, 0, 127, 9, 2, 0, 0, 0, 0, 0]);
    assert_eq!(
        lengths(&seen),
        [(HeadKind::Request, 4), (HeadKind::Request, 8)]
    );
}

#[test]
fn big_request_length_follows_the_header() {
    let (mut walker, _) = client(b'l');
    // The longest possible request: 4 bytes * 0xFFFFFFFF.
    let seen = walk(&mut walker, &[72, 2, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2]);
    assert_eq!(seen.len(), 1);
    let head = seen[0].1.map(|head| (head.header_len, head.len));
    assert_eq!(head, Some((8, 0x3_FFFF_FFFC)));
    assert!(!walker.skip(0x3_FFFF_FFFC - 11));
    assert!(walker.skip(1));
    assert_eq!(walk(&mut walker, &[127, 0, 1, 0])[0].2, 0);
}

#[test]
fn big_length_shorter_than_header_covers_the_header() {
    let (mut walker, _) = client(b'l');
    for units in [0, 1] {
        let seen = walk(&mut walker, &[72, 2, 0, 0, units, 0, 0, 0]);
        assert_eq!(lengths(&seen), [(HeadKind::Request, 8)]);
    }
}

#[test]
fn server_messages_have_correct_kinds_and_lengths() {
    let mut walker = server(ByteOrder::Little);
    let mut bytes = Vec::new();
    let mut message = |code: u8, units: u8, len: usize| {
        let start = bytes.len();
        bytes.extend([code, 0, 0, 0, units, 0, 0, 0]);
        bytes.resize(start + len, 0);
    };
    message(1, 2, 40); // a reply
    message(35, 1, 36); // a GenericEvent
    message(0x80 | 35, 1, 36); // one through SendEvent
    message(12, 200, 32); // Expose: bytes 4 to 8 are its window
    message(0, 200, 32); // an error: its bad value
    assert_eq!(
        lengths(&walk(&mut walker, &bytes)),
        [
            (HeadKind::Reply, 40),
            (HeadKind::Event, 36),
            (HeadKind::Event, 36),
            (HeadKind::Event, 32),
            (HeadKind::Error, 32)
        ]
    );
}

#[test]
fn refused_setup_ends_the_stream_but_authenticate_continues() {
    let mut walker = Walker::new(Side::Server);
    walker.set_order(ByteOrder::Big);
    let seen = walk(
        &mut walker,
        &[2, 0, 0, 0, 0, 0, 0, 1, b'm', b'o', b'r', b'e'],
    );
    assert_eq!(lengths(&seen), [(HeadKind::ServerSetup, 12)]);
    let seen = walk(&mut walker, &[0, 2, 0, 11, 0, 0, 0, 1, b'n', b'o', 0, 0]);
    assert_eq!(lengths(&seen), [(HeadKind::ServerSetup, 12)]);
    let mut lost = None;
    walker.feed(&[1; 40], |piece| lost = piece.lost);
    assert_eq!(lost, Some("the server had refused the connection"));
}

#[test]
fn non_x11_streams_are_not_framed() {
    let mut walker = Walker::new(Side::Client);
    assert_eq!(lengths(&walk(&mut walker, b"GET / HTTP/1.1")), []);
    assert_eq!(walker.order(), None);
    let mut walker = Walker::new(Side::Server);
    assert_eq!(lengths(&walk(&mut walker, &[1; 64])), []);
}

#[test]
fn skipping_past_a_message_loses_framing() {
    let (mut walker, _) = client(b'l');
    walk(&mut walker, &[72, 2, 3, 0]);
    assert!(!walker.skip(9));
    assert_eq!(lengths(&walk(&mut walker, &[127, 0, 1, 0])), []);
}

proptest! {
    #[test]
    fn splitting_preserves_bytes_and_message_boundaries(
        side in prop::sample::select(vec![Side::Client, Side::Server]),
        tail in prop::collection::vec(any::<u8>(), 0..600),
        cuts in prop::collection::vec(1..40_usize, 1..40),
    ) {
        let fresh = || match side {
            Side::Client => client(b'l').0,
            Side::Server => server(ByteOrder::Little),
        };
        let whole = walk(&mut fresh(), &tail);
        let mut walker = fresh();
        let mut split = Vec::new();
        let mut rest = &tail[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at(rest.len().min(*cut));
            split.extend(walk(&mut walker, now));
            rest = later;
        }
        let joined: Vec<u8> = split.iter().flat_map(|(bytes, ..)| bytes.clone()).collect();
        prop_assert_eq!(joined, tail);
        prop_assert_eq!(lengths(&split), lengths(&whole));
    }
}
