use x11prof_trace::{Block, ConnectionId, Direction, Gap, Record, Timestamp};

use super::PcapNg;
use super::segment::{ACK, FIN, HEADERS, LONGEST_PAYLOAD, PUSH, SYN, checksum};
use x11prof_analyzer::testing::{Synthetic, get_input_focus, reply};

/// The parts of a packet that these tests read.
#[derive(Debug, PartialEq)]
struct Packet {
    ports: (u16, u16),
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    payload: Vec<u8>,
}

/// The packets of a capture. The blocks must have the lengths that they declare.
fn packets(file: &[u8]) -> Vec<Packet> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut packets) = (0, Vec::new());
    while at < file.len() {
        let len = word(at + 4) as usize;
        assert_eq!(word(at + len - 4) as usize, len);
        if word(at) == 6 {
            let packet = &file[at + 28..at + 28 + word(at + 20) as usize];
            let half = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            let number = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
            assert_eq!(usize::from(half(2)), packet.len());
            // The checksum of a header that includes its checksum is zero.
            assert_eq!(checksum(0, &packet[..20]), 0);
            assert_eq!(checksum(6 + packet.len() as u32 - 20, &packet[12..]), 0);
            packets.push(Packet {
                ports: (half(20), half(22)),
                sequence: number(24),
                acknowledged: number(28),
                flags: packet[33],
                payload: packet[HEADERS..].to_vec(),
            });
        }
        at += len;
    }
    packets
}

fn capture(records: &[Record]) -> Vec<Packet> {
    let mut file = Vec::new();
    let mut capture = PcapNg::new(&mut file).unwrap();
    for record in records {
        capture.record(record, &mut file).unwrap();
    }
    packets(&file)
}

#[test]
fn connection_is_a_tcp_conversation_with_port_6000() {
    let mut trace = Synthetic::new();
    trace
        .client_sends(&[get_input_focus()])
        .server_sends(&[reply(1)])
        .end();
    let packets = capture(&trace.records);
    let flags: Vec<u8> = packets.iter().map(|packet| packet.flags).collect();
    let data = PUSH | ACK;
    assert_eq!(
        flags,
        [SYN, SYN | ACK, ACK, data, data, data, data, FIN | ACK]
    );
    assert_eq!(packets[3].ports, (10_001, 6000));
    assert_eq!(packets[4].ports, (6000, 10_001));
    // The setup of 12 bytes and its reply of 80 bytes precede; a SYN counts as one.
    assert_eq!((packets[5].sequence, packets[5].acknowledged), (13, 81));
    assert_eq!((packets[6].sequence, packets[6].acknowledged), (81, 17));
    assert_eq!(packets[5].payload, get_input_focus());
}

#[test]
fn omitted_bytes_are_zeros_and_long_blocks_are_split() {
    let len = LONGEST_PAYLOAD as u32 + 10;
    let block = Block {
        time: Timestamp::from_nanos(5),
        connection: ConnectionId(1),
        direction: Direction::ToServer,
        offset: 0,
        wire_len: len,
        fds: 0,
        gaps: vec![Gap {
            at: 2,
            len: len - 4,
        }],
        bytes: vec![1, 2, 3, 4].into(),
    };
    let packets = capture(&[Record::Block(block)]);
    let [.., first, last] = &packets[..] else {
        panic!("{packets:?}")
    };
    assert_eq!(first.payload.len(), LONGEST_PAYLOAD);
    assert_eq!(first.payload[..3], [1, 2, 0]);
    assert_eq!(last.payload, [0, 0, 0, 0, 0, 0, 0, 0, 3, 4]);
    assert_eq!(last.sequence, 1 + LONGEST_PAYLOAD as u32);
}

#[test]
fn oversized_gap_is_exported_as_a_hole() {
    let block = |offset, wire_len: u32| {
        Record::Block(Block {
            time: Timestamp::from_nanos(5),
            connection: ConnectionId(1),
            direction: Direction::ToServer,
            offset,
            wire_len,
            fds: 0,
            gaps: vec![Gap {
                at: 4,
                len: wire_len - 8,
            }],
            bytes: vec![1; 8].into(),
        })
    };
    let packets = capture(&[block(0, u32::MAX), block(u64::from(u32::MAX), 16)]);
    let data: Vec<_> = packets
        .iter()
        .filter(|packet| packet.flags & PUSH != 0)
        .map(|packet| (packet.sequence, packet.payload.len()))
        .collect();
    assert_eq!(data, [(1, 4), (u32::MAX - 3, 4), (0, 16)]);
    // A large number of short gaps is not filled either.
    let mut file = Vec::new();
    let mut capture = PcapNg::new(&mut file).unwrap();
    let filled = (0..1000).filter(|_| capture.fills(super::LONGEST_FILLED));
    assert_eq!(filled.count(), 64);
    assert_eq!(capture.holes(), 936 * super::LONGEST_FILLED);
}
