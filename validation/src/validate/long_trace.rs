//! A trace of any length: copies of one recording, each with later times and new clients.
//!
//! The file is unnamed, so that it disappears however the run ends.

use std::fs::File;
use std::io::BufWriter;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use x11prof_trace::{ConnectionId, Control, Reader, Record, Timestamp, TraceError, Writer};

/// The pause between two copies, in nanoseconds.
const PAUSE: u64 = 10_000_000;

/// A trace in an unnamed file.
pub(super) struct LongTrace {
    file: File,
    /// The number of copies of the recording.
    pub(super) copies: u32,
}

impl LongTrace {
    /// Repeats `recording` in a file in `folder` until the file has `wanted` bytes.
    pub(super) fn of(
        recording: &Path,
        folder: &Path,
        wanted: u64,
    ) -> Result<LongTrace, TraceError> {
        let mut reader = File::open(recording)
            .map_err(TraceError::Read)
            .and_then(Reader::new)?;
        let started = reader.started().clone();
        let mut records = Vec::new();
        while let Some(record) = reader.next()? {
            records.push(record);
        }
        let times: Vec<u64> = records.iter().filter_map(time).collect();
        let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else {
            return Err(TraceError::NoRecords);
        };
        let clients = 1 + records.iter().filter_map(connection).max().unwrap_or(0);

        let path = folder.join(format!("long-{}.mcap", std::process::id()));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(TraceError::Write)?;
        std::fs::remove_file(&path).map_err(TraceError::Write)?;
        let sink = BufWriter::new(file.try_clone().map_err(TraceError::Write)?);
        let mut writer = Writer::new(sink, started, Timestamp::from_nanos(*first))?;
        let mut copies = 0_u32;
        while file.metadata().map_err(TraceError::Write)?.len() < wanted {
            let copy = Copy {
                later: u64::from(copies) * (last - first + PAUSE),
                clients: copies.saturating_mul(clients),
            };
            for record in &records {
                if let Some(record) = copy.of(record) {
                    writer.write(&record)?;
                }
            }
            copies += 1;
        }
        writer.write_control(
            Timestamp::from_nanos(last + u64::from(copies) * (last - first + PAUSE)),
            &Control::Ended { exit_status: None },
        )?;
        writer.finish()?;
        Ok(LongTrace { file, copies })
    }

    /// A path for other processes of this user, valid as long as this value exists.
    pub(super) fn path(&self) -> PathBuf {
        let (process, file) = (std::process::id(), self.file.as_raw_fd());
        PathBuf::from(format!("/proc/{process}/fd/{file}"))
    }

    /// The length in bytes.
    pub(super) fn len(&self) -> u64 {
        self.file.metadata().map_or(0, |meta| meta.len())
    }
}

/// A copy of the recording.
struct Copy {
    /// The delay of this copy behind the recording, in nanoseconds.
    later: u64,
    /// The offset that is added to connection numbers.
    clients: u32,
}

impl Copy {
    /// The `record` for this copy; `None` for records that occur only once in a trace.
    fn of(&self, record: &Record) -> Option<Record> {
        let client = |connection: &mut ConnectionId| connection.0 += self.clients;
        let mut record = record.clone();
        match &mut record {
            Record::Block(block) => {
                block.time = self.time(block.time);
                client(&mut block.connection);
            }
            Record::Control(time, control) => {
                *time = self.time(*time);
                match control {
                    Control::Opened(opened) => client(&mut opened.connection),
                    Control::Closed { connection, .. } => client(connection),
                    Control::Started(_) | Control::Ended { .. } => return None,
                    _ => {}
                }
            }
            Record::HandlerTimes(times) => {
                for one in times {
                    one.start = self.time(one.start);
                }
            }
            Record::Schedule(switches) => {
                for switch in switches {
                    switch.time = self.time(switch.time);
                }
            }
        }
        Some(record)
    }

    fn time(&self, time: Timestamp) -> Timestamp {
        Timestamp::from_nanos(time.as_nanos() + self.later)
    }
}

fn time(record: &Record) -> Option<u64> {
    let time = match record {
        Record::Block(block) => block.time,
        Record::Control(time, _) => *time,
        Record::Schedule(switches) => switches.last()?.time,
        Record::HandlerTimes(times) => times.last()?.start,
    };
    Some(time.as_nanos())
}

fn connection(record: &Record) -> Option<u32> {
    match record {
        Record::Block(block) => Some(block.connection.0),
        Record::Control(_, Control::Opened(opened)) => Some(opened.connection.0),
        _ => None,
    }
}
