//! Random streams of requests pass through the rewriter to a simulated server, in parts of any length and with any
//! delay. The client must receive the same replies as without the rewriter, in a valid order.

mod simulated_server;

use std::collections::VecDeque;

use proptest::collection::vec;
use proptest::prelude::*;
use x11prof_protocol::ByteOrder;
use x11prof_trace::Direction;

use super::rewriter::Rewriter;
use super::{Opcodes, Rewrite};
use simulated_server::{Order, ScriptedRequest, Server};

const OPCODES: Opcodes = Opcodes {
    big_requests: 133,
    randr: 140,
    record: 146,
};

fn asked() -> impl Strategy<Value = ScriptedRequest> {
    prop_oneof![
        6 => (0..6u8, any::<bool>()).prop_map(|(name, only)| ScriptedRequest::Atom(name, only)),
        3 => (0..4u8).prop_map(ScriptedRequest::Extension),
        2 => (1..20u8).prop_map(ScriptedRequest::Void),
        1 => Just(ScriptedRequest::Fails),
        1 => (1..9u8).prop_map(ScriptedRequest::NoOperation),
        1 => Just(ScriptedRequest::Sync),
        1 => (0..60u8).prop_map(ScriptedRequest::Long),
        1 => (0..3u8).prop_map(ScriptedRequest::Fonts),
        1 => (2..200u8).prop_map(ScriptedRequest::Big),
        1 => Just(ScriptedRequest::Screen),
    ]
}

/// A step of a simulated session.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The client sends N more bytes.
    Sends(u16),
    /// N bytes arrive at the server.
    Arrive(u16),
    /// The server handles N requests.
    Works(u8),
    /// The server sends an event.
    Event(bool),
    /// N bytes of the server arrive at the rewriter.
    Return(u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(
        prop_oneof![
            4 => (1..60u16).prop_map(Step::Sends),
            4 => (1..90u16).prop_map(Step::Arrive),
            4 => (1..5u8).prop_map(Step::Works),
            1 => any::<bool>().prop_map(Step::Event),
            4 => (1..150u16).prop_map(Step::Return),
        ],
        0..400,
    )
}

fn take(from: &mut Vec<u8>, most: usize) -> Vec<u8> {
    let rest = from.split_off(most.min(from.len()));
    std::mem::replace(from, rest)
}

/// The messages that a client reads after the setup's reply, each with its sequence number at full width. Sequence
/// numbers must never decrease.
fn messages(order: Order, before: u64, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (mut at, mut last, mut found) = (28, before, Vec::new());
    while at < bytes.len() {
        let code = bytes[at];
        let more = match code {
            1 | 35 => order.0.u32(bytes, at + 4).unwrap() as usize * 4,
            _ => 0,
        };
        let number = order.0.u16(bytes, at + 2).unwrap();
        let ahead = number.wrapping_sub(last as u16);
        assert!(ahead < 1 << 15, "numbers go back from {last} to {number}");
        last += u64::from(ahead);
        found.push((last, bytes[at..at + 32 + more].to_vec()));
        at += 32 + more;
    }
    assert_eq!(at, bytes.len().max(28));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rewriting_is_invisible_to_the_client(
        asked in vec(asked(), 1..120),
        steps in steps(),
        big_endian in any::<bool>(),
        first in prop_oneof![1..9u64, 65_430..65_560u64],
    ) {
        let order = Order(if big_endian { ByteOrder::Big } else { ByteOrder::Little });
        let mut plain = Server::after(order, first);
        plain.come.extend(asked.iter().flat_map(|asked| order.bytes(*asked)));
        while plain.step() {}

        let rewrites = Rewrite::ALL;
        let mut rewriter = Rewriter::new(&rewrites, OPCODES, order.0).after(first - 1);
        let mut server = Server::after(order, first);
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        // BIG-REQUESTS is enabled from the start; the simulated server supports nothing else.
        let enable = order.request(133, 0, &[]);
        rewriter.take_from_client(&enable, &mut to_server, &mut to_client);
        to_server.clear();
        let mut client: VecDeque<u8> = asked.iter().flat_map(|asked| order.bytes(*asked)).collect();
        let mut events = 0;
        let finish = [Step::Sends(u16::MAX), Step::Arrive(u16::MAX), Step::Works(255), Step::Return(u16::MAX)];
        for step in steps.into_iter().chain([finish; 4].concat()) {
            match step {
                Step::Sends(bytes) => {
                    let count = usize::from(bytes).min(client.len());
                    let bytes: Vec<u8> = client.drain(..count).collect();
                    rewriter.take_from_client(&bytes, &mut to_server, &mut to_client);
                }
                Step::Arrive(bytes) => {
                    let bytes = take(&mut to_server, usize::from(bytes));
                    server.come.extend(bytes);
                }
                Step::Works(requests) => {
                    for _ in 0..requests {
                        server.step();
                    }
                }
                Step::Event(generic) => {
                    events += 1;
                    server.event(generic);
                }
                Step::Return(bytes) => {
                    let bytes = take(&mut server.said, usize::from(bytes));
                    rewriter.take_from_server(&bytes, &mut to_client);
                }
            }
        }
        prop_assert!(client.is_empty() && to_server.is_empty() && server.said.is_empty());
        prop_assert!(rewriter.end(Direction::ToServer).is_empty() && rewriter.end(Direction::ToClient).is_empty());

        // The server has received the same requests with the same lengths, except for the requests to which the
        // rewriter replied.
        prop_assert_eq!(server.got.len(), plain.got.len());
        let mut answered = 0;
        for (got, sent) in server.got.iter().zip(&plain.got) {
            if got != sent {
                prop_assert_eq!(got.len(), sent.len());
                match (sent[0], sent[1]) {
                    (140, 8) => prop_assert_eq!(got[1], 25),
                    (16 | 98, _) => {
                        prop_assert_eq!(got[0], 127);
                        answered += 1;
                    }
                    _ => prop_assert!(false, "{:?} became {:?}", sent, got),
                }
            }
        }
        let [queries, atoms, ..] = rewriter.counts;
        prop_assert_eq!(answered, queries + atoms);

        // The client has received the same replies and errors, byte for byte and in order, and all events.
        let reported = messages(order, first, &to_client);
        let plain = messages(order, first, &plain.said);
        let replies: Vec<_> = reported.iter().filter(|(_, message)| message[0] < 2).collect();
        prop_assert_eq!(replies, plain.iter().collect::<Vec<_>>());
        prop_assert_eq!(reported.len() - plain.len(), events);
    }
}

