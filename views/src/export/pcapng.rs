//! A trace as a network capture (pcapng): each connection a TCP conversation with port 6000, where
//! Wireshark and tshark look for X11.
//!
//! The format: IETF draft-ietf-opsawg-pcapng; the packets: RFC 791 (IPv4), RFC 9293 (TCP). What
//! the recorder left out is filled with zeros, so that lengths and numbers are those of the wire; very
//! much of it is a hole in the conversation, as where a capture missed packets.

use std::collections::HashMap;
use std::io;

use x11prof_trace::{Block, ConnectionId, Control, Direction, Part, Record, Timestamp};

/// Most bytes of payload in a packet: IPv4's longest packet less the headers.
const LONGEST_PAYLOAD: usize = 65_535 - HEADERS;
/// The longest gap that is filled, in bytes: no recorder reads as much at once.
const LONGEST_FILLED: u64 = 1 << 24;
/// Zeros that are written in all, in bytes.
const MOST_FILLED: u64 = 1 << 30;
/// An IPv4 and a TCP header without options.
const HEADERS: usize = 20 + 20;
/// The port of display :0.
const SERVER_PORT: u16 = 6000;
/// Clients' ports, of which there are so many for an address.
const FIRST_PORT: u16 = 10_000;
const PORTS: u32 = 1 << 15;
/// LINKTYPE_RAW: packets begin with their IP header.
const LINK_RAW: u16 = 101;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Writes records as packets.
#[derive(Debug, Default)]
pub struct PcapNg {
    /// The wall clock where the trace's clock is zero, in nanoseconds.
    epoch: i128,
    connections: HashMap<ConnectionId, Conversation>,
    packet: Vec<u8>,
    /// Zeros written.
    filled: u64,
    /// Bytes that are in holes.
    holes: u64,
}

/// Bytes that went each way: to the server, to the client.
#[derive(Debug, Default, Clone, Copy)]
struct Conversation {
    sent: [u64; 2],
}

impl PcapNg {
    /// A capture without packets. Writes the head of the file.
    pub fn new(out: &mut dyn io::Write) -> io::Result<PcapNg> {
        // Section header: byte order, version 1.0, length not known.
        block(
            out,
            0x0A0D_0D0A,
            &[
                &0x1A2B_3C4D_u32.to_le_bytes(),
                &1_u16.to_le_bytes(),
                &0_u16.to_le_bytes(),
                &u64::MAX.to_le_bytes(),
            ],
        )?;
        // Interface: no limit of length; option 9, if_tsresol, 10^-9 s; end of options.
        block(
            out,
            1,
            &[
                &LINK_RAW.to_le_bytes(),
                &[0; 2],
                &0_u32.to_le_bytes(),
                &9_u16.to_le_bytes(),
                &1_u16.to_le_bytes(),
                &[9, 0, 0, 0],
                &[0; 4],
            ],
        )?;
        Ok(PcapNg::default())
    }

    /// Writes what is in the next record of a trace.
    pub fn record(&mut self, record: &Record, out: &mut dyn io::Write) -> io::Result<()> {
        match record {
            Record::Block(block) => self.block(block, out),
            Record::Control(time, Control::Started(started)) => {
                self.epoch = i128::from(started.wall_clock_ns) - i128::from(time.as_nanos());
                Ok(())
            }
            Record::Control(time, Control::Opened(opened)) => {
                self.open(opened.connection, *time, out)
            }
            Record::Control(time, Control::Closed { connection, .. }) => {
                if self.connections.contains_key(connection) {
                    self.packet(
                        *connection,
                        Direction::ToServer,
                        *time,
                        FIN | ACK,
                        None,
                        out,
                    )?;
                    self.connections.remove(connection);
                }
                Ok(())
            }
            Record::Control(..) | Record::Schedule(_) => Ok(()),
        }
    }

    /// The handshake, by which a reader knows who the client is (RFC 9293, section 3.5).
    fn open(
        &mut self,
        connection: ConnectionId,
        time: Timestamp,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        self.connections.insert(connection, Conversation::default());
        self.packet(connection, Direction::ToServer, time, SYN, None, out)?;
        self.packet(connection, Direction::ToClient, time, SYN | ACK, None, out)?;
        self.packet(connection, Direction::ToServer, time, ACK, None, out)
    }

