//! Reads recordings and tables to compute issues. A damaged file is reported and skipped as a whole.
//!
//! Files are read in parallel and added in their order, so that the result does not depend on timing. Separate
//! processes read the tables.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
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
use x11prof_stacks::{IsolatedProcess, PATIENCE, limit_memory, serve};

use super::files::{Found, TWICE};
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

fn leave(left_out: &mut Vec<LeftOut>, path: &Path, why: impl ToString) {
    left_out.push(LeftOut {
        file: path.display().to_string(),
        why: why.to_string(),
    });
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
    let mut gather = Gather::new(&name, &Thresholds::default());
    let mut rows = Vec::new();
    let counts = |row: &EpisodeRow| row.latency >= selection.threshold.unwrap_or(row.threshold);
    let (mut missing, mut callers) = (MissingParts::default(), NamedCallers::default());
    Pass::open(path, None)?.run(|observation| {
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

/// A row of the latencies table: program, landmark, trigger, the lower bound of the latency, and the number of
/// episodes.
type Step = (Option<String>, String, String, u64, u64);

/// The first argument of a process that runs [`serve_tables`].
pub(crate) const TABLE_READER: &str = "x11prof-tables";

/// Reads tables for another x11prof process, because an untrusted table may use up all memory, or crash the library
/// that reads the table.
pub(crate) fn serve_tables() -> io::Result<()> {
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
    let reader = reader.unwrap_or_else(|| IsolatedProcess::start([TABLE_READER], PATIENCE));
    let mut reader = reader.map_err(|error| error.to_string())?;
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let longest = memory(&path).map_err(|error| error.to_string())?;
    let read = reader.reply(&(table, path.as_os_str(), selection), longest);
    let read = read.map_err(|_| "it is damaged: reading it crashes or takes too much memory")?;
    readers().push(reader);
    read
}

/// The rows of a table that issues need. The first string of each row is the name of the session.
#[derive(Serialize, Deserialize)]
enum TableRows {
    /// The sessions, each with the name of its trace.
    Sessions(Vec<(String, String)>),
    /// The episodes, each with the name of its session and of its trace.
    Episodes(Vec<(String, String, EpisodeRow)>),
    Latencies(Vec<(String, Step)>),
}

fn table(
    table: &'static Schema,
    path: &Path,
    selection: Selection,
) -> Result<TableRows, TableError> {
    let rows = Rows::open(table, File::open(path)?)?;
    match table.name {
        "sessions" => sessions(&rows).map(TableRows::Sessions),
        "episodes" => episodes(&rows, selection).map(TableRows::Episodes),
        _ => latencies(&rows).map(TableRows::Latencies),
    }
}

fn sessions(rows: &Rows<File>) -> Result<Vec<(String, String)>, TableError> {
    let mut list = Vec::new();
    rows.each(|cells| {
        if let [Cell::Text(id), Cell::Text(trace), ..] = cells {
            list.push(((*id).to_owned(), (*trace).to_owned()));
        }
    })?;
    Ok(list)
}

fn episodes(
    rows: &Rows<File>,
    selection: Selection,
) -> Result<Vec<(String, String, EpisodeRow)>, TableError> {
    let mut list = Vec::new();
    rows.each(|cells| {
        let (latency, own) = EpisodeRow::latency_of(cells);
        if latency >= selection.threshold.unwrap_or(own) {
            let (id, trace, row) = EpisodeRow::from_cells(cells);
            list.push((id.to_owned(), trace.to_owned(), row));
        }
    })?;
    Ok(list)
}

fn latencies(rows: &Rows<File>) -> Result<Vec<(String, Step)>, TableError> {
    let number = |value: &i64| u64::try_from(*value).unwrap_or(0);
    let mut list = Vec::new();
    rows.each(|cells| {
        if let [
            Cell::Text(id),
            program,
            Cell::Text(landmark),
            Cell::Text(trigger),
            Cell::Integer(step),
            Cell::Integer(count),
        ] = cells
        {
            let program = match program {
                Cell::Text(program) => Some((*program).to_owned()),
                _ => None,
            };
            let (landmark, trigger) = ((*landmark).to_owned(), (*trigger).to_owned());
            let step = (program, landmark, trigger, number(step), number(count));
            list.push(((*id).to_owned(), step));
        }
    })?;
    Ok(list)
}

fn add_table(issues: &mut Issues, path: &Path, rows: TableRows) {
    let partition = Partition::of(&path.to_string_lossy());
    match rows {
        TableRows::Sessions(list) => {
            for (id, trace) in list {
                issues.session(&id, &trace, &partition);
            }
        }
        TableRows::Episodes(list) => {
            for (id, trace, row) in list {
                let session = issues.session(&id, &trace, &partition);
                issues.add(session, &row);
            }
        }
        TableRows::Latencies(list) => {
            for (id, (program, landmark, trigger, step, count)) in list {
                let session = issues.session(&id, "", &partition);
                let row = (program.as_deref(), &*landmark, &*trigger, step, count);
                issues.add_latencies(session, row);
            }
        }
    }
}