fn serially(rewrites: &[Rewrite], asked: &[ScriptedRequest]) -> (Vec<u8>, super::Counts) {
    let order = Order(ByteOrder::Little);
    let (mut rewriter, mut server) = (
        Rewriter::new(rewrites, OPCODES, order.0),
        Server::after(order, 0),
    );
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    rewriter.take_from_server(&take(&mut server.said, 1000), &mut to_client);
    let mut reported = Vec::new();
    for asked in asked {
        rewriter.take_from_client(&order.bytes(*asked), &mut to_server, &mut to_client);
        reported.push(to_client.len() > 28);
        server.come.append(&mut to_server);
        server.step();
        rewriter.take_from_server(&take(&mut server.said, 1000), &mut to_client);
        to_client.truncate(28);
    }
    // The messages to the client before the server's own messages.
    let reported = reported.into_iter().map(u8::from).collect();
    (reported, rewriter.counts)
}

#[test]
fn repeated_request_gets_an_immediate_reply() {
    use ScriptedRequest::{Atom, Extension, Fails, Sync, Void};
    let asked = [
        Atom(1, false),
        Atom(1, false),
        Extension(2),
        Extension(2),
        Atom(1, true),
    ];
    assert_eq!(
        serially(&Rewrite::ALL, &asked),
        (vec![0, 1, 0, 1, 1], [1, 2, 0, 0])
    );
    // A pending request that may fail prevents the rewriter from replying.
    let asked = [
        Atom(1, false),
        Void(3),
        Atom(1, false),
        Void(3),
        Sync,
        Atom(1, false),
        Fails,
        Atom(1, false),
    ];
    assert_eq!(serially(&Rewrite::ALL, &asked).0, [0, 0, 0, 0, 0, 1, 0, 1]);
    // Replies of None are not cached.
    let asked = [Atom(2, true), Atom(2, true), Atom(2, false), Atom(2, true)];
    assert_eq!(serially(&Rewrite::ALL, &asked).0, [0, 0, 0, 1]);
    // Only the chosen rewrites are tried.
    let asked = [
        Atom(1, false),
        Atom(1, false),
        Extension(2),
        Extension(2),
        ScriptedRequest::Screen,
    ];
    assert_eq!(
        serially(&[Rewrite::AnswerQueries], &asked),
        (vec![0, 0, 0, 1, 0], [1, 0, 0, 0])
    );
    assert_eq!(
        serially(&[Rewrite::CurrentResources], &asked).1,
        [0, 0, 1, 0]
    );
}