    fn block(&mut self, block: &Block, out: &mut dyn io::Write) -> io::Result<()> {
        if !self.connections.contains_key(&block.connection) {
            self.open(block.connection, block.time, out)?;
        }
        let way = usize::from(block.direction == Direction::ToClient);
        if let Some(conversation) = self.connections.get_mut(&block.connection) {
            conversation.sent[way] = block.offset;
        }
        let mut payload = Vec::new();
        for part in block.parts() {
            if let Part::Left(len) = part
                && !self.fills(len)
            {
                self.data(block, way, &payload, out)?;
                payload.clear();
                self.sent(block.connection, way, len);
                continue;
            }
            let mut left = match part {
                Part::Kept(bytes) => bytes.len() as u64,
                Part::Left(len) => len,
            };
            while left > 0 {
                let room = LONGEST_PAYLOAD - payload.len();
                let take = usize::try_from(left).map_or(room, |left| left.min(room));
                match part {
                    Part::Kept(bytes) => {
                        let at = bytes.len() - left as usize;
                        payload.extend_from_slice(&bytes[at..at + take]);
                    }
                    Part::Left(_) => payload.resize(payload.len() + take, 0),
                }
                left -= take as u64;
                if payload.len() == LONGEST_PAYLOAD {
                    self.data(block, way, &payload, out)?;
                    payload.clear();
                }
            }
        }
        self.data(block, way, &payload, out)
    }

    /// Whether a gap is filled with zeros, of which there are not too many then.
    fn fills(&mut self, len: u64) -> bool {
        let fills = len <= LONGEST_FILLED && self.filled.saturating_add(len) <= MOST_FILLED;
        let counted = if fills {
            &mut self.filled
        } else {
            &mut self.holes
        };
        *counted = counted.saturating_add(len);
        fills
    }

    /// Bytes that were left out of the trace, and for whose number there are no zeros.
    pub fn holes(&self) -> u64 {
        self.holes
    }

    fn sent(&mut self, connection: ConnectionId, way: usize, len: u64) {
        if let Some(conversation) = self.connections.get_mut(&connection) {
            let sent = &mut conversation.sent[way];
            *sent = sent.wrapping_add(len);
        }
    }

    fn data(
        &mut self,
        block: &Block,
        way: usize,
        payload: &[u8],
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        if payload.is_empty() {
            return Ok(());
        }
        let (connection, direction) = (block.connection, block.direction);
        self.packet(
            connection,
            direction,
            block.time,
            PUSH | ACK,
            Some(payload),
            out,
        )?;
        self.sent(connection, way, payload.len() as u64);
        Ok(())
    }

