//! A TCP segment in an IPv4 packet: RFC 791 (IPv4), RFC 9293 (TCP).

/// Maximum payload of a packet in bytes: IPv4's longest packet minus the headers.
pub(super) const LONGEST_PAYLOAD: usize = 65_535 - HEADERS;
/// The length in bytes of an IPv4 and a TCP header without options.
pub(super) const HEADERS: usize = 20 + 20;

pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const PUSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;

/// A TCP segment between two ends, each with an address and a port.
pub(super) struct Segment<'a> {
    pub(super) from: ([u8; 4], u16),
    pub(super) to: ([u8; 4], u16),
    pub(super) sequence: u32,
    pub(super) acknowledged: u32,
    pub(super) flags: u8,
    /// The payload, at most `LONGEST_PAYLOAD` bytes.
    pub(super) payload: &'a [u8],
}

impl Segment<'_> {
    /// Writes the segment as an IPv4 packet into an empty buffer.
    pub(super) fn encode(&self, packet: &mut Vec<u8>) {
        let len = (HEADERS + self.payload.len()) as u16;
        packet.extend_from_slice(&[0x45, 0]);
        packet.extend_from_slice(&len.to_be_bytes());
        // No identification, no fragments, 64 hops, TCP; the checksum is filled in later.
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0]);
        packet.extend_from_slice(&self.from.0);
        packet.extend_from_slice(&self.to.0);
        packet.extend_from_slice(&self.from.1.to_be_bytes());
        packet.extend_from_slice(&self.to.1.to_be_bytes());
        packet.extend_from_slice(&self.sequence.to_be_bytes());
        packet.extend_from_slice(&self.acknowledged.to_be_bytes());
        // A header of 5 words, the maximum window, no urgent data; the checksum is filled in later.
        packet.extend_from_slice(&[0x50, self.flags, 0xFF, 0xFF, 0, 0, 0, 0]);
        packet.extend_from_slice(self.payload);
        let sum = checksum(0, &packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        // The pseudo header: addresses, protocol 6, length (RFC 9293, section 3.1).
        let pseudo = 6 + (HEADERS - 20 + self.payload.len()) as u32;
        let sum = checksum(pseudo, &packet[12..]);
        packet[36..38].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The internet checksum (RFC 1071) of `bytes`, with the initial value `sum`.
pub(super) fn checksum(sum: u32, bytes: &[u8]) -> u16 {
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
