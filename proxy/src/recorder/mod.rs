//! The recorder's thread. It removes the relayed bytes from the queue and writes the trace.

pub(crate) mod client_processes;
pub(crate) mod connection_recorder;
pub(crate) mod images;
pub(crate) mod kept_bytes;
pub(crate) mod omission;
pub(crate) mod record_filter;
pub(crate) mod record_queue;
pub(crate) mod result_path;
pub(crate) mod trace_file;
pub(crate) mod watch;

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use x11prof_trace::{
    Control, Record, Started, Timestamp, TraceError, Writer, check_limits, last_words,
};

use crate::clock;
use crate::recorder::record_filter::RecordFilter;
use crate::recorder::record_queue::{RecordReceiver, memory};
use crate::recorder::trace_file::{FileOutcome, TraceFile};
use crate::recorder::watch::Watch;

/// The time for which entries accumulate in the queue before the thread removes them.
const PATIENCE: Duration = Duration::from_millis(25);
/// The interval between two closed chunks of the file. A killed recorder loses the data of this interval and of
/// `PATIENCE`. The loss must stay below 250 ms, including some waiting for a processor or the disk.
const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// The maximum duration of a write at the end of a recording. After a longer write, the recorder gives up.
pub(crate) const HANG_PATIENCE: Duration = Duration::from_secs(5);
/// The interval between two checks for a hanging write.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The number of processed entries after which their memory is released to the relay.
const RELEASE_EVERY: usize = 64;

/// The outcome of writing a trace.
#[derive(Debug, Default)]
pub(crate) struct TraceOutcome {
    pub(crate) records: u64,
    /// The first failure, as text. The trace ends before it. `None` without a failure.
    pub(crate) trouble: Option<String>,
    /// The outcome of the trace's file.
    pub(crate) file: FileOutcome,
}

/// The running thread of the recorder. It ends when its queue is closed.
#[derive(Debug)]
pub(crate) struct Recorder {
    thread: JoinHandle<()>,
    written: Receiver<TraceOutcome>,
    disk: Disk,
    path: PathBuf,
}

/// The start time of the recorder's current write in nanoseconds; 0 if there is none. A long write indicates a hanging
/// disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Arc<AtomicU64>);

impl Disk {
    /// The time since the current write to the trace file began; zero if there is none.
    pub(crate) fn hangs_for(&self) -> Duration {
        match self.0.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_nanos(clock::now().as_nanos().saturating_sub(since)),
        }
    }

    /// Calls `write`, which may never return.
    fn busy<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.store(clock::now().as_nanos(), Ordering::Relaxed);
        let done = write();
        self.0.store(0, Ordering::Relaxed);
        done
    }
}

impl Recorder {
    /// Starts the thread, which writes the trace `place` (called `path` in messages). Without `place`, only `watch`
    /// receives the records. `tell` is called with failures as they happen.
    pub(crate) fn start(
        place: Option<TraceFile>,
        path: PathBuf,
        started: Started,
        drain: RecordReceiver,
        watch: Option<Watch>,
        mut filter: Option<Box<dyn RecordFilter>>,
        tell: impl Fn(String) + Send + 'static,
    ) -> Result<Recorder, TraceError> {
        let now = clock::now();
        if let Some(watch) = &watch {
            let started = started.clone();
            watch.offer(0, true, || Record::Control(now, Control::Started(started)));
        }
        let started = match &mut filter {
            Some(filter) => filter.begin(now, started),
            None => started,
        };
        let disk = Disk::default();
        let (writer, same) = match &place {
            Some(place) => {
                let again = || place.file().try_clone().map_err(TraceError::Write);
                let sink = BufWriter::new(UntilFailure::new(again()?, disk.clone()));
                (Some(Writer::new(sink, started, now)?), Some(again()?))
            }
            None => (None, None),
        };
        let mut trace = Trace {
            safe: Safe::default(),
            writer,
            file: same,
            written: TraceOutcome::default(),
            place,
            started: now,
            began: false,
            path: path.clone(),
            watch,
            filter,
            tell,
        };
        trace.note_safe();
        let (tell_written, written) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("x11prof-recorder".to_owned())
            .spawn(move || {
                // The receiver is gone if the thread took too long.
                let _ = tell_written.send(trace.run(&drain));
            })
            .map_err(TraceError::Write)?;
        Ok(Recorder {
            thread,
            written,
            disk,
            path,
        })
    }

