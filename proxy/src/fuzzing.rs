//! Entry points for the fuzz targets of code that parses untrusted bytes, and for the benchmark that counts the
//! relay's instructions. They are not meant for other use.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use bytes::BytesMut;
use x11prof_trace::{Block, ConnectionId, Direction, ExtensionOpcodes};

use crate::display::authority::{self, Peer};
use crate::display::setup_exchange::{self, Progress};
use crate::recorder::client_processes::ClientProcesses;
use crate::recorder::connection_recorder::ConnectionRecorder;
use crate::recorder::images::ImageRequests;
use crate::recorder::kept_bytes::KeptBytes;
use crate::recorder::omission::{Level, Omission};
use crate::recorder::record_queue::{DEFAULT_QUEUE_BYTES, memory, record_queue};

/// Parses a client's setup, which may be incomplete, and rewrites it.
pub fn setup(bytes: &[u8]) {
    match setup_exchange::progress(bytes) {
        Ok(Progress::Whole(layout)) => {
            let ours = authority::Cookie::from(vec![7; 16]);
            // A refused setup can also be rewritten.
            let _ = setup_exchange::check(bytes, &layout, &ours);
            let rewritten = setup_exchange::rewrite(bytes, &layout, Some(&ours));
            let again = setup_exchange::progress(&rewritten);
            assert!(matches!(again, Ok(Progress::Whole(layout)) if layout.len == rewritten.len()));
        }
        Ok(Progress::Needs(needed)) => assert!(needed > bytes.len()),
        Err(_) => {}
    }
}

/// Parses the bytes of an authority file.
pub fn authority(bytes: &[u8]) {
    for peer in [Peer::Local, Peer::Address(Ipv4Addr::LOCALHOST.into())] {
        let _ = authority::find(bytes, &peer, b"host", 0);
    }
}

/// Splits `bytes` into the reads of two streams. An item is true for a read from the server, with the bytes of the
/// read.
pub fn reads(bytes: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&first, after) = rest.split_first()?;
        let len = usize::from(first >> 1) * 4;
        let (read, after) = after.split_at(len.min(after.len()));
        rest = after;
        Some((first & 1 == 1, read))
    })
}

/// Omits bytes from the reads in `bytes`, and checks that the gaps lie within their reads and are in order.
pub fn omission(bytes: &[u8]) {
    let extensions = [
        ("RENDER", 139),
        ("XVideo", 150),
        ("XFIXES", 138),
        ("SECURITY", 137),
    ]
    .map(|(name, major)| ExtensionOpcodes {
        name: name.to_owned(),
        major,
        first_event: 0,
        first_error: 0,
    });
    let mut omission = Omission::new(ImageRequests::of(&extensions));
    let levels = [
        Level::Secrets,
        Level::Images,
        Level::AllImages,
        Level::LongBodies,
        Level::Bodies,
    ];
    let mut gaps = Vec::new();
    for ((server, read), level) in reads(bytes).zip(levels.into_iter().cycle()) {
        let direction = match server {
            true => Direction::ToClient,
            false => Direction::ToServer,
        };
        omission.gaps(direction, read, &(0..0), level, &mut gaps);
        let mut end = 0;
        for gap in &gaps {
            assert!(gap.len > 0 && u64::from(gap.at) >= end);
            end = u64::from(gap.at) + u64::from(gap.len);
        }
        assert!(end <= read.len() as u64);
    }
}

/// The number of reads taken from the recorder's queue at a time.
const TAKEN: usize = 64;

/// Processes whole reads as the relay does between receiving and sending them, and as the recorder's thread does until
/// it writes the file. Returns the total memory of the blocks in the queue, in bytes.
pub fn relayed(reads: impl Iterator<Item = Block>, extensions: &[ExtensionOpcodes]) -> usize {
    let (sender, drain) = record_queue(DEFAULT_QUEUE_BYTES, false);
    let (kept, processes) = (
        RefCell::new(KeptBytes::default()),
        ClientProcesses::default(),
    );
    let mut connections: HashMap<ConnectionId, ConnectionRecorder<'_>> = HashMap::new();
    let (mut entries, mut held) = (Vec::new(), 0);
    let mut take = || {
        drain.take(&mut entries, Duration::ZERO);
        for entry in entries.drain(..) {
            drain.release(memory(&entry));
            held += memory(&entry);
        }
    };
    for (number, read) in reads.enumerate() {
        let connection = connections.entry(read.connection).or_insert_with(|| {
            ConnectionRecorder::new(
                read.connection,
                &sender,
                &kept,
                ImageRequests::of(extensions),
                &processes,
                None,
            )
        });
        let fds = usize::from(read.fds);
        // The relay owns its buffer, so the bytes are not copied.
        let mut bytes = BytesMut::from(read.bytes);
        connection.crossed(read.time, read.direction, &mut bytes, fds, &(0..0));
        if number % TAKEN == TAKEN - 1 {
            take();
        }
    }
    take();
    held
}
