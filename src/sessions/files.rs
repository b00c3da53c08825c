//! Finds the input files of many sessions: recordings, tables, and other files.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use x11prof_collection::{LeftOut, schema};

use crate::error::CommandError;

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
            true => folder(input, &about, &mut found),
            false => file(input, &about, &mut found),
        }
    }
    Ok(found)
}

fn folder(path: &Path, about: &Metadata, found: &mut Found) {
    if !found.seen.insert((about.dev(), about.ino())) {
        return leave(
            &mut found.left_out,
            path,
            "the folder is read by another name",
        );
    }
    let listed = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = match listed {
        Ok(entries) => entries,
        Err(error) => return leave(&mut found.left_out, path, error),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"_") {
            continue;
        }
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|of| of.is_symlink());
        match fs::metadata(&path) {
            // A link may lead to any number of files that are not meant.
            Ok(about) if about.is_dir() && is_link => {
                leave(&mut found.left_out, &path, "a link to a folder")
            }
            Ok(about) if about.is_dir() => folder(&path, &about, found),
            Ok(about) if about.is_file() => file(&path, &about, found),
            Ok(_) => leave(&mut found.left_out, &path, "no file"),
            Err(error) => leave(&mut found.left_out, &path, error),
        }
    }
}

fn file(path: &Path, about: &Metadata, found: &mut Found) {
    let kind = path.extension().and_then(|end| end.to_str());
    // A file that is not read does not hide another name of the same file.
    let is_read = matches!(kind, Some("mcap" | "parquet"));
    if is_read && !found.seen.insert((about.dev(), about.ino())) {
        return leave(&mut found.left_out, path, TWICE);
    }
    match kind {
        Some("mcap") => found.traces.push(path.to_owned()),
        Some("parquet") => match table(path) {
            Some(table) => found.tables.push((table, path.to_owned())),
            None => leave(
                &mut found.left_out,
                path,
                "a table whose folder has no table name (such as episodes/…)",
            ),
        },
        _ => leave(
            &mut found.left_out,
            path,
            "neither a recording (.mcap) nor a table (.parquet)",
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

/// Adds a file or folder that is skipped to `left_out`, with the reason `why`.
pub(super) fn leave(left_out: &mut Vec<LeftOut>, path: &Path, why: impl ToString) {
    left_out.push(LeftOut {
        file: path.display().to_string(),
        why: why.to_string(),
    });
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_file_is_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("1.mcap"), "").unwrap();
        for number in 2..100 {
            fs::hard_link(path("1.mcap"), path(&format!("{number}.mcap"))).unwrap();
        }
        let twice = |inputs: &[PathBuf]| {
            let found = find(inputs).unwrap();
            assert_eq!(found.traces, [path("1.mcap")]);
            found.left_out.iter().filter(|one| one.why == TWICE).count()
        };
        assert_eq!(twice(&[folder.path().to_owned(), path("1.mcap")]), 99);
    }

    #[test]
    fn links_to_folders_are_followed_only_if_named() {
        let outer = tempfile::tempdir().unwrap();
        let path = |name: &str| outer.path().join(name);
        fs::create_dir(path("other")).unwrap();
        fs::write(path("other/1.mcap"), "").unwrap();
        fs::create_dir(path("named")).unwrap();
        symlink("/", path("named/root")).unwrap();
        symlink("../other", path("named/other")).unwrap();
        symlink("../other/1.mcap", path("named/2.mcap")).unwrap();
        let found = find(&[path("named")]).unwrap();
        assert_eq!(found.traces, [path("named/2.mcap")]);
        assert_eq!(found.left_out.len(), 2, "{found:?}");
        let found = find(&[path("named/other")]).unwrap();
        assert_eq!(found.traces, [path("named/other/1.mcap")]);
    }
}
