//! A segment of a ring, in an unnamed file that disappears with the recorder. A segment begins in the middle of a
//! recording (docs/FORMAT.md) and can be read without the earlier segments.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom};
use std::path::Path;

use x11prof_trace::{Control, Reader, Record, Started, Timestamp, TraceError, Writer};

use crate::output::scratch;

/// The number of records between two checks of the segment's size.
const LOOK_EVERY: u64 = 256;

/// The segment that is being written.
pub(super) struct Segment {
    writer: Writer<BufWriter<File>>,
    file: File,
    /// The time at which the segment begins.
    pub(super) from: Timestamp,
    /// The number of records in the segment's preamble.
    preamble: u64,
    records: u64,
}

/// A complete segment.
#[derive(Debug)]
pub(super) struct Whole {
    file: File,
    preamble: u64,
    /// The time at which the segment begins. The segment ends at `to`.
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// The size of the segment on disk, in bytes.
    pub(super) len: u64,
}

impl Segment {
    /// Begins a segment in `folder` at the time `from`. The segment begins with the record `started` and the records of
    /// `preamble`.
    pub(super) fn begin(
        folder: &Path,
        from: Timestamp,
        started: Started,
        preamble: &[Control],
    ) -> Result<Segment, TraceError> {
        let file = scratch(folder).map_err(TraceError::Write)?;
        let same = file.try_clone().map_err(TraceError::Write)?;
        let mut writer = Writer::new(BufWriter::new(file), started, from)?;
        for control in preamble {
            writer.write_control(from, control)?;
        }
        Ok(Segment {
            writer,
            file: same,
            from,
            preamble: 1 + preamble.len() as u64,
            records: 0,
        })
    }

    /// Adds a record to the segment.
    pub(super) fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        self.records += 1;
        self.writer.write(record)
    }

    /// Returns true if the segment uses more than `bytes` bytes on disk. The size is checked every `LOOK_EVERY`
    /// records.
    pub(super) fn exceeds(&self, bytes: u64) -> bool {
        self.records.is_multiple_of(LOOK_EVERY)
            && self.file.metadata().is_ok_and(|file| file.len() > bytes)
    }

    /// Ends the segment at `to`.
    pub(super) fn end(self, to: Timestamp) -> Result<Whole, TraceError> {
        self.writer.finish()?;
        let len = self.file.metadata().map_or(0, |file| file.len());
        Ok(Whole {
            file: self.file,
            preamble: self.preamble,
            from: self.from,
            to,
            len,
        })
    }
}

/// Writes consecutive segments to `sink` as one recording, and flushes `sink`.
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
    // The writer has just written the `started` record of the first segment.
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
        // The preamble of the next segment repeats earlier records, so it is skipped.
        let Some(next) = rest.next() else { break };
        (reader, skipped) = (next.read()?, next.preamble);
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
