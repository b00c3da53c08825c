//! Reads recordings and tables to compute issues. A damaged file is reported and skipped as a whole.
//!
//! Files are read in parallel and added in their order, so that the result does not depend on timing. Separate
//! processes read the tables.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use x11prof_analyzer::{MissingParts, Thresholds};
use x11prof_collection::{
    Cell, EpisodeRow, Gather, Issues, Latencies, LeftOut, Partition, Rows, Schema, Selection,
    Session, TableError, schema,
};
use x11prof_stacks::{
    IsolatedProcess, READING, allow_only_reading, limit_memory, open_regular, serve,
};

use super::files::{Found, TWICE, leave};
use super::in_order::in_order;
use crate::callers::NamedCallers;
use crate::error::{CommandError, shown};
use crate::input::replay_of;
use crate::pass::{Pass, tell_missing};
use crate::progress::Steps;

/// The tables from which issues are computed.
const WANTED: [&Schema; 3] = [&schema::SESSIONS, &schema::EPISODES, &schema::LATENCIES];

/// Reads all found files: the tables first, then the recordings whose sessions are not in the tables. Returns the
/// issues and the skipped files.
pub(crate) fn read(found: Found, selection: Selection) -> (Issues, Vec<LeftOut>) {
    let mut issues = Issues::new(selection);
    let mut left_out = found.left_out;
    let tables = found.tables.iter();
    let tables = tables.filter(|(name, _)| WANTED.iter().any(|table| table.name == *name));
    let mut reading = Steps::new("reading", tables.count() + found.traces.len(), "files");
    let readers = Mutex::default();
    for wanted in WANTED {
        let mut seen = HashSet::new();
        let of_table = found.tables.iter().filter(|(name, _)| *name == wanted.name);
        let (mut once, mut twice): (Vec<&PathBuf>, Vec<&PathBuf>) = (Vec::new(), Vec::new());
        for (_, path) in of_table {
            let name = path.file_name().unwrap_or_default();
            match is_of_a_session(name) && !seen.insert(name) {
                true => twice.push(path),
                false => once.push(path),
            }
        }
        in_order(
            &once,
            |path| isolated(&readers, (wanted.name, path.as_path(), selection)),
            |path, read| {
                reading.step();
                match read {
                    Ok(rows) => add_table(&mut issues, path, rows),
                    Err(error) => leave(&mut left_out, path, error),
                }
            },
        );
        for path in twice {
            leave(&mut left_out, path, TWICE);
        }
    }
    drop(readers);
    let mut incomplete = 0;
    in_order(
        &found.traces,
        |path| {
            // A defect of the analysis affects only this recording. The panic hook has printed the panic.
            let read = catch_unwind(|| trace(path, selection));
            read.unwrap_or_else(|_| {
                Err(CommandError::failed(
                    "reading it failed: a fault of x11prof",
                ))
            })
        },
        |path, read| {
            reading.step();
            match read {
                Ok((session, ..)) if issues.known(&session.id).is_some() => {
                    leave(&mut left_out, path, TWICE);
                }
                Ok((session, rows, latencies, missing)) => {
                    add_trace(&mut issues, &session, &rows, &latencies);
                    incomplete += usize::from(missing.sentences(1).next().is_some());
                    if incomplete <= INCOMPLETE {
                        tell_missing(path, &missing);
                    }
                }
                Err(error) => {
                    let message = error.message();
                    let why = message
                        .trim_start_matches(&shown(path))
                        .trim_start_matches(": ");
                    leave(&mut left_out, path, why);
                }
            }
        },
    );
    if incomplete > INCOMPLETE {
        say!(
            "warning: {} more recordings are incomplete",
            incomplete - INCOMPLETE
        );
    }
    (issues, left_out)
}

/// Returns true if x11prof wrote the table file `name`. x11prof names such files after their session, so a second file
/// with the same name is a copy.
fn is_of_a_session(name: &OsStr) -> bool {
    let id = name.as_encoded_bytes().get(..16);
    id.is_some_and(|id| id.iter().all(u8::is_ascii_hexdigit))
}

/// The maximum number of recordings whose missing parts are listed.
const INCOMPLETE: usize = 10;

/// The contents of a recording: the session, its slow episodes, the latencies of all episodes, and the missing parts.
type Read = (Session, Vec<EpisodeRow>, Latencies, MissingParts);

fn trace(path: &Path, selection: Selection) -> Result<Read, CommandError> {
    if let Some(played) = replay_of(path)? {
        let why = format_args!("a replay of {played}: its waits are the player's");
        return Err(CommandError::failed(why));
    }
    let name = path.to_string_lossy();
    let mut gather = Gather::new(&name, &Thresholds::default()).naming_all_keys();
    let mut rows = Vec::new();
    let counts = |row: &EpisodeRow| row.latency >= selection.threshold.unwrap_or(row.threshold);
    let (mut missing, mut callers) = (MissingParts::default(), NamedCallers::default());
    Pass::open(path)?.run(|observation| {
        missing.observe(observation);
        callers.observe(observation, |_| true);
        rows.extend(gather.observe(observation).into_iter().filter(counts));
    })?;
    missing.end();
    let first = gather.first();
    let (last, session, latencies) = gather.finish();
    rows.extend(last.into_iter().filter(counts));
    callers.name_rows(&mut rows, first);
    Ok((session, rows, latencies, missing))
}

fn add_trace(issues: &mut Issues, session: &Session, rows: &[EpisodeRow], latencies: &Latencies) {
    let number = issues.session(&session.id, &session.trace, &session.partition);
    rows.iter().for_each(|row| issues.add(number, row));
    latencies
        .rows()
        .for_each(|row| issues.add_latencies(number, row));
}

