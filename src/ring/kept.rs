//! The ring of `record --ring`: the last seconds of a recording as segments, and the files that are written from the
//! segments.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use x11prof_analyzer::Pipeline;
use x11prof_trace::{Control, Record, Timestamp, TraceError};

use super::condition::Condition;
use super::segment::{Segment, Whole, join};
use super::segment_preamble::SegmentPreamble;
use crate::error::shown;
use crate::output::{Access, AtomicFile};

/// The options of `record --ring`.
#[derive(Debug, Clone)]
pub(crate) struct RingOptions {
    /// The name of the files: `x11prof.mcap` gives `x11prof-1.mcap`, `x11prof-2.mcap` and so on.
    pub(crate) output: PathBuf,
    /// The duration of recorded data that the ring keeps.
    pub(crate) length: Duration,
    /// The conditions for writing the ring to a file.
    pub(crate) when: Vec<Condition>,
}

/// The files that a ring wrote, and its failures.
#[derive(Debug, Default)]
pub(crate) struct Rung {
    /// The files written.
    pub(crate) files: Vec<PathBuf>,
    /// Descriptions of failures.
    pub(crate) trouble: Vec<String>,
}

/// The number of segments in the ring's length. The ring drops segments as a whole, the oldest one first.
const PARTS: u32 = 8;
/// The maximum size of all segments on disk, in bytes. Above this size the ring drops the oldest segments early.
const MAX_BYTES: u64 = 200 << 20;
/// The time between the moment when a condition is met and the writing of the file.
const AFTER: Duration = Duration::from_secs(1);
/// The longest wait for a moment at which the state of all connections can be described, so that a segment can end.
const CUT_PATIENCE: Duration = Duration::from_secs(1);
/// The maximum number of files of a recording.
const MAX_FILES: usize = 100;

/// A file that the ring has to write.
struct Due {
    when: Instant,
    /// The number of records that had arrived when the file became due. The file must contain all of these records.
    came: Option<u64>,
    /// The condition that was met, for the message.
    why: String,
}

/// The segments of the ring.
pub(super) struct Kept {
    options: RingOptions,
    folder: PathBuf,
    preamble: SegmentPreamble,
    /// The current segment; `None` before the recording begins, and after a failure.
    segment: Option<Segment>,
    parts: VecDeque<Whole>,
    now: Timestamp,
    /// The time since which the segment has been due to end; `None` if it is not due.
    cut_since: Option<Timestamp>,
    /// The file to write next; `None` if no condition was met.
    due: Option<Due>,
    /// The number of records that the ring has missed so far.
    missed: u64,
    shortened: bool,
    rung: Rung,
}

impl Kept {
    pub(super) fn new(options: &RingOptions) -> Kept {
        let folder = match options.output.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        Kept {
            options: options.clone(),
            folder,
            preamble: SegmentPreamble::default(),
            segment: None,
            parts: VecDeque::new(),
            now: Timestamp::default(),
            cut_since: None,
            due: None,
            missed: 0,
            shortened: false,
            rung: Rung::default(),
        }
    }

    /// Adds the next record to the ring. `pipeline` must have processed the record.
    pub(super) fn take(&mut self, record: &Record, pipeline: &Pipeline) {
        match record {
            Record::Block(block) => self.now = self.now.max(block.time),
            Record::Control(time, control) => {
                self.now = self.now.max(*time);
                self.preamble.note(*time, control);
                if let Control::Started(started) = control {
                    let begun = Segment::begin(&self.folder, *time, started.clone(), &[]);
                    self.segment = self.worked(begun);
                    return;
                }
            }
            Record::Schedule(_) | Record::HandlerTimes(_) => {}
        }
        self.put(record);
        self.turn(pipeline);
    }

    fn put(&mut self, record: &Record) {
        if let Some(segment) = &mut self.segment {
            let written = segment.write(record);
            if self.worked(written).is_none() {
                self.segment = None;
            }
        }
    }

    /// Sets the number of records that the ring has missed so far.
    pub(super) fn missed(&mut self, records: u64) {
        self.missed = records;
    }

    /// Schedules a file because a condition was met. `why` describes the condition.
    pub(super) fn wanted(&mut self, why: String) {
        if self.due.is_some() {
            return;
        }
        let text = why.clone();
        self.put(&Record::Control(self.now, Control::Mark { text }));
        let (when, came) = (Instant::now() + AFTER, None);
        self.due = Some(Due { when, came, why });
    }

    /// Writes the scheduled file if it is due and the ring contains all its records. `taken` counts the records that
    /// the ring has processed, `came` the records that have arrived.
    pub(super) fn write_if_due(&mut self, pipeline: &Pipeline, taken: u64, came: u64) {
        let is_due =
            |due: &mut Due| Instant::now() >= due.when && taken >= *due.came.get_or_insert(came);
        if let Some(due) = self.due.take_if(is_due) {
            self.write(&due.why, pipeline);
        }
    }

