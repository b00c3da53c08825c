//! The source of a live view's records: a recording in this process, or a trace file, which may still grow.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use x11prof_proxy::{WatchEvent, Watched};
use x11prof_stacks::open_regular;
use x11prof_trace::{Reader, Record, TraceError};

use crate::error::CommandError;

/// The maximum number of records that the reading thread reads ahead of the view.
const AHEAD: usize = 1024;
/// The time between two checks for new bytes at the end of a trace.
const BEAT: Duration = Duration::from_millis(50);

/// A stream of records in order.
pub(super) enum Source {
    /// A recording in this process.
    Recording(Watched),
    /// A trace file that a separate thread reads.
    Trace(Receiver<Record>),
}

impl Source {
    /// Opens the trace at `path`. While its recorder runs, reading continues at the end of the file.
    pub(super) fn trace(path: &Path) -> Result<Source, CommandError> {
        let failed = |error| CommandError::file(path, error);
        let file = open_regular(path).map_err(failed)?;
        let reader = Reader::new(BufReader::new(Growing { file }));
        let reader = reader.map_err(|error| CommandError::file(path, error))?;
        let (records, receiver) = mpsc::sync_channel(AHEAD);
        let path = path.to_owned();
        std::thread::Builder::new()
            .name("x11prof-trace".to_owned())
            .spawn(move || {
                if let Err(error) = read(reader, &records) {
                    tell(&path, &error);
                }
            })
            .map_err(|error| CommandError::failed(format_args!("a thread: {error}")))?;
        Ok(Source::Trace(receiver))
    }

    /// Returns the next record. Waits for at most `patience`.
    pub(super) fn next(&self, patience: Duration) -> WatchEvent {
        match self {
            Source::Recording(watched) => watched.next(patience),
            Source::Trace(records) => match records.recv_timeout(patience) {
                Ok(record) => WatchEvent::Record(record),
                Err(RecvTimeoutError::Timeout) => WatchEvent::Nothing,
                Err(RecvTimeoutError::Disconnected) => WatchEvent::End,
            },
        }
    }

    /// Returns the number of records that the view missed because they arrived too fast.
    pub(super) fn missed(&self) -> u64 {
        match self {
            Source::Recording(watched) => watched.missed(),
            Source::Trace(_) => 0,
        }
    }

    /// Returns true for a recording in this process, in contrast to a trace file, whose records may be old.
    pub(super) fn is_now(&self) -> bool {
        matches!(self, Source::Recording(_))
    }
}

fn read(
    mut reader: Reader<BufReader<Growing>>,
    records: &SyncSender<Record>,
) -> Result<(), TraceError> {
    while let Some(record) = reader.next()? {
        // The view has ended.
        if records.send(record).is_err() {
            break;
        }
    }
    Ok(())
}

fn tell(path: &Path, error: &TraceError) {
    say!("{}", CommandError::file(path, error).message());
}

/// A file that a recorder may still be writing.
struct Growing {
    file: File,
}

impl Growing {
    /// Returns true while a recorder writes the file. The recorder holds a lock on the file.
    fn is_written(&self) -> bool {
        match flock(&self.file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                // If this fails, closing the file unlocks it.
                let _ = flock(&self.file, FlockOperation::Unlock);
                false
            }
            Err(_) => true,
        }
    }
}

impl Read for Growing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            // Check this first: records written before the recorder released the file are read afterwards.
            let is_written = self.is_written();
            match self.file.read(into)? {
                0 if is_written && !into.is_empty() => std::thread::sleep(BEAT),
                read => return Ok(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use rustix::fs::{FlockOperation, flock};

    use super::Growing;

    #[test]
    fn trace_ends_when_its_recorder_releases_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let mut recorder = File::create(&path).unwrap();
        flock(&recorder, FlockOperation::NonBlockingLockExclusive).unwrap();
        recorder.write_all(b"one").unwrap();
        let file = File::open(&path).unwrap();
        let reading = std::thread::spawn(move || {
            let mut all = String::new();
            Growing { file }.read_to_string(&mut all).unwrap();
            all
        });
        recorder.write_all(b" two").unwrap();
        drop(recorder);
        assert_eq!(reading.join().unwrap(), "one two");
    }
}
