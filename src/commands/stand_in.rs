//! x11prof as the command of its own recording: the player of a replay, the driver of a session. A stand-in is a client
//! of the recorder's display, and its outcome comes through a file.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;
use x11prof_proxy::{DEFAULT_QUEUE_BYTES, RecordConfig, RecordFilter, Target, record};
use x11prof_trace::{ConnectionId, Control, Record, Started, Timestamp};

use super::record::{RECORDER, why};
use crate::error::{CommandError, Outcome};

/// Records x11prof itself, started with `word` and `words`, to `trace`, and gives the outcome of [`tell`]; the error says
/// what the stand-in said, or that `what` was not done. The file of the outcome holds `text` before. `label` goes into the
/// trace.
pub(super) fn recorded<T: DeserializeOwned>(
    word: &str,
    words: Vec<OsString>,
    text: &str,
    target: Target,
    trace: &Path,
    label: (&str, String),
    what: &str,
) -> Result<T, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::failed)?;
    let outcome = OutcomeFile::new(text).map_err(CommandError::failed)?;
    let mut command: Vec<OsString> = vec![program.into(), word.into(), outcome.0.clone().into()];
    command.extend(words);
    let (name, text) = label;
    let config = RecordConfig {
        output: Some(trace.to_owned()),
        target,
        listen: None,
        tcp: None,
        any_user: false,
        command,
        time: None,
        full: false,
        queue_bytes: DEFAULT_QUEUE_BYTES,
        link: false,
        labels: [(name.to_owned(), text)].into(),
        network: None,
        rewrites: Vec::new(),
        recorder: RECORDER.to_owned(),
        watch: None,
        filter: Some(without_its_own),
        mark_key: None,
        collect: None,
    };
    let recorded = record(&config, |_| {}).map_err(why)?;
    // A stand-in that was killed has written nothing.
    let Ok(told) = outcome.read::<T>() else {
        return Err(CommandError::failed(what));
    };
    let told = told.map_err(CommandError::failed)?;
    if let Some(trouble) = recorded.trouble.first() {
        let said = format_args!("{}: the recording is not whole: {trouble}", trace.display());
        return Err(CommandError::failed(said));
    }
    Ok(told)
}

/// In the stand-in: writes the outcome, or the error, to the file that its first word names.
pub(super) fn tell<T: Serialize>(outcome: &Path, done: Result<T, CommandError>) -> Outcome {
    // Whoever started the stand-in says what went wrong.
    let done = done.map_err(|error| error.message());
    let text = serde_json::to_vec(&done).map_err(CommandError::failed)?;
    fs::write(outcome, text).map_err(|error| CommandError::file(outcome, error))?;
    Ok(ExitCode::SUCCESS)
}

/// The file of the outcome, for this user alone. The file goes when the value is dropped.
struct OutcomeFile(PathBuf);

impl OutcomeFile {
    fn new(text: &str) -> io::Result<OutcomeFile> {
        let name = format!("x11prof-outcome-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Nobody else's file, and no link.
        let _ = fs::remove_file(&path);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        file?.write_all(text.as_bytes())?;
        Ok(OutcomeFile(path))
    }

    fn read<T: DeserializeOwned>(&self) -> io::Result<Result<T, String>> {
        Ok(serde_json::from_slice(&fs::read(&self.0)?)?)
    }
}

impl Drop for OutcomeFile {
    fn drop(&mut self) {
        // Nothing can be done about a file that stays.
        let _ = fs::remove_file(&self.0);
    }
}

/// Leaves the stand-in's own connection out of the trace: it is the first.
fn without_its_own() -> Box<dyn RecordFilter> {
    Box::new(WithoutFirst(VecDeque::new()))
}

/// The stand-in's own connection.
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
                Control::Closed { connection, .. } | Control::Stalled { connection, .. },
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
