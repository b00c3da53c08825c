//! Passes one connection's bytes to the recorder: each read as a block, without the bytes that are left out of the
//! trace.

use std::cell::RefCell;
use std::ops::Range;

use x11prof_protocol::ByteOrder;
use x11prof_trace::{Block, ConnectionId, Direction, Endian, Gap, Joined, Record, Timestamp};

use crate::recorder::client_processes::{ClientIdsReply, ClientProcesses};
use crate::recorder::images::ImageRequests;
use crate::recorder::kept_bytes::KeptBytes;
use crate::recorder::omission::Omission;
use crate::recorder::record_queue::RecordSender;

/// The maximum number of a report's bytes in one block. A longer report becomes several blocks, because the longest
/// request is longer than the longest record of a trace.
const LONGEST_BLOCK: usize = 4 << 20;

/// The recorder's end of one connection. The relay's thread omits bytes here, so that omitted bytes use no memory in
/// the queue, and the read buffer stays in the processor caches.
pub(crate) struct ConnectionRecorder<'a> {
    connection: ConnectionId,
    sender: &'a RecordSender,
    kept: &'a RefCell<KeptBytes>,
    processes: &'a ClientProcesses,
    /// The client's process, if it is known.
    pid: Option<u32>,
    /// Chooses the bytes to omit in both directions, because requests determine which replies contain images.
    omission: Omission,
    /// The numbers of bytes so far, to the server and to the client.
    offsets: [u64; 2],
    gaps: Vec<Gap>,
    client_ids: ClientIdsReply,
}

impl<'a> ConnectionRecorder<'a> {
    pub(crate) fn new(
        connection: ConnectionId,
        sender: &'a RecordSender,
        kept: &'a RefCell<KeptBytes>,
        images: ImageRequests,
        processes: &'a ClientProcesses,
        pid: Option<u32>,
    ) -> ConnectionRecorder<'a> {
        ConnectionRecorder {
            connection,
            sender,
            kept,
            processes,
            pid,
            omission: Omission::new(images),
            offsets: [0; 2],
            gaps: Vec::new(),
            client_ids: ClientIdsReply::default(),
        }
    }

    pub(crate) fn connection(&self) -> ConnectionId {
        self.connection
    }

    pub(crate) fn sender(&self) -> &'a RecordSender {
        self.sender
    }

    /// Records the bytes read at `time` with their number of descriptors `fds`, without the bytes in the range
    /// `secret`. If the server reports the processes of clients, replaces the recorder's process id by the client's.
    pub(crate) fn crossed(
        &mut self,
        time: Timestamp,
        direction: Direction,
        bytes: &mut [u8],
        fds: usize,
        secret: &Range<usize>,
    ) {
        let is_new = self.omission.first_id.is_none();
        self.find_gaps(time, direction, bytes, secret);
        if let Some(first_id) = self.omission.first_id.filter(|_| is_new) {
            self.processes.insert(first_id, self.pid);
        }
        if let Some(order) = self.omission.order() {
            for (offset, range) in self.omission.client_ids.drain(..) {
                let part = bytes.get_mut(range).unwrap_or_default();
                self.client_ids.replace(offset, part, order, self.processes);
            }
        }
        self.push(time, direction, bytes, fds);
    }

    /// Starts in the middle of the connection, at the beginning of a message in both directions.
    pub(crate) fn join(&mut self, images: ImageRequests, joined: &Joined) {
        let order = match joined.byte_order {
            Endian::Little => ByteOrder::Little,
            Endian::Big => ByteOrder::Big,
        };
        self.omission = Omission::joined(images, order, joined.last_request, joined.setup);
    }

    /// Records whole messages that RECORD reported at `time`. RECORD omitted the last `missing` bytes of the last
    /// message.
    pub(crate) fn reported(
        &mut self,
        time: Timestamp,
        direction: Direction,
        bytes: &[u8],
        missing: u32,
    ) {
        let before_last = bytes.len().saturating_sub(1) / LONGEST_BLOCK * LONGEST_BLOCK;
        let (before, last) = bytes.split_at(before_last);
        for (piece, missing) in before
            .chunks(LONGEST_BLOCK)
            .map(|piece| (piece, 0))
            .chain([(last, missing)])
        {
            self.find_gaps(time, direction, piece, &(0..0));
            if missing > 0 {
                self.omission.missing(piece.len(), missing, &mut self.gaps);
            }
            self.push(time, direction, piece, 0);
        }
    }

    /// Finds the parts of `bytes` that are left out of the trace.
    fn find_gaps(
        &mut self,
        time: Timestamp,
        direction: Direction,
        bytes: &[u8],
        secret: &Range<usize>,
    ) {
        let level = self.sender.level(time);
        let gaps = &mut self.gaps;
        if self.omission.gaps(direction, bytes, secret, level, gaps) {
            let left = gaps.iter().map(|gap| u64::from(gap.len)).sum();
            self.sender.left_out_under_pressure(left);
        }
    }

    /// Queues a block of `bytes` without the gaps. One gap may follow the bytes.
    fn push(&mut self, time: Timestamp, direction: Direction, bytes: &[u8], fds: usize) {
        let gaps = self.gaps.clone();
        let kept = self.kept.borrow_mut().keep(bytes, &gaps);
        let [to_server, to_client] = &mut self.offsets;
        let offset = match direction {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        };
        let after = gaps
            .last()
            .map_or(0, |gap| gap.at as usize + gap.len as usize);
        let wire_len = bytes.len().max(after);
        let block = Block {
            time,
            connection: self.connection,
            direction,
            offset: *offset,
            // A read is far smaller than 4 GiB.
            wire_len: u32::try_from(wire_len).unwrap_or(u32::MAX),
            fds: u16::try_from(fds).unwrap_or(u16::MAX),
            gaps,
            bytes: kept,
        };
        *offset += wire_len as u64;
        self.sender.push(Record::Block(block));
    }
}

impl Drop for ConnectionRecorder<'_> {
    fn drop(&mut self) {
        if let Some(first_id) = self.omission.first_id {
            self.processes.remove(first_id);
        }
    }
}