#[test]
fn in_flight_event_gets_the_latest_reply_number() {
    let order = Order(ByteOrder::Big);
    let (mut rewriter, mut server) = (
        Rewriter::new(&Rewrite::ALL, OPCODES, order.0),
        Server::after(order, 0),
    );
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    rewriter.take_from_client(
        &order.bytes(ScriptedRequest::Atom(1, false)),
        &mut to_server,
        &mut to_client,
    );
    server.come.append(&mut to_server);
    server.step();
    rewriter.take_from_server(&take(&mut server.said, 1000), &mut to_client);
    server.event(false);
    rewriter.take_from_client(
        &order.bytes(ScriptedRequest::Atom(1, false)),
        &mut to_server,
        &mut to_client,
    );
    rewriter.take_from_server(&take(&mut server.said, 1000), &mut to_client);
    let reported = messages(order, 0, &to_client);
    let reported: Vec<_> = reported
        .iter()
        .map(|(number, message)| (*number, message[0]))
        .collect();
    assert_eq!(reported, [(1, 1), (2, 1), (2, 12)]);
}

#[test]
fn shared_memory_extensions_are_hidden() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let query = |name: &str| {
            let number = |value: u16| match order {
                ByteOrder::Little => value.to_le_bytes(),
                ByteOrder::Big => value.to_be_bytes(),
            };
            let padded = name.len().next_multiple_of(4);
            let mut bytes = vec![98, 0];
            bytes.extend(number((2 + padded / 4) as u16));
            bytes.extend(number(name.len() as u16));
            bytes.extend([0; 2]);
            bytes.extend(name.as_bytes());
            bytes.resize(8 + padded, 0);
            bytes
        };
        let mut rewriter = Rewriter::new(&[Rewrite::NoSharing], OPCODES, order);
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        let mut said = query("MIT-SHM");
        said.extend(query("RENDER"));
        said.extend(query("DRI3"));
        // The requests arrive in parts of five bytes.
        for piece in said.chunks(5) {
            rewriter.take_from_client(piece, &mut to_server, &mut to_client);
        }
        let mut expected = query("???????");
        expected.extend(query("RENDER"));
        expected.extend(query("????"));
        assert_eq!(to_server, expected);
        assert_eq!((to_client.len(), rewriter.counts), (0, [0, 0, 0, 2]));
    }
}

#[test]
fn shared_memory_extensions_are_not_listed() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let two = |value: u16| match order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        let four = |value: u32| match order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        let message = |code, names: &[&str], sequence| {
            let list = names.iter().flat_map(|name| {
                let len = name.len() as u8;
                [&[len], name.as_bytes()].concat()
            });
            let mut list: Vec<u8> = list.collect();
            list.resize(list.len().next_multiple_of(4), 0);
            let mut bytes = vec![code, names.len() as u8];
            bytes.extend(two(sequence));
            bytes.extend(four(list.len() as u32 / 4));
            bytes.extend([7; 24]);
            bytes.append(&mut list);
            bytes
        };
        let setup = vec![0; 8];
        let from_server = [
            setup.clone(),
            message(12, &[], 1),
            message(1, &["RENDER", "MIT-SHM", "XTEST", "DRI3"], 2),
            message(1, &["MIT-SHM"], 3),
            message(1, &["RENDER"], 4),
        ];
        // Only replies to ListExtensions are changed.
        let expected = [
            setup,
            message(12, &[], 1),
            message(1, &["RENDER", "XTEST"], 2),
            message(1, &["MIT-SHM"], 3),
            message(1, &["RENDER"], 4),
        ];
        let from_server = from_server.concat();
        let request = |major| [&[major, 0][..], &two(1)].concat();
        let requests = [request(127), request(99), request(43), request(99)].concat();
        for piece in 1..from_server.len() {
            let mut rewriter = Rewriter::new(&[Rewrite::NoSharing], OPCODES, order);
            let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
            rewriter.take_from_client(&requests, &mut to_server, &mut to_client);
            assert_eq!(to_server, requests);
            for bytes in from_server.chunks(piece) {
                rewriter.take_from_server(bytes, &mut to_client);
            }
            assert_eq!(to_client, expected.concat(), "in pieces of {piece} bytes");
            assert_eq!(rewriter.counts, [0, 0, 0, 1]);
        }
    }
}
