//! Encodes and decodes batches of context switches (docs/FORMAT.md, "Schedule").

use bytes::{Buf, Bytes};

use crate::{Switch, SwitchKind, Timestamp};

const SWITCH_LEN: usize = 8 + 4 + 4 + 2 + 1 + 1;

/// The maximum number of switches in one message. Longer batches are split.
pub(crate) const BATCH_LIMIT: usize = 1 << 15;

/// Clears `buffer` and writes a batch of context switches into it.
pub(crate) fn encode(buffer: &mut Vec<u8>, switches: &[Switch]) {
    buffer.clear();
    for switch in switches {
        let kind = match switch.kind {
            SwitchKind::In => 0,
            SwitchKind::Blocked => 1,
            SwitchKind::Preempted => 2,
        };
        buffer.extend_from_slice(&switch.time.as_nanos().to_le_bytes());
        buffer.extend_from_slice(&switch.pid.to_le_bytes());
        buffer.extend_from_slice(&switch.tid.to_le_bytes());
        buffer.extend_from_slice(&switch.cpu.to_le_bytes());
        buffer.extend_from_slice(&[kind, 0]);
    }
}

/// Decodes the batch of context switches in `message`, without switches of kinds that this version does not support.
/// The error describes an inconsistency.
pub(crate) fn decode(mut message: Bytes) -> Result<Vec<Switch>, &'static str> {
    if !message.len().is_multiple_of(SWITCH_LEN) {
        return Err("a batch of context switches ends within one");
    }
    let mut switches = Vec::with_capacity(message.len() / SWITCH_LEN);
    while message.has_remaining() {
        let time = Timestamp::from_nanos(message.get_u64_le());
        let pid = message.get_u32_le();
        let tid = message.get_u32_le();
        let cpu = message.get_u16_le();
        let kind = match message.get_u8() {
            0 => Some(SwitchKind::In),
            1 => Some(SwitchKind::Blocked),
            2 => Some(SwitchKind::Preempted),
            _ => None,
        };
        message.advance(1);
        switches.extend(kind.map(|kind| Switch {
            time,
            pid,
            tid,
            cpu,
            kind,
        }));
    }
    Ok(switches)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; 40] = [
        1, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 1, 0, //
        9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 5, 1, 2, 0,
    ];

    fn switches() -> Vec<Switch> {
        let switch = |time, cpu, kind| Switch {
            time: Timestamp::from_nanos(time),
            pid: 2,
            tid: 3,
            cpu,
            kind,
        };
        vec![
            switch((0x80 << 56) + 1, 4, SwitchKind::Blocked),
            switch(9, 0x105, SwitchKind::Preempted),
        ]
    }

    #[test]
    fn switch_layout_is_fixed() {
        let mut buffer = vec![1];
        encode(&mut buffer, &switches());
        assert_eq!(buffer, BYTES);
        assert_eq!(decode(Bytes::from_static(&BYTES)), Ok(switches()));
    }

    #[test]
    fn unknown_kinds_are_skipped_and_partial_entries_rejected() {
        let mut bytes = BYTES;
        bytes[18] = 77;
        assert_eq!(
            decode(Bytes::copy_from_slice(&bytes)),
            Ok(switches()[1..].to_vec())
        );
        assert!(decode(Bytes::from_static(&BYTES[..39])).is_err());
        assert_eq!(decode(Bytes::new()), Ok(Vec::new()));
    }
}
