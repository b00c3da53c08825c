//! From files to issues. A file that is damaged is named and left out as a whole, the rest goes on.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use x11prof_analyzer::Thresholds;
use x11prof_collection::{
    Cell, EpisodeRow, Gather, Issues, LeftOut, Partition, Rows, Schema, Selection, Session,
    TableError, schema,
};

use super::files::Found;
use crate::error::CommandError;
use crate::pass::Pass;

/// Reads all that was found: tables first, then recordings that are not in them.
pub(crate) fn read(found: Found, selection: Selection) -> (Issues, Vec<LeftOut>) {
    let mut reading = Reading {
        issues: Issues::new(selection),
        selection,
        left_out: found.left_out,
    };
    // A damaged table is an error, which is said once.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for wanted in [&schema::SESSIONS, &schema::EPISODES, &schema::LATENCIES] {
        let mut seen = HashSet::new();
        for (_, path) in found
            .tables
            .iter()
            .filter(|(table, _)| *table == wanted.name)
        {
            let name = path.file_name().unwrap_or_default().to_owned();
            // Files of ours are called by their session: the second of a name is a copy.
            let ours = name.len() >= 16
                && name.as_encoded_bytes()[..16]
                    .iter()
                    .all(u8::is_ascii_hexdigit);
            if ours && !seen.insert(name) {
                reading.leave(path, "its session is in another file already");
            } else if let Err(error) = reading.table(wanted, path) {
                reading.leave(path, error);
            }
        }
    }
    std::panic::set_hook(hook);
    for path in &found.traces {
        if let Err(error) = reading.trace(path) {
            let message = error.message();
            let file = path.display().to_string();
            reading.leave(
                path,
                message.trim_start_matches(&file).trim_start_matches(": "),
            );
        }
    }
    (reading.issues, reading.left_out)
}

struct Reading {
    issues: Issues,
    selection: Selection,
    left_out: Vec<LeftOut>,
}

impl Reading {
    fn leave(&mut self, path: &Path, why: impl ToString) {
        self.left_out.push(LeftOut {
            file: path.display().to_string(),
            why: why.to_string(),
        });
    }

    fn trace(&mut self, path: &Path) -> Result<(), CommandError> {
        let name = path.to_string_lossy();
        let mut gather = Gather::new(&name, &Thresholds::default());
        let mut rows = Vec::new();
        let threshold = self.selection.threshold;
        let mut keep = |_: &Session, row: &EpisodeRow| {
            if row.latency >= threshold.unwrap_or(row.threshold) {
                rows.push(row.clone());
            }
        };
        Pass::open(path, None)?.run(|observation| gather.observe(observation, &mut keep))?;
        let (session, latencies) = gather.finish(&mut keep);
        if self.issues.known(&session.id).is_some() {
            return Err(CommandError::failed(
                "its session is in another file already",
            ));
        }
        let number = self
            .issues
            .session(&session.id, &session.trace, &session.partition);
        rows.iter().for_each(|row| self.issues.add(number, row));
        latencies
            .rows()
            .for_each(|row| self.issues.add_latencies(number, row));
        Ok(())
    }

    fn table(&mut self, table: &'static Schema, path: &Path) -> Result<(), TableError> {
        let partition = Partition::of(&path.to_string_lossy());
        let file = File::open(path).map_err(parquet_error)?;
        let rows = Rows::open(table, file)?;
        match table.name {
            "sessions" => self.sessions(&rows, &partition),
            "episodes" => self.episodes(&rows, &partition),
            _ => self.latencies(&rows, &partition),
        }
    }

    fn sessions(&mut self, rows: &Rows<File>, partition: &Partition) -> Result<(), TableError> {
        let mut list = Vec::new();
        rows.each(|cells| {
            if let [Cell::Text(id), Cell::Text(trace), ..] = cells {
                list.push(((*id).to_owned(), (*trace).to_owned()));
            }
        })?;
        for (id, trace) in list {
            self.issues.session(&id, &trace, partition);
        }
        Ok(())
    }

    fn episodes(&mut self, rows: &Rows<File>, partition: &Partition) -> Result<(), TableError> {
        let threshold = self.selection.threshold;
        let mut list = Vec::new();
        rows.each(|cells| {
            let (latency, own) = EpisodeRow::latency_of(cells);
            if latency >= threshold.unwrap_or(own) {
                let (id, trace, row) = EpisodeRow::from_cells(cells);
                list.push((id.to_owned(), trace.to_owned(), row));
            }
        })?;
        for (id, trace, row) in list {
            let session = self.issues.session(&id, &trace, partition);
            self.issues.add(session, &row);
        }
        Ok(())
    }

    fn latencies(&mut self, rows: &Rows<File>, partition: &Partition) -> Result<(), TableError> {
        let issues = &mut self.issues;
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
                    Cell::Text(program) => Some(*program),
                    _ => None,
                };
                let session = issues.session(id, "", partition);
                let number = |value: &i64| u64::try_from(*value).unwrap_or(0);
                issues.add_latencies(
                    session,
                    (program, landmark, trigger, number(step), number(count)),
                );
            }
        })
    }
}

fn parquet_error(error: std::io::Error) -> TableError {
    TableError::Io(error)
}
