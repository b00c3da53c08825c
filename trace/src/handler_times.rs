//! Encodes and decodes batches of handler times (docs/FORMAT.md, "Handler times").

use bytes::{Buf, Bytes};

use crate::{HandlerTime, Timestamp};

const LEN: usize = 8 + 8 + 2 + 2 + 4;

/// The maximum number of handler times in one message. Longer batches are split.
pub(crate) const BATCH_LIMIT: usize = 1 << 15;

/// Clears `buffer` and writes a batch of handler times into it.
pub(crate) fn encode(buffer: &mut Vec<u8>, times: &[HandlerTime]) {
    buffer.clear();
    for time in times {
        buffer.extend_from_slice(&time.start.as_nanos().to_le_bytes());
        buffer.extend_from_slice(&time.took_ns.to_le_bytes());
        buffer.extend_from_slice(&time.client.to_le_bytes());
        buffer.extend_from_slice(&time.sequence.to_le_bytes());
        buffer.extend_from_slice(&time.count.to_le_bytes());
    }
}

/// Decodes the batch of handler times in `message`. The error describes an inconsistency.
pub(crate) fn decode(mut message: Bytes) -> Result<Vec<HandlerTime>, &'static str> {
    if !message.len().is_multiple_of(LEN) {
        return Err("a batch of handler times ends within one");
    }
    let mut times = Vec::with_capacity(message.len() / LEN);
    while message.has_remaining() {
        times.push(HandlerTime {
            start: Timestamp::from_nanos(message.get_u64_le()),
            took_ns: message.get_u64_le(),
            client: message.get_u16_le(),
            sequence: message.get_u16_le(),
            count: message.get_u32_le(),
        });
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handler_time_layout_is_fixed() {
        let bytes = [
            1, 0, 0, 0, 0, 0, 0, 0x80, 2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0xFF, 0xFF, 4, 0, 0, 0,
        ];
        let time = HandlerTime {
            start: Timestamp::from_nanos((0x80 << 56) + 1),
            took_ns: 258,
            client: 3,
            sequence: 0xFFFF,
            count: 4,
        };
        let mut buffer = vec![1];
        encode(&mut buffer, &[time]);
        assert_eq!(buffer, bytes);
        assert_eq!(decode(Bytes::copy_from_slice(&bytes)), Ok(vec![time]));
        assert!(decode(Bytes::copy_from_slice(&bytes[..23])).is_err());
        assert_eq!(decode(Bytes::new()), Ok(Vec::new()));
    }
}
