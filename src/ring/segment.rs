//! A part of a recording in a file without a name, which goes with the recorder however that ends. It
//! begins in the middle (docs/FORMAT.md), so that it can be read without those before it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom};
use std::path::Path;

use x11prof_trace::{Control, Reader, Record, Started, Timestamp, TraceError, Writer};

use crate::output::scratch;

/// Records between two looks at how many bytes there are.
const LOOK_EVERY: u64 = 256;

/// A part that grows.
pub(super) struct Segment {
    writer: Writer<BufWriter<File>>,
    file: File,
    /// When it begins.
    pub(super) from: Timestamp,
    /// Records at its start that say what came before.
    heads: u64,
    records: u64,
}

/// A part that is whole.
#[derive(Debug)]
pub(super) struct Whole {
    file: File,
    heads: u64,
    /// From when to when it is.
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// Its bytes on disk.
    pub(super) len: u64,
}

impl Segment {
    /// A part in `folder` that begins at `from` with what `heads` say of before.
    pub(super) fn begin(
        folder: &Path,
        from: Timestamp,
        started: Started,
        heads: &[Control],
    ) -> Result<Segment, TraceError> {
        let file = scratch(folder).map_err(TraceError::Write)?;
        let same = file.try_clone().map_err(TraceError::Write)?;
        let mut writer = Writer::new(BufWriter::new(file), started, from)?;
        for control in heads {
            writer.write_control(from, control)?;
        }
        Ok(Segment {
            writer,
            file: same,
            from,
            heads: 1 + heads.len() as u64,
            records: 0,
        })
    }

    /// Adds a record.
    pub(super) fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        self.records += 1;
        self.writer.write(record)
    }

    /// Whether it has more bytes than this on disk; only some records ask.
    pub(super) fn exceeds(&self, bytes: u64) -> bool {
        self.records.is_multiple_of(LOOK_EVERY)
            && self.file.metadata().is_ok_and(|file| file.len() > bytes)
    }

    /// Ends it at `to`.
    pub(super) fn end(self, to: Timestamp) -> Result<Whole, TraceError> {
        self.writer.finish()?;
        let len = self.file.metadata().map_or(0, |file| file.len());
        Ok(Whole {
            file: self.file,
            heads: self.heads,
            from: self.from,
            to,
            len,
        })
    }
}

/// Writes parts that follow each other as one recording to `sink`, which is flushed.
pub(super) fn join<W: io::Write>(parts: &VecDeque<Whole>, sink: W) -> Result<W, TraceError> {
    let mut reader = match parts.front() {
        Some(first) => first.read()?,
        None => return Ok(sink),
    };
    let (mut from, mut to) = (Timestamp::default(), Timestamp::default());
    if let (Some(first), Some(last)) = (parts.front(), parts.back()) {
        (from, to) = (first.from, last.to);
    }
    let mut writer = Writer::new(sink, reader.started().clone(), from)?;
    // Its own first record was written just now.
    let mut skipped = 1;
    let mut rest = parts.iter().skip(1);
    loop {
        let mut number = 0;
        while let Some(record) = reader.next()? {
            number += 1;
            if number > skipped {
                writer.write(&record)?;
            }
        }
        // What the others say of before has just gone by.
        let Some(next) = rest.next() else { break };
        (reader, skipped) = (next.read()?, next.heads);
    }
    writer.write_control(to, &Control::Ended { exit_status: None })?;
    writer.finish()
}

impl Whole {
    fn read(&self) -> Result<Reader<BufReader<File>>, TraceError> {
        let mut file = self.file.try_clone().map_err(TraceError::Write)?;
        file.seek(SeekFrom::Start(0)).map_err(TraceError::Write)?;
        Reader::new(BufReader::new(file))
    }
}
