//! The last seconds of a recording, in parts that each begin in the middle, and the files that are made of them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use x11prof_analyzer::Pipeline;
use x11prof_trace::{Control, Record, Timestamp, TraceError};

use super::condition::Condition;
use super::heads::Heads;
use super::segment::{Segment, Whole, join};
use crate::output::{Access, AtomicFile};

/// What a ring is like.
#[derive(Debug, Clone)]
pub(crate) struct RingOptions {
    /// `FILE`, of which `FILE-1`, `FILE-2` … are made.
    pub(crate) output: PathBuf,
    /// How much is kept.
    pub(crate) length: Duration,
    /// What is waited for.
    pub(crate) when: Vec<Condition>,
}

/// What became of it.
#[derive(Debug, Default)]
pub(crate) struct Rung {
    /// What was written.
    pub(crate) files: Vec<PathBuf>,
    /// What went wrong.
    pub(crate) trouble: Vec<String>,
}

/// Parts that the length is divided into: the oldest goes as a whole.
const PARTS: u32 = 8;
/// Bytes of all parts on disk. What is more goes before its time.
const MAX_BYTES: u64 = 200 << 20;
/// How long the recording goes on before it is written down.
const AFTER: Duration = Duration::from_secs(1);
/// How long a part may wait for a moment in which all connections can be told from there on.
const CUT_PATIENCE: Duration = Duration::from_secs(1);
/// Files that a recording makes at most.
const MAX_FILES: usize = 100;

/// What is kept.
pub(super) struct Kept {
    options: RingOptions,
    folder: PathBuf,
    heads: Heads,
    /// The part that grows; none before the recording begins, and after a failure.
    segment: Option<Segment>,
    parts: VecDeque<Whole>,
    now: Timestamp,
    /// Since when the part would end if all connections could be told.
    cut_since: Option<Timestamp>,
    /// What is to be written down, and when.
    due: Option<(Instant, String)>,
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
            heads: Heads::default(),
            segment: None,
            parts: VecDeque::new(),
            now: Timestamp::default(),
            cut_since: None,
            due: None,
            shortened: false,
            rung: Rung::default(),
        }
    }

    /// Takes the next record, of which `pipeline` has taken note.
    pub(super) fn take(&mut self, record: &Record, pipeline: &Pipeline) {
        match record {
            Record::Block(block) => self.now = self.now.max(block.time),
            Record::Control(time, control) => {
                self.now = self.now.max(*time);
                self.heads.note(*time, control);
                if let Control::Started(started) = control {
                    let begun = Segment::begin(&self.folder, *time, started.clone(), &[]);
                    self.segment = self.worked(begun);
                    return;
                }
            }
            Record::Schedule(_) => {}
        }
        if let Some(segment) = &mut self.segment {
            let written = segment.write(record);
            if self.worked(written).is_none() {
                self.segment = None;
            }
        }
        self.turn(pipeline);
    }

    /// Something that was waited for has happened: what is kept is written down soon.
    pub(super) fn wanted(&mut self, why: String) {
        if self.due.is_some() {
            return;
        }
        if let Some(segment) = &mut self.segment {
            let text = why.clone();
            let marked = segment.write(&Record::Control(self.now, Control::Mark { text }));
            if self.worked(marked).is_none() {
                self.segment = None;
            }
        }
        self.due = Some((Instant::now() + AFTER, why));
    }

    /// Writes down what is due.
    pub(super) fn write_if_due(&mut self, pipeline: &Pipeline) {
        if let Some((_, why)) = self.due.take_if(|(when, _)| Instant::now() >= *when) {
            self.write(&why, pipeline);
        }
    }

    /// The recording has ended; `missed` records did not come this far.
    pub(super) fn end(mut self, pipeline: &Pipeline, missed: u64) -> Rung {
        if let Some((_, why)) = self.due.take() {
            self.write(&why, pipeline);
        }
        if missed > 0 {
            let what = format!("the ring fell behind: {missed} records are not in it");
            self.rung.trouble.push(what);
        }
        self.rung
    }

    /// Begins another part where it is time, and lets the oldest go.
    fn turn(&mut self, pipeline: &Pipeline) {
        let Some(segment) = &self.segment else { return };
        let is_old = since(segment.from, self.now) >= self.options.length / PARTS;
        if !is_old && !segment.exceeds(MAX_BYTES / u64::from(PARTS)) {
            return;
        }
        // All connections should be where a message's length is known. Not for ever.
        let waits = *self.cut_since.get_or_insert(self.now);
        if since(waits, self.now) < CUT_PATIENCE && !pipeline.can_go_on_elsewhere() {
            return;
        }
        self.cut(pipeline.middle());
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
                    "so much happens that {} MB hold {held} s of it; --ring keeps no more than that",
                    MAX_BYTES >> 20
                );
            }
            bytes -= oldest.len;
            self.parts.pop_front();
        }
    }

    /// Ends the part, and begins the next in the middle of the recording.
    fn cut(&mut self, middle: Vec<Control>) {
        self.cut_since = None;
        let Some(segment) = self.segment.take() else {
            return;
        };
        let ended = segment.end(self.now);
        if let Some(part) = self.worked(ended) {
            self.parts.push_back(part);
        }
        let Some(started) = self.heads.started(self.now) else {
            return;
        };
        let heads: Vec<Control> = self.heads.rest().cloned().chain(middle).collect();
        let begun = Segment::begin(&self.folder, self.now, started, &heads);
        self.segment = self.worked(begun);
    }

    /// Makes a file of all that is kept, of which nothing is kept then.
    fn write(&mut self, why: &str, pipeline: &Pipeline) {
        if self.rung.files.len() >= MAX_FILES {
            return;
        }
        self.cut(pipeline.middle());
        let parts = std::mem::take(&mut self.parts);
        let (Some(first), Some(last)) = (parts.front(), parts.back()) else {
            return;
        };
        let length = since(first.from, last.to).as_secs_f64();
        let path = self.next_path();
        let written = AtomicFile::begin(&path, Access::Private)
            .map_err(TraceError::Write)
            .and_then(|sink| join(&parts, sink))
            .and_then(|sink| sink.finish().map_err(TraceError::Write));
        if self.worked(written).is_some() {
            say!("{}: {length:.1} s, for {why}", path.display());
            self.rung.files.push(path);
        }
        if self.rung.files.len() == MAX_FILES {
            say!("these are {MAX_FILES} files, and no more are made");
        }
    }

    /// `FILE-N` with the first number that nothing has yet.
    fn next_path(&self) -> PathBuf {
        let mut number = self.rung.files.len() + 1;
        loop {
            let path = numbered(&self.options.output, number);
            if !path.exists() {
                return path;
            }
            number += 1;
        }
    }

    /// What came of writing; a failure is said and kept.
    fn worked<T>(&mut self, result: Result<T, TraceError>) -> Option<T> {
        result
            .map_err(|error| {
                let what = format!("the ring in {}: {error}", self.folder.display());
                say!("{what}");
                self.rung.trouble.push(what);
            })
            .ok()
    }
}

fn since(from: Timestamp, to: Timestamp) -> Duration {
    to.since(from)
}

/// `x11prof-3.mcap` of `x11prof.mcap`.
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
