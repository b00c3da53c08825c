//! Finds the input files of many sessions: recordings, tables, and other files.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use x11prof_collection::{LeftOut, schema};

use crate::error::CommandError;

/// The maximum depth of nested folders.
const DEEPEST: usize = 32;
/// The message for a file that is skipped because another file contains the same session.
pub(super) const TWICE: &str = "its session is in another file already";

/// The found files, sorted by name within each kind.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Recordings.
    pub(crate) traces: Vec<PathBuf>,
    /// Tables, with their names.
    pub(crate) tables: Vec<(&'static str, PathBuf)>,
    /// Files of other kinds.
    pub(crate) left_out: Vec<LeftOut>,
    /// The device and inode of each file and folder found so far. Links and hard links give a file several names.
    seen: HashSet<(u64, u64)>,
}

/// Searches `inputs`, which are files and folders.
///
/// In folders, skips files and folders whose names begin with a dot or an underscore. Spark and Hive use such names for
/// their own metadata.
pub(crate) fn find(inputs: &[PathBuf]) -> Result<Found, CommandError> {
    let mut found = Found::default();
    for input in inputs {
        let about = fs::metadata(input).map_err(|error| CommandError::file(input, error))?;
        match about.is_dir() {
            true => folder(input, &about, 0, &mut found),
            false => file(input, &about, &mut found),
        }
    }
    Ok(found)
}

fn folder(path: &Path, about: &Metadata, depth: usize, found: &mut Found) {
    if !found.seen.insert((about.dev(), about.ino())) {
        return leave(path, "the folder is read by another name", found);
    }
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
        // A link is followed.
        match fs::metadata(&path) {
            Ok(about) if about.is_dir() && depth < DEEPEST => {
                folder(&path, &about, depth + 1, found);
            }
            Ok(about) if about.is_file() => file(&path, &about, found),
            Ok(_) => leave(&path, "no file", found),
            Err(error) => leave(&path, error, found),
        }
    }
}

fn file(path: &Path, about: &Metadata, found: &mut Found) {
    if !found.seen.insert((about.dev(), about.ino())) {
        return leave(path, TWICE, found);
    }
    match path.extension().and_then(|end| end.to_str()) {
        Some("mcap") => found.traces.push(path.to_owned()),
        Some("parquet") => match table(path) {
            Some(table) => found.tables.push((table, path.to_owned())),
            None => leave(
                path,
                "a table whose folder has no table name (such as episodes/…)",
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

/// Returns the name of the table that the file at `path` belongs to, according to its folder.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_file_and_folder_is_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for link in ["a", "b"] {
            symlink(".", path(link)).unwrap();
        }
        fs::write(path("1.mcap"), "").unwrap();
        for number in 2..100 {
            fs::hard_link(path("1.mcap"), path(&format!("{number}.mcap"))).unwrap();
        }
        let found = find(&[folder.path().to_owned(), path("1.mcap")]).unwrap();
        assert_eq!(found.traces, [path("1.mcap")]);
        let twice = found.left_out.iter().filter(|one| one.why == TWICE);
        assert_eq!((found.left_out.len(), twice.count()), (101, 99));
    }
}