    /// The progress of the recorder's writes to the disk.
    pub(crate) fn disk(&self) -> Disk {
        self.disk.clone()
    }

    /// Waits for the end of the thread, after the queue was closed. Waits for a hanging disk until `HANG_PATIENCE` has
    /// passed or `signalled` has returned true, which it does once for each signal. Time for which the disk hung before
    /// does not count, because the disk may continue. A second signal ends a long writing, too; `tell` is called after the
    /// first one.
    pub(crate) fn join(
        self,
        mut signalled: impl FnMut() -> bool,
        tell: impl FnOnce(String),
    ) -> TraceOutcome {
        let began = Instant::now();
        let (mut signals, mut tell) = (0, Some(tell));
        let why = loop {
            match self.written.recv_timeout(LOOK_EVERY) {
                Ok(written) => {
                    let _ = self.thread.join();
                    return written;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return TraceOutcome {
                        trouble: Some("the recorder's thread failed".to_owned()),
                        ..TraceOutcome::default()
                    };
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            signals += u8::from(signals < 2 && signalled());
            let hangs = self.disk.hangs_for().min(began.elapsed());
            match signals {
                _ if hangs >= HANG_PATIENCE => break "the disk hangs",
                0 => {}
                _ if hangs >= 4 * LOOK_EVERY => break "the disk hangs",
                1 => {
                    if let Some(tell) = tell.take() {
                        tell(
                            "the end of the session is being written; another signal leaves it out"
                                .to_owned(),
                        );
                    }
                }
                _ => break "a second signal ended the writing",
            }
        };
        // The thread ends with the process. It may be blocked in its write.
        let path = self.path.display();
        let trouble = format!("{path}: {why}; the end of the session is not in the trace");
        TraceOutcome {
            trouble: Some(trouble),
            file: FileOutcome {
                len: std::fs::metadata(&self.path).map_or(0, |file| file.len()),
                ..FileOutcome::default()
            },
            ..TraceOutcome::default()
        }
    }
}

struct Trace<W: Write, F: Fn(String)> {
    /// The trace's writer; `None` without a file, and after a failed write. Entries are then only removed from the queue.
    writer: Option<Writer<W>>,
    /// The trace's file, in which a failure is marked; `None` if the destination is not a file.
    file: Option<File>,
    safe: Safe,
    written: TraceOutcome,
    /// The trace's file with its current and final names; `None` if the destination is not a file.
    place: Option<TraceFile>,
    /// The time of the first record.
    started: Timestamp,
    /// True if the recording reached its regular end, even if no client was recorded.
    began: bool,
    path: PathBuf,
    watch: Option<Watch>,
    filter: Option<Box<dyn RecordFilter>>,
    tell: F,
}

impl<W: Write, F: Fn(String)> Trace<W, F> {
    fn run(mut self, drain: &RecordReceiver) -> TraceOutcome {
        let mut entries = Vec::new();
        let mut flushed = Instant::now();
        let mut dirty = false;
        while drain.take(&mut entries, PATIENCE) {
            dirty |= !entries.is_empty();
            let mut cost = 0;
            for (n, entry) in entries.drain(..).enumerate() {
                cost += memory(&entry);
                self.entry(entry);
                if n % RELEASE_EVERY == RELEASE_EVERY - 1 {
                    drain.release(std::mem::take(&mut cost));
                }
                if flushed.elapsed() >= FLUSH_EVERY {
                    self.flush();
                    flushed = Instant::now();
                }
            }
            drain.release(cost);
            if dirty && flushed.elapsed() >= FLUSH_EVERY {
                self.flush();
                flushed = Instant::now();
                dirty = false;
            }
        }
        self.filter(|filter| filter.finish());
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.finish()
        {
            self.failed(&error);
        }
        if let Some(place) = self.place.take() {
            self.written.file = place.end(self.began);
        }
        self.written
    }

    fn entry(&mut self, entry: Record) {
        // Programs and servers can write any time into the memory that they share with the recorder.
        if let Err(why) = check_limits(&entry, self.started) {
            return self.left_out(why);
        }
        if let Some(watch) = &self.watch {
            let is_control = matches!(entry, Record::Control(..));
            // Cloning a block shares its bytes.
            watch.offer(memory(&entry), is_control, || entry.clone());
        }
        match &entry {
            Record::Block(_) => self.take_name(),
            Record::Control(_, control) => self.began |= matches!(control, Control::Ended { .. }),
            Record::Schedule(_) | Record::HandlerTimes(_) => {}
        }
        self.written.records += 1;
        if self.filter.is_some() {
            return self.filter(|filter| filter.feed(entry));
        }
        self.attempt(|writer| writer.write(&entry));
    }

    /// Passes an input to the filter, and writes the records that are ready.
    fn filter(&mut self, give: impl FnOnce(&mut dyn RecordFilter)) {
        let Some(mut filter) = self.filter.take() else {
            return;
        };
        let write = |record| self.attempt(|writer| writer.write(&record));
        if record_filter::pass(&mut *filter, give, write) {
            self.filter = Some(filter);
        } else if self.writer.take().is_some() {
            self.failed(&"the filter of the records failed");
        }
    }

    /// Gives the trace its final name, after a client has sent something.
    fn take_name(&mut self) {
        if let Some(Err(what)) = self.place.as_mut().map(TraceFile::take_name) {
            (self.tell)(what.clone());
            self.written.trouble.get_or_insert(what);
        }
    }

    fn flush(&mut self) {
        self.attempt(Writer::flush);
        self.note_safe();
    }

    /// Stores the length up to which the file is complete.
    fn note_safe(&mut self) {
        if let (Some(writer), Some(file)) = (&self.writer, &mut self.file)
            && let Ok(len) = file.stream_position()
        {
            self.safe = Safe {
                len,
                messages: writer.flushed(),
            };
        }
    }

    /// Writes, unless an earlier write has failed. The recorded program continues in any case.
    fn attempt(&mut self, write: impl FnOnce(&mut Writer<W>) -> Result<(), TraceError>) {
        match self.writer.as_mut().map(write) {
            Some(Err(TraceError::Unwritable { what })) => self.left_out(&what),
            Some(Err(error)) => {
                self.writer = None;
                self.failed(&error);
            }
            Some(Ok(())) | None => {}
        }
    }

    /// Reports a record that is not in the trace, if it is the first problem.
    fn left_out(&mut self, why: &str) {
        if self.written.trouble.is_none() {
            let what = format!("a record is not in the trace: {why}");
            (self.tell)(what.clone());
            self.written.trouble = Some(what);
        }
    }

    fn failed(&mut self, error: &dyn std::fmt::Display) {
        let in_trace = format!("{error}; the rest of the session is not in the trace");
        let what = format!("{}: {in_trace}", self.path.display());
        (self.tell)(what.clone());
        // The message in the trace does not contain the path, because other people may read the trace.
        self.mark(&in_trace);
        self.written.trouble.get_or_insert(what);
    }

    /// Writes the reason for the trace's end over the remains of the failed write, because a full disk has no other
    /// space.
    fn mark(&mut self, what: &str) {
        let Some(mut file) = self.file.take() else {
            return;
        };
        let Safe { len, messages } = self.safe;
        let words = match last_words(what, clock::now(), messages) {
            Ok(words) if len > 0 && file.set_len(len).is_ok() => words,
            _ => return,
        };
        let marked = file
            .seek(SeekFrom::Start(len))
            .and_then(|_| file.write_all(&words));
        if marked.is_err() {
            // The file has no space for the mark, and must not end in a partial mark.
            let _ = file.set_len(len);
        }
    }
}

/// The part of the file that survives a crash or a failure: its length in bytes, and its number of messages.
#[derive(Debug, Clone, Copy, Default)]
struct Safe {
    len: u64,
    messages: u32,
}

/// A file that accepts no data after a failed write. Otherwise later data would follow a gap.
#[derive(Debug)]
struct UntilFailure {
    file: File,
    disk: Disk,
    failed: bool,
}

impl UntilFailure {
    fn new(file: File, disk: Disk) -> UntilFailure {
        UntilFailure {
            file,
            disk,
            failed: false,
        }
    }
}

impl Write for UntilFailure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed {
            return Err(io::Error::other("an earlier write has failed"));
        }
        let written = self.disk.busy(|| self.file.write(bytes));
        let again = |error: &io::Error| error.kind() == io::ErrorKind::Interrupted;
        self.failed = written.as_ref().is_err_and(|error| !again(error));
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests;
