//! Writes the tables of a session: one file for each table, in a folder by version, user and day.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use x11prof_collection::{Cell, Latencies, Schema, Session, TableError, TableWriter, schema};

use x11prof_proxy::create_folder;

use crate::error::CommandError;
use crate::output::{Access, AtomicFile};

/// The tables of one session while they are being written. The session's name and folders are known only at its end, so
/// the files are unnamed until then.
pub(crate) struct Tables {
    folder: PathBuf,
    open: BTreeMap<&'static str, TableWriter<AtomicFile>>,
}

impl Tables {
    /// Creates `folder`, and tables without rows.
    pub(crate) fn new(folder: &Path) -> Result<Tables, CommandError> {
        create_folder(folder, 0o777).map_err(|error| CommandError::file(folder, error))?;
        Ok(Tables {
            folder: folder.to_owned(),
            open: BTreeMap::new(),
        })
    }

    /// Adds a row to a table.
    pub(crate) fn row(
        &mut self,
        table: &'static Schema,
        cells: &[Cell<'_>],
    ) -> Result<(), TableError> {
        if !self.open.contains_key(table.name) {
            let path = self.folder.join(format!("{}.parquet", table.name));
            let file = AtomicFile::begin(&path, Access::Private).map_err(TableError::Io)?;
            self.open.insert(table.name, TableWriter::new(table, file)?);
        }
        match self.open.get_mut(table.name) {
            Some(writer) => writer.row(cells.iter().copied()),
            None => Ok(()),
        }
    }

    /// Ends the session and names its files, the session's own file last. Returns the files. For a session in progress,
    /// `part` is the number of this write, and the files contain the rows since the previous write.
    pub(crate) fn finish(
        mut self,
        session: &Session,
        part: Option<u32>,
    ) -> Result<Vec<PathBuf>, CommandError> {
        let folders = session.partition.folders();
        let mut files = Vec::new();
        let sessions = self.open.remove(schema::SESSIONS.name);
        let rest = self.open.into_iter();
        for (table, writer) in rest.chain(sessions.map(|of| (schema::SESSIONS.name, of))) {
            let place = self.folder.join(table).join(&folders);
            let part = part.filter(|_| table != schema::SESSIONS.name);
            let name = match part {
                Some(part) => format!("{}-{part:05}.parquet", session.id),
                None => format!("{}.parquet", session.id),
            };
            let path = place.join(name);
            create_folder(&place, 0o777).map_err(|error| CommandError::file(&place, error))?;
            let file = writer
                .finish()
                .map_err(|error| CommandError::file(&path, error))?;
            file.finish_as(&path)
                .map_err(|error| CommandError::file(&path, error))?;
            files.push(path);
        }
        Ok(files)
    }
}

/// Adds what is known only at the end of a session: the session's row, and the distribution of its latencies.
pub(crate) fn write_session(
    tables: &mut Tables,
    session: &Session,
    latencies: &Latencies,
) -> Result<(), TableError> {
    tables.row(&schema::SESSIONS, &session.cells())?;
    for (program, landmark, trigger, step, count) in latencies.rows() {
        let cells = [
            Cell::Text(&session.id),
            Cell::text(program),
            Cell::Text(landmark),
            Cell::Text(trigger),
            Cell::number(step),
            Cell::number(count),
        ];
        tables.row(&schema::LATENCIES, &cells)?;
    }
    Ok(())
}
