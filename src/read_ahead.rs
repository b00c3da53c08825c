//! Reads a trace on a separate thread, so that one processor decompresses while another one analyses.

use std::io::Read;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use x11prof_trace::{Reader, Record, TraceError};

/// The size at which the reading thread sends a batch, in bytes of messages (`BATCH_BYTES`) or in records
/// (`BATCH_RECORDS`).
const BATCH_BYTES: u64 = 1 << 18;
const BATCH_RECORDS: usize = 1 << 10;
/// The maximum number of batches that wait for the analysis.
const AHEAD: usize = 2;

type Batch = Result<Vec<Record>, TraceError>;

/// Reads the records of `reader` on a separate thread. Calls `analyse` with a function that returns the next record.
pub(crate) fn read_ahead<R: Read + Send>(
    reader: Reader<R>,
    analyse: impl FnOnce(
        &mut dyn FnMut() -> Result<Option<Record>, TraceError>,
    ) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    thread::scope(|scope| {
        let (sender, batches) = mpsc::sync_channel(AHEAD);
        thread::Builder::new()
            .name("x11prof-reader".to_owned())
            .spawn_scoped(scope, move || read(reader, &sender))
            .map_err(TraceError::Read)?;
        let mut batch = Vec::new().into_iter();
        let result = analyse(&mut || next(&mut batch, &batches));
        // The reader ends when its batches are no longer received.
        drop(batches);
        result
    })
}

fn next(
    batch: &mut std::vec::IntoIter<Record>,
    batches: &Receiver<Batch>,
) -> Result<Option<Record>, TraceError> {
    loop {
        if let Some(record) = batch.next() {
            return Ok(Some(record));
        }
        match batches.recv() {
            Ok(records) => *batch = records?.into_iter(),
            // The thread has read the whole trace.
            Err(_) => return Ok(None),
        }
    }
}

/// Reads records and sends them in batches until the end of the trace, an error, or until the receiver is dropped. An
/// error is sent after the records before it.
fn read<R: Read>(mut reader: Reader<R>, sender: &SyncSender<Batch>) {
    let (mut batch, mut sent) = (Vec::new(), 0);
    loop {
        let read = reader.next();
        if let Ok(Some(record)) = read {
            batch.push(record);
            let bytes = reader.message_bytes();
            if bytes - sent < BATCH_BYTES && batch.len() < BATCH_RECORDS {
                continue;
            }
            sent = bytes;
            if sender.send(Ok(std::mem::take(&mut batch))).is_err() {
                return;
            }
            continue;
        }
        if sender.send(Ok(batch)).is_ok()
            && let Err(error) = read
        {
            // The receiver may have gone.
            let _ = sender.send(Err(error));
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use x11prof_trace::{Control, Reader, Record, Started, Timestamp, Writer};

    use super::{BATCH_RECORDS, read};

    /// The number of records in each batch of a trace with `count` marks of `length` bytes.
    fn batches(count: usize, length: usize) -> Vec<usize> {
        let started = Started {
            format: 0,
            recorder: String::new(),
            wall_clock_ns: 0,
            command: Vec::new(),
            cpu_model: String::new(),
            cpus: 1,
            kernel: String::new(),
            full: false,
        };
        let time = Timestamp::from_nanos(1);
        let mut writer = Writer::new(Vec::new(), started, time).unwrap();
        let text = "m".repeat(length);
        for _ in 0..count {
            let text = text.clone();
            let mark = Record::Control(time, Control::Mark { text });
            writer.write(&mark).unwrap();
        }
        let trace = writer.finish().unwrap();
        let (sender, batches) = mpsc::sync_channel(count + 2);
        read(Reader::new(trace.as_slice()).unwrap(), &sender);
        drop(sender);
        batches.iter().map(|batch| batch.unwrap().len()).collect()
    }

    #[test]
    fn batches_are_bounded_in_records_and_in_bytes() {
        let whole = BATCH_RECORDS;
        assert_eq!(batches(2 * whole, 1), [whole, whole, 1]);
        assert_eq!(batches(6, 100_000), [4, 3, 0]);
        assert_eq!(batches(3, 300_000), [2, 1, 1, 0]);
    }
}
