//! One pass over a recording: the reader, the session with the user's own operations, the pipeline. Every
//! command that reads messages reads them here, context switches ahead of what happened meanwhile.

use std::fs::File;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use x11prof_analyzer::{Observation, Pipeline};
use x11prof_session::Session;
use x11prof_trace::Reader;

use crate::error::CommandError;
use crate::input;

/// A pass that has read nothing.
pub(crate) struct Pass {
    path: PathBuf,
    reader: Reader<BufReader<File>>,
    pipeline: Pipeline,
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

    /// Hands the recording to `on` until it breaks off.
    pub(crate) fn run_until(
        mut self,
        on: impl FnMut(&Observation<'_>) -> ControlFlow<()>,
    ) -> Result<(), CommandError> {
        self.pipeline
            .run_until(&mut self.reader, on)
            .map_err(|error| CommandError::file(&self.path, error))
    }
}