/// The first argument of a process that runs [`serve_tables`].
pub(crate) const TABLE_READER: &str = "x11prof-tables";

/// Reads tables for another x11prof process, because an untrusted table may use up all memory, or crash the library
/// that reads the table.
pub(crate) fn serve_tables() -> io::Result<()> {
    // Old kernels have no filters.
    let _ = allow_only_reading();
    serve(|(name, path, selection): (String, OsString, Selection)| {
        let mut wanted = WANTED.iter();
        let wanted = wanted
            .find(|table| table.name == name)
            .ok_or("no such table")?;
        let path = Path::new(&path);
        let limited = memory(path).and_then(limit_memory);
        limited.map_err(|error| error.to_string())?;
        table(wanted, path, selection).map_err(|error| error.to_string())
    })
}

/// Returns the memory limit in bytes for reading the table at `path` and for its reply: 128 MiB, and 1 KiB for each
/// byte of the file. A real table needs up to 600 bytes of memory for each byte of the file.
fn memory(path: &Path) -> io::Result<u64> {
    let length = std::fs::metadata(path)?.len();
    Ok((128 << 20) + length.saturating_mul(1 << 10))
}

/// Reads the table at `path` in a separate process, which is one of `readers` or a new process.
fn isolated(
    readers: &Mutex<Vec<IsolatedProcess>>,
    (table, path, selection): (&str, &Path, Selection),
) -> Result<TableRows, String> {
    let readers = || readers.lock().unwrap_or_else(PoisonError::into_inner);
    let reader = readers().pop().map(Ok);
    let reader = reader.unwrap_or_else(|| IsolatedProcess::start([TABLE_READER]));
    let mut reader = reader.map_err(|error| error.to_string())?;
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let longest = memory(&path).map_err(|error| error.to_string())?;
    let read = reader.reply(&(table, path.as_os_str(), selection), longest, READING);
    let read =
        read.map_err(|_| "it is damaged: reading it crashes, or takes too much memory or time")?;
    readers().push(reader);
    read
}

/// The rows of a table that are needed to compute issues. Numbers of type `u32` are indices in `texts`.
#[derive(Default, Serialize, Deserialize)]
struct TableRows {
    texts: Vec<String>,
    /// The sessions, each with its id and the name of its trace.
    sessions: Vec<(u32, u32)>,
    /// The episodes, each with the id of its session and the name of its trace.
    episodes: Vec<(u32, u32, EpisodeRow<u32>)>,
    /// The id of a session, program, landmark, trigger, lower bound of the latency, and number of episodes.
    latencies: Vec<(u32, Option<u32>, u32, u32, u64, u64)>,
}

/// Numbers the different texts of a table.
#[derive(Default)]
struct Texts(HashMap<String, u32>);

impl Texts {
    /// The estimated memory in bytes that a new text takes in either process, in addition to its characters. The
    /// estimate includes the session or pattern that the text may start.
    const TEXT: u64 = 256;

    /// The index of a text. Adds the memory that a new text takes to `memory`.
    fn index(&mut self, text: &str, memory: &mut u64) -> u32 {
        if let Some(known) = self.0.get(text) {
            return *known;
        }
        *memory += Texts::TEXT + 2 * text.len() as u64;
        let index = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.insert(text.to_owned(), index);
        index
    }

    fn list(self) -> Vec<String> {
        let mut list: Vec<_> = self.0.into_iter().collect();
        list.sort_unstable_by_key(|(_, index)| *index);
        list.into_iter().map(|(text, _)| text).collect()
    }
}

fn table(
    table: &'static Schema,
    path: &Path,
    selection: Selection,
) -> Result<TableRows, TableError> {
    let file = Rows::open(table, open_regular(path)?)?;
    let (mut texts, mut rows) = (Texts::default(), TableRows::default());
    file.each(|cells| {
        let mut memory = 0;
        let mut index = |text: &str| texts.index(text, &mut memory);
        let text = |at: usize| match cells.get(at) {
            Some(Cell::Text(text)) => Some(*text),
            _ => None,
        };
        let number = |at: usize| match cells.get(at) {
            Some(Cell::Integer(value)) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        };
        let mut name = |at: usize| index(text(at).unwrap_or_default());
        match table.name {
            "sessions" => rows.sessions.push((name(0), name(1))),
            "episodes" => {
                let (id, trace, row) = EpisodeRow::from_cells(cells);
                if row.latency >= selection.threshold.unwrap_or(row.threshold) {
                    let row = (index(id), index(trace), row.map(index));
                    rows.episodes.push(row);
                }
            }
            _ => {
                let program = text(1).map(|_| name(1));
                let row = (name(0), program, name(2), name(3), number(4), number(5));
                rows.latencies.push(row);
            }
        }
        memory
    })?;
    rows.texts = texts.list();
    Ok(rows)
}

fn add_table(issues: &mut Issues, path: &Path, rows: TableRows) {
    let partition = Partition::of(&path.to_string_lossy());
    let text = |index: u32| rows.texts.get(index as usize).map_or("", String::as_str);
    for (id, trace) in rows.sessions {
        issues.session(text(id), text(trace), &partition);
    }
    for (id, trace, row) in rows.episodes {
        let session = issues.session(text(id), text(trace), &partition);
        issues.add(session, &row.map(text));
    }
    for (id, program, landmark, trigger, step, count) in rows.latencies {
        let session = issues.session(text(id), "", &partition);
        let row = (
            program.map(text),
            text(landmark),
            text(trigger),
            step,
            count,
        );
        issues.add_latencies(session, row);
    }
}
