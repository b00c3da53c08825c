//! A trace as a network capture (pcapng): each connection is a TCP conversation with port 6000, which Wireshark and
//! tshark decode as X11.
//!
//! The format is IETF draft-ietf-opsawg-pcapng; the packets follow RFC 791 (IPv4) and RFC 9293 (TCP). Bytes that the
//! recorder dropped are filled with zeros, so that lengths and sequence numbers match the wire. Large gaps become
//! holes in the conversation, as if the capture had missed packets.

mod file;
mod segment;

use std::collections::HashMap;
use std::io;

use x11prof_trace::{Block, ConnectionId, Control, Direction, Part, Record, Timestamp};

use segment::{ACK, FIN, LONGEST_PAYLOAD, PUSH, SYN, Segment};

/// The maximum length in bytes of a gap that is filled with zeros. A recorder never reads more bytes at once.
const LONGEST_FILLED: u64 = 1 << 24;
/// The maximum number of zero bytes that are written to a file.
const MOST_FILLED: u64 = 1 << 30;
/// The TCP port of display :0.
const SERVER_PORT: u16 = 6000;
/// The first port of clients.
const FIRST_PORT: u16 = 10_000;
/// The number of client ports for each address.
const PORTS: u32 = 1 << 15;

/// Writes the records of a trace as packets.
#[derive(Debug, Default)]
pub struct PcapNg {
    /// The wall-clock time at zero of the trace's clock, in nanoseconds since 1970.
    epoch: i128,
    connections: HashMap<ConnectionId, Conversation>,
    packet: Vec<u8>,
    /// The number of zero bytes written so far.
    filled: u64,
    /// The number of bytes in gaps that were not filled.
    holes: u64,
}

/// The number of bytes that were sent in each direction of a connection: to the server, and to the client.
#[derive(Debug, Default, Clone, Copy)]
struct Conversation {
    sent: [u64; 2],
}

impl PcapNg {
    /// Creates a capture without packets, and writes the header of the file.
    pub fn new(out: &mut dyn io::Write) -> io::Result<PcapNg> {
        file::head(out)?;
        Ok(PcapNg::default())
    }

    /// Writes the packets of the next record of a trace to `out`.
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
            Record::Control(..) | Record::Schedule(_) | Record::HandlerTimes(_) => Ok(()),
        }
    }

    /// Writes the TCP handshake, from which a reader determines the client (RFC 9293, section 3.5).
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

    /// Returns true if a gap of `len` bytes is filled with zeros. Only short gaps are filled, up to a total number of
    /// zeros.
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

    /// The number of bytes that are missing in the trace and were not filled with zeros.
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

    /// Writes one packet with the TCP `flags` and the `payload`.
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
        // The client's port and address are derived from the number of its connection. The server has a fixed port and
        // address.
        let port = FIRST_PORT + (connection.0 % PORTS) as u16;
        let [.., high, low] = (connection.0 / PORTS).to_be_bytes();
        let client = ([127, high, low, 1], port);
        let server = ([127, 0, 0, 1], SERVER_PORT);
        let (from, to, way) = match direction {
            Direction::ToServer => (client, server, 0),
            Direction::ToClient => (server, client, 1),
        };
        // A SYN uses the sequence number 0. Sequence numbers wrap at 2^32 (RFC 9293, section 3.4).
        let number = |sent: u64, syn: bool| (sent as u32).wrapping_add(u32::from(!syn));
        let sequence = number(conversation.sent[way], flags & SYN != 0);
        let acknowledged = match flags & ACK {
            0 => 0,
            _ => number(conversation.sent[1 - way], false),
        };
        self.packet.clear();
        let segment = Segment {
            from,
            to,
            sequence,
            acknowledged,
            flags,
            payload,
        };
        segment.encode(&mut self.packet);
        let nanos = (self.epoch + i128::from(time.as_nanos())).max(0) as u64;
        file::packet(nanos, &self.packet, out)
    }
}

#[cfg(test)]
mod tests;
