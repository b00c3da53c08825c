//! The files of many sessions: recordings, tables, and what is neither.

use std::fs;
use std::path::{Path, PathBuf};

use x11prof_collection::{LeftOut, schema};

use crate::error::CommandError;

/// Folders within folders.
const DEEPEST: usize = 32;

/// What was found, each in the order of its name.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Recordings.
    pub(crate) traces: Vec<PathBuf>,
    /// Tables, with their names.
    pub(crate) tables: Vec<(&'static str, PathBuf)>,
    /// What is neither.
    pub(crate) left_out: Vec<LeftOut>,
}

/// Looks through files and folders.
///
/// Hidden files and those whose names begin with an underscore are passed over, as Spark and Hive do: their own notes
/// are called so.
pub(crate) fn find(inputs: &[PathBuf]) -> Result<Found, CommandError> {
    let mut found = Found::default();
    for input in inputs {
        let about = fs::metadata(input).map_err(|error| CommandError::file(input, error))?;
        match about.is_dir() {
            true => folder(input, 0, &mut found),
            false => file(input, &mut found),
        }
    }
    Ok(found)
}

fn folder(path: &Path, depth: usize, found: &mut Found) {
    let listed = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = match listed {
        Ok(entries) => entries,
        Err(error) => return leave(path, error, found),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_") {
            continue;
        }
        let path = entry.path();
        // A link counts as what it leads to; circles end at the depth.
        match fs::metadata(&path) {
            Ok(about) if about.is_dir() && depth < DEEPEST => folder(&path, depth + 1, found),
            Ok(about) if about.is_file() => file(&path, found),
            Ok(_) => leave(&path, "no file", found),
            Err(error) => leave(&path, error, found),
        }
    }
}

fn file(path: &Path, found: &mut Found) {
    match path.extension().and_then(|end| end.to_str()) {
        Some("mcap") => found.traces.push(path.to_owned()),
        Some("parquet") => match table(path) {
            Some(table) => found.tables.push((table, path.to_owned())),
            None => leave(
                path,
                "a table whose folder does not say which, as episodes/… does",
                found,
            ),
        },
        _ => leave(
            path,
            "neither a recording (.mcap) nor a table (.parquet)",
            found,
        ),
    }
}

/// The table that a file is a part of: its folders say so.
fn table(path: &Path) -> Option<&'static str> {
    let folders = path.parent()?.components().rev();
    let mut names = folders.filter_map(|folder| folder.as_os_str().to_str());
    let name = names.find(|name| !name.contains('='))?;
    let table = schema::ALL.into_iter().find(|table| table.name == name)?;
    Some(table.name)
}

fn leave(path: &Path, why: impl ToString, found: &mut Found) {
    found.left_out.push(LeftOut {
        file: path.display().to_string(),
        why: why.to_string(),
    });
}