    /// Ends the ring, and writes a file that is still scheduled. `missed` is the number of records that the ring did
    /// not receive.
    pub(super) fn end(mut self, pipeline: &Pipeline, missed: u64) -> Rung {
        if let Some(due) = self.due.take() {
            self.write(&due.why, pipeline);
        }
        if missed > 0 {
            let what = format!("the ring fell behind: {missed} records are not in it");
            self.rung.trouble.push(what);
        }
        self.rung
    }

    /// Starts the next segment when the current segment is long enough, and drops the oldest segment.
    fn turn(&mut self, pipeline: &Pipeline) {
        let Some(segment) = &self.segment else { return };
        let is_old = since(segment.from, self.now) >= self.options.length / PARTS;
        if !is_old && !segment.exceeds(MAX_BYTES / u64::from(PARTS)) {
            return;
        }
        // Each connection should be at a message boundary, but the wait for that is limited.
        let waits = *self.cut_since.get_or_insert(self.now);
        if since(waits, self.now) < CUT_PATIENCE && !pipeline.can_go_on_elsewhere() {
            return;
        }
        self.cut(pipeline.checkpoint());
        let length = self.options.length;
        let mut bytes: u64 = self.parts.iter().map(|part| part.len).sum();
        while let Some(oldest) = self.parts.front() {
            let is_old = since(oldest.to, self.now) > length && self.due.is_none();
            if !is_old && bytes <= MAX_BYTES {
                break;
            }
            if !is_old && !std::mem::replace(&mut self.shortened, true) {
                let held = since(oldest.from, self.now).as_secs();
                say!(
                    "the ring holds only {held} s: {} MB are full. Record less with --ring, or without \
                     --keep-images",
                    MAX_BYTES >> 20
                );
            }
            bytes -= oldest.len;
            self.parts.pop_front();
        }
    }

    /// Ends the current segment and starts the next one. `checkpoint` describes the state of the connections at this
    /// time.
    fn cut(&mut self, checkpoint: Vec<Control>) {
        self.cut_since = None;
        let Some(segment) = self.segment.take() else {
            return;
        };
        let ended = segment.end(self.now);
        if let Some(part) = self.worked(ended) {
            self.parts.push_back(part);
        }
        let Some(started) = self.preamble.started(self.now) else {
            return;
        };
        let preamble: Vec<Control> = self.preamble.rest().cloned().chain(checkpoint).collect();
        let begun = Segment::begin(&self.folder, self.now, started, &preamble);
        self.segment = self.worked(begun);
    }

    /// Writes all segments to a new file. `why` is the condition that was met. The segments stay in the ring, so the
    /// next file may overlap.
    fn write(&mut self, why: &str, pipeline: &Pipeline) {
        if self.rung.files.len() >= MAX_FILES {
            return;
        }
        if self.missed > 0 {
            let what = format!(
                "the ring fell behind: {} records are missing here or before, and what came on their connections \
                 later cannot be read",
                self.missed
            );
            self.put(&Record::Control(self.now, Control::Trouble { what }));
        }
        self.cut(pipeline.checkpoint());
        let (Some(first), Some(last)) = (self.parts.front(), self.parts.back()) else {
            return;
        };
        let length = since(first.from, last.to).as_secs_f64();
        // The first unused number. Another recorder may write a ring of the same name at the same time.
        let mut paths = (self.rung.files.len() + 1..)
            .map(|number| numbered(&self.options.output, number))
            .filter(|path| path.symlink_metadata().is_err())
            .peekable();
        let first = paths.peek().cloned().unwrap_or_default();
        let written = AtomicFile::begin(&first, Access::Private)
            .map_err(TraceError::Write)
            .and_then(|sink| join(&self.parts, sink))
            .and_then(|sink| sink.finish_as_new(paths).map_err(TraceError::Write));
        if let Some(path) = self.worked(written) {
            say!("{}: {length:.1} s, for {why}", shown(&path));
            self.rung.files.push(path);
        }
        if self.rung.files.len() == MAX_FILES {
            say!("{MAX_FILES} files are written, the maximum. Later conditions are ignored");
        }
    }

    /// Returns the value of `result`. On a failure, prints and stores the error, and returns `None`.
    fn worked<T>(&mut self, result: Result<T, TraceError>) -> Option<T> {
        result
            .map_err(|error| {
                let what = format!("the ring in {}: {error}", shown(&self.folder));
                say!("{what}");
                self.rung.trouble.push(what);
            })
            .ok()
    }
}

fn since(from: Timestamp, to: Timestamp) -> Duration {
    to.since(from)
}

/// Inserts a number into a file name: `x11prof.mcap` becomes `x11prof-3.mcap`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::numbered;
    use std::path::Path;

    #[test]
    fn files_are_numbered_before_their_extension() {
        assert_eq!(
            numbered(Path::new("a/x11prof.mcap"), 3),
            Path::new("a/x11prof-3.mcap")
        );
        assert_eq!(numbered(Path::new("trace"), 1), Path::new("trace-1"));
    }
}
