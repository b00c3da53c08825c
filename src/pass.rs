//! One pass over a recording: the reader, the session with the user's own operations, the pipeline. Every
//! command that reads messages reads them here, context switches ahead of what happened meanwhile.

use std::fs::File;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use x11prof_analyzer::{Observation, Pipeline};
use x11prof_session::Session;
use x11prof_trace::{Reader, Timestamp};

use crate::error::CommandError;
use crate::input;
use crate::read_ahead::read_ahead;

/// A pass that has read nothing.
pub(crate) struct Pass {
    path: PathBuf,
    reader: Reader<BufReader<File>>,
    pipeline: Pipeline,
}

/// A part of a recording, in seconds after its start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Span {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
}

impl Span {
    /// Whether it is all of the recording.
    pub(crate) fn is_all(&self) -> bool {
        *self == Span::default()
    }

    /// From `start_ms` on for `length_ms`.
    pub(crate) fn of(start_ms: f64, length_ms: f64) -> Span {
        Span {
            from: Some(start_ms.max(0.0) / 1e3),
            to: Some((start_ms + length_ms) / 1e3),
        }
    }
}

/// A step of a pass over a part of a recording.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// Before that part: what is known then stays known, nothing of it counts.
    Before(&'a Observation<'a>),
    /// The part begins: counts start afresh. Not said of one that begins with the recording.
    Begins,
    /// In the part.
    Within(&'a Observation<'a>),
}

impl Pass {
    /// Over the trace at `path`, with the operations of the file at `operations` where one is given.
    pub(crate) fn open(path: &Path, operations: Option<&Path>) -> Result<Pass, CommandError> {
        let reader = input::trace(path)?;
        let session = operations.map_or_else(|| Ok(Session::new()), input::session)?;
        Ok(Pass {
            path: path.to_owned(),
            reader,
            pipeline: Pipeline::with_session(session),
        })
    }

    /// Works out what each request changes on the screen as well, where `follow` says so.
    pub(crate) fn follow_changes(&mut self, follow: bool) {
        self.pipeline.follow_changes(follow);
    }

    /// Hands all of the recording to `on`.
    pub(crate) fn run(self, mut on: impl FnMut(&Observation<'_>)) -> Result<(), CommandError> {
        self.run_until(|observation| {
            on(observation);
            ControlFlow::Continue(())
        })
    }

    /// Hands the recording to `on` as far as `span` needs it.
    pub(crate) fn run_span(
        self,
        span: Span,
        mut on: impl FnMut(Step<'_>),
    ) -> Result<(), CommandError> {
        let mut start = None;
        let mut before = span.from.is_some();
        self.run_until(|observation| {
            if let Some(time) = time(observation) {
                let start = *start.get_or_insert(time);
                let seconds = time.since(start).as_nanos() as f64 / 1e9;
                if before && span.from.is_none_or(|from| seconds >= from) {
                    before = false;
                    on(Step::Begins);
                }
                if span.to.is_some_and(|to| seconds > to) {
                    return ControlFlow::Break(());
                }
            }
            on(match before {
                true => Step::Before(observation),
                false => Step::Within(observation),
            });
            ControlFlow::Continue(())
        })
    }

    /// Hands the recording to `on` until it breaks off.
    pub(crate) fn run_until(
        self,
        on: impl FnMut(&Observation<'_>) -> ControlFlow<()>,
    ) -> Result<(), CommandError> {
        let mut pipeline = self.pipeline;
        read_ahead(self.reader, |next| pipeline.run_until(next, on))
            .map_err(|error| CommandError::file(&self.path, error))
    }
}

/// When it was, where it has a time of its own.
fn time(observation: &Observation<'_>) -> Option<Timestamp> {
    match observation {
        Observation::BlockStart(block) | Observation::Lost(block) => Some(block.time),
        Observation::Control(time, _) => Some(*time),
        _ => None,
    }
}
