//! Runs x11prof as the command of its own recording: as the player of a replay, or the driver of a session. Such an
//! internal program is a client of the recorder's display, and returns its result through a file.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use x11prof_proxy::{
    AttachOptions, DEFAULT_QUEUE_BYTES, Notice, PrivateDir, RecordConfig, RecordFilter, Recorded,
    Target, end_with_this_process, record,
};
use x11prof_trace::{ConnectionId, Control, Record, Started, Timestamp};

use super::record::{RECORDER, tell_silence, why};
use crate::error::{CommandError, Outcome};

/// An internal program (the player of a replay, or the driver of a session) with its arguments.
pub(super) struct InternalProgram<'a> {
    /// The first word of the internal program's command line, which selects the program.
    pub(super) word: &'a str,
    /// The words of the command line after the name of the result file.
    pub(super) words: Vec<OsString>,
    /// The program that it drives, which the trace names as the recorded command; empty for none.
    pub(super) driven: Vec<OsString>,
    /// The text that the result file contains before the internal program starts.
    pub(super) text: &'a str,
    /// A label for the trace, as name and value.
    pub(super) label: (&'a str, String),
    /// The error message if the internal program was killed.
    pub(super) what: &'a str,
}

impl InternalProgram<'_> {
    /// Runs and records the internal program on the server `target`, writes the recording to `trace`, and returns the
    /// result that the program wrote with [`tell`].
    pub(super) fn recorded<T: DeserializeOwned>(
        self,
        target: Target,
        trace: &Path,
    ) -> Result<T, CommandError> {
        let outcome = OutcomeFile::new(self.text).map_err(CommandError::failed)?;
        let (command, labels) = (self.command(&outcome)?, self.labels());
        let config = RecordConfig {
            output: Some(trace.to_owned()),
            target,
            command,
            driven: self.driven.clone(),
            queue_bytes: DEFAULT_QUEUE_BYTES,
            labels,
            recorder: RECORDER.to_owned(),
            filter: Some(without_its_own),
            ..RecordConfig::default()
        };
        let recorded = record(&config, tell_silence).map_err(why)?;
        self.end(&outcome, &recorded, trace)
    }

    /// Records the existing clients of the display `target` to `trace` while the internal program runs, and returns the
    /// internal program's result.
    pub(super) fn attached<T: DeserializeOwned>(
        self,
        target: Target,
        trace: &Path,
    ) -> Result<T, CommandError> {
        let outcome = OutcomeFile::new(self.text).map_err(CommandError::failed)?;
        let words = self.command(&outcome)?;
        let mut command = Command::new(&words[0]);
        end_with_this_process(command.args(&words[1..]));
        if let Target::Display(display) = &target {
            command.env("DISPLAY", display);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let config = RecordConfig {
            output: Some(trace.to_owned()),
            target,
            attach: Some(AttachOptions {
                stop: Arc::clone(&stop),
                takes_marks: true,
            }),
            queue_bytes: DEFAULT_QUEUE_BYTES,
            labels: self.labels(),
            recorder: RECORDER.to_owned(),
            ..RecordConfig::default()
        };
        let mut command = Some(command);
        let recorded = record(&config, |notice| {
            let begins = matches!(notice, Notice::Attached { .. });
            tell_silence(notice);
            if let Some(mut command) = command.take_if(|_| begins) {
                let ended = Arc::clone(&stop);
                let begun = std::thread::Builder::new().spawn(move || {
                    // If the program fails, the result file contains its error.
                    let _ = command.status();
                    ended.store(true, Ordering::Release);
                });
                stop.fetch_or(begun.is_err(), Ordering::Release);
            }
        });
        let recorded = recorded.map_err(why)?;
        self.end(&outcome, &recorded, trace)
    }

    fn command(&self, outcome: &OutcomeFile) -> Result<Vec<OsString>, CommandError> {
        let program = std::env::current_exe().map_err(CommandError::failed)?;
        let mut command: Vec<OsString> =
            vec![program.into(), self.word.into(), outcome.path().into()];
        command.extend(self.words.iter().cloned());
        Ok(command)
    }

    fn labels(&self) -> BTreeMap<String, String> {
        let (name, text) = &self.label;
        [((*name).to_owned(), text.clone())].into()
    }

    fn end<T: DeserializeOwned>(
        &self,
        outcome: &OutcomeFile,
        recorded: &Recorded,
        trace: &Path,
    ) -> Result<T, CommandError> {
        // The result file is unreadable if the program was killed before it wrote a result.
        let Ok(reported) = outcome.read::<T>() else {
            return Err(CommandError::interrupted(self.what));
        };
        let reported = reported.map_err(CommandError::interrupted)?;
        CommandError::check_signals()?;
        if let Some(trouble) = recorded.trouble.first() {
            let said = format_args!(
                "{}: the recording is incomplete: {trouble}",
                trace.display()
            );
            return Err(CommandError::failed(said));
        }
        Ok(reported)
    }
}

/// Called in the internal program: writes the result or the error in `done` to the result file `outcome`.
pub(super) fn tell<T: Serialize>(outcome: &Path, done: Result<T, CommandError>) -> Outcome {
    // The process that started this program prints the error.
    let done = done.map_err(|error| error.message().to_owned());
    let text = serde_json::to_vec(&done).map_err(CommandError::failed)?;
    fs::write(outcome, text).map_err(|error| CommandError::file(outcome, error))?;
    Ok(ExitCode::SUCCESS)
}

/// The result file, in a folder that only this user can access. Dropping the value removes both.
struct OutcomeFile(PrivateDir);

impl OutcomeFile {
    fn new(text: &str) -> io::Result<OutcomeFile> {
        let file = OutcomeFile(PrivateDir::new()?);
        fs::write(file.path(), text)?;
        Ok(file)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("outcome.json")
    }

    fn read<T: DeserializeOwned>(&self) -> io::Result<Result<T, String>> {
        Ok(serde_json::from_slice(&fs::read(self.path())?)?)
    }
}

/// Returns a filter that removes the internal program's own connection, which is the first one, from the trace.
fn without_its_own() -> Box<dyn RecordFilter> {
    Box::new(WithoutFirst(VecDeque::new()))
}

/// The ID of the internal program's own connection.
const OWN: ConnectionId = ConnectionId(1);

struct WithoutFirst(VecDeque<Record>);

impl RecordFilter for WithoutFirst {
    fn begin(&mut self, _: Timestamp, started: Started) -> Started {
        started
    }

    fn feed(&mut self, record: Record) {
        let of = match &record {
            Record::Block(block) => Some(block.connection),
            Record::Control(_, Control::Opened(opened)) => Some(opened.connection),
            Record::Control(
                _,
                Control::Closed { connection, .. }
                | Control::Moved { connection, .. }
                | Control::Stalled { connection, .. },
            ) => Some(*connection),
            _ => None,
        };
        if of != Some(OWN) {
            self.0.push_back(record);
        }
    }

    fn next(&mut self) -> Option<Record> {
        self.0.pop_front()
    }

    fn finish(&mut self) {}
}