    /// Writes one packet.
    fn packet(
        &mut self,
        connection: ConnectionId,
        direction: Direction,
        time: Timestamp,
        flags: u8,
        payload: Option<&[u8]>,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let payload = payload.unwrap_or_default();
        let conversation = self
            .connections
            .get(&connection)
            .copied()
            .unwrap_or_default();
        // The client's port and address tell its number; the server has one of each.
        let port = FIRST_PORT + (connection.0 % PORTS) as u16;
        let [.., high, low] = (connection.0 / PORTS).to_be_bytes();
        let client = ([127, high, low, 1], port);
        let server = ([127, 0, 0, 1], SERVER_PORT);
        let (from, to, way) = match direction {
            Direction::ToServer => (client, server, 0),
            Direction::ToClient => (server, client, 1),
        };
        // A SYN takes the number 0; the numbers wrap at 2^32 (RFC 9293, section 3.4).
        let number = |sent: u64, syn: bool| (sent as u32).wrapping_add(u32::from(!syn));
        let sequence = number(conversation.sent[way], flags & SYN != 0);
        let acknowledged = match flags & ACK {
            0 => 0,
            _ => number(conversation.sent[1 - way], false),
        };
        self.packet.clear();
        let len = (HEADERS + payload.len()) as u16;
        let packet = &mut self.packet;
        packet.extend_from_slice(&[0x45, 0]);
        packet.extend_from_slice(&len.to_be_bytes());
        // No identification, no fragments, 64 hops, TCP, the checksum to come.
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0]);
        packet.extend_from_slice(&from.0);
        packet.extend_from_slice(&to.0);
        packet.extend_from_slice(&from.1.to_be_bytes());
        packet.extend_from_slice(&to.1.to_be_bytes());
        packet.extend_from_slice(&sequence.to_be_bytes());
        packet.extend_from_slice(&acknowledged.to_be_bytes());
        // A header of 5 words, the largest window, the checksum to come, no urgent data.
        packet.extend_from_slice(&[0x50, flags, 0xFF, 0xFF, 0, 0, 0, 0]);
        packet.extend_from_slice(payload);
        let sum = checksum(0, &packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        // The pseudo header: addresses, protocol 6, length (RFC 9293, section 3.1).
        let pseudo = 6 + (HEADERS - 20 + payload.len()) as u32;
        let sum = checksum(pseudo, &packet[12..]);
        packet[36..38].copy_from_slice(&sum.to_be_bytes());

        let nanos = (self.epoch + i128::from(time.as_nanos())).max(0) as u64;
        let len = (self.packet.len() as u32).to_le_bytes();
        let padding = self.packet.len().next_multiple_of(4) - self.packet.len();
        // Enhanced packet: interface 0, time, captured and original length.
        block(
            out,
            6,
            &[
                &0_u32.to_le_bytes(),
                &((nanos >> 32) as u32).to_le_bytes(),
                &(nanos as u32).to_le_bytes(),
                &len,
                &len,
                &self.packet,
                &[0; 3][..padding],
            ],
        )
    }
}

/// A block of the file: its type, its length, its body, its length.
fn block(out: &mut dyn io::Write, kind: u32, body: &[&[u8]]) -> io::Result<()> {
    let len: usize = 12 + body.iter().map(|part| part.len()).sum::<usize>();
    let len = (len as u32).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&len)?;
    for part in body {
        out.write_all(part)?;
    }
    out.write_all(&len)
}

/// The internet checksum (RFC 1071) of `bytes`, begun with `sum`.
fn checksum(sum: u32, bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| match pair {
        [high, low] => u64::from(u16::from_be_bytes([*high, *low])),
        [high] => u64::from(*high) << 8,
        _ => 0,
    });
    let mut sum = u64::from(sum) + words.sum::<u64>();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Block, ConnectionId, Direction, Gap, Record, Timestamp};

    use super::{ACK, FIN, HEADERS, LONGEST_PAYLOAD, PUSH, PcapNg, SYN};
    use crate::testing::{Synthetic, get_input_focus, reply};

    /// A packet, as far as it is looked at here.
    #[derive(Debug, PartialEq)]
    struct Packet {
        ports: (u16, u16),
        sequence: u32,
        acknowledged: u32,
        flags: u8,
        payload: Vec<u8>,
    }

    /// The packets of a capture; its blocks must be as long as they say.
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
                // A header with its checksum adds up to nothing.
                assert_eq!(super::checksum(0, &packet[..20]), 0);
                assert_eq!(
                    super::checksum(6 + packet.len() as u32 - 20, &packet[12..]),
                    0
                );
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
    fn a_connection_is_a_conversation_with_port_6000() {
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
        // Setup and answer before, of 12 and 80 bytes; a SYN counts as one.
        assert_eq!((packets[5].sequence, packets[5].acknowledged), (13, 81));
        assert_eq!((packets[6].sequence, packets[6].acknowledged), (81, 17));
        assert_eq!(packets[5].payload, get_input_focus());
    }

    #[test]
    fn what_was_left_out_is_zeros_and_long_reads_are_several_packets() {
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
    fn a_gap_that_no_recorder_makes_is_a_hole() {
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
        // Nor are very many of them filled that are short.
        let mut file = Vec::new();
        let mut capture = PcapNg::new(&mut file).unwrap();
        let filled = (0..1000).filter(|_| capture.fills(super::LONGEST_FILLED));
        assert_eq!(filled.count(), 64);
        assert_eq!(capture.holes(), 936 * super::LONGEST_FILLED);
    }
}
