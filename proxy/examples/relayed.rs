//! Processes the reads of a recording as the relay does, without sockets: `relayed TRACE [reading]`. It is meant for a
//! program that counts instructions. With `reading`, only the trace is read.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;

use x11prof_proxy::fuzzing::relayed;
use x11prof_trace::{Block, Control, Part, Reader, Record};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let trace = words.next().ok_or("usage: relayed TRACE [reading]")?;
    let mut reader = Reader::new(BufReader::new(File::open(trace)?))?;
    let (mut reads, mut extensions) = (Vec::new(), Vec::new());
    while let Some(record) = reader.next()? {
        match record {
            Record::Block(block) => reads.push(whole(&block)),
            Record::Control(_, Control::Extensions { extensions: known }) => extensions = known,
            _ => {}
        }
    }
    if words.next().is_none() {
        black_box(relayed(reads.into_iter(), &extensions));
    }
    Ok(())
}

/// Returns the block as it was read from the socket. Bytes that the recording left out are zeros.
fn whole(block: &Block) -> Block {
    let mut bytes = Vec::with_capacity(block.wire_len as usize);
    for part in block.parts() {
        match part {
            Part::Kept(kept) => bytes.extend_from_slice(kept),
            Part::Left(len) => bytes.resize(bytes.len() + usize::try_from(len).unwrap_or(0), 0),
        }
    }
    Block {
        bytes: bytes.into(),
        gaps: Vec::new(),
        ..block.clone()
    }
}
