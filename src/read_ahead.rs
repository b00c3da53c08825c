//! Reads a trace on a separate thread, so that one processor decompresses while another one analyses.

use std::io::Read;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use x11prof_trace::{Control, Reader, Record, TraceError};

/// The size at which the reading thread sends a batch, in bytes (`BATCH_BYTES`) or in records (`BATCH_RECORDS`).
const BATCH_BYTES: usize = 1 << 18;
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
    let (mut batch, mut bytes) = (Vec::new(), 0);
    loop {
        let read = reader.next();
        if let Ok(Some(record)) = read {
            bytes += match &record {
                Record::Block(block) => block.bytes.len(),
                // Each wait of a thread may have such a record, and passing one record alone takes longer than reading
                // it.
                Record::Control(_, Control::Waiting(waiting)) => {
                    let channel = waiting.wait_channel.as_ref();
                    let peer = waiting.peer.as_ref().map_or(0, |peer| peer.name.len());
                    size_of_val(waiting.arguments.as_slice())
                        + channel.map_or(0, String::len)
                        + peer
                }
                // These records may contain long texts, so each ends a batch.
                Record::Control(..) => BATCH_BYTES,
                Record::Schedule(switches) => size_of_val(switches.as_slice()),
                Record::HandlerTimes(times) => size_of_val(times.as_slice()),
            };
            batch.push(record);
            if bytes < BATCH_BYTES && batch.len() < BATCH_RECORDS {
                continue;
            }
            bytes = 0;
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
