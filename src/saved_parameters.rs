//! The user's parameter files from `calibrate`, saved by machine and server:
//! `$XDG_DATA_HOME/x11prof/MACHINE/SERVER.toml`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use x11prof_cost_model::{Host, ServerParameters};

use crate::error::CommandError;
use crate::text_file::text;

/// The kind of a saved file, in errors.
pub(crate) const KIND: &str = "parameter file";
/// The name of the folder for machines with an unknown processor.
const UNKNOWN: &str = "unknown-machine";
/// The name of the folder that holds the one-second benchmarks of machines (see the module `machine`).
const PROBES: &str = "probes";

/// Returns the path of the saved parameter file for the server named `server` on the machine `host`.
pub(crate) fn path(host: &Host, server: &str) -> Result<PathBuf, CommandError> {
    Ok(folder()?.join(machine(host)).join(file_name(server)))
}

/// Returns the path of the stored one-second benchmark for the kind of server `server` on the machine `host`.
pub(crate) fn probe_path(host: &Host, server: &str) -> Result<PathBuf, CommandError> {
    let folder = folder()?.join(PROBES).join(machine(host));
    Ok(folder.join(file_name(server)))
}

/// Returns all saved parameter files of all machines in full, with their paths. Prints a message for each file that
/// cannot be read.
pub(crate) fn all() -> Vec<(PathBuf, ServerParameters)> {
    let Ok(folder) = folder() else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries(&folder)
        .filter(|machine| machine.file_name() != Some(OsStr::new(PROBES)))
        .flat_map(|machine| entries(&machine).collect::<Vec<_>>())
        .filter(|path| path.extension() == Some(OsStr::new("toml")))
        .collect();
    paths.sort();
    let read = paths.into_iter().filter_map(|path| {
        let parameters = read(&path).unwrap_or_else(|error| {
            say!("warning: {}; file ignored", error.message());
            None
        })?;
        Some((path, parameters))
    });
    read.collect()
}

/// Reads the parameter file at `path`; `None` if there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<ServerParameters>, CommandError> {
    if !path.exists() {
        return Ok(None);
    }
    let parameters = ServerParameters::from_toml(&text(path, KIND)?);
    let parameters = parameters.map_err(|error| CommandError::file(path, error))?;
    Ok(Some(parameters))
}

/// Creates the parent folder of `path`.
pub(crate) fn make_folder(path: &Path) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(|error| CommandError::file(folder, error))
}

fn folder() -> Result<PathBuf, CommandError> {
    // The XDG base directory specification requires relative paths to be ignored.
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    data.map(|data| data.join("x11prof")).ok_or_else(|| {
        CommandError::failed(
            "XDG_DATA_HOME and HOME are not set, so the table has no place; name a file with -o FILE",
        )
    })
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// The folder name of a machine: the model of its processor, the number of processors and the hash of its machine id.
fn machine(host: &Host) -> String {
    let Some(model) = &host.cpu_model else {
        return UNKNOWN.to_owned();
    };
    let cpus = host.cpus.map(|cpus| format!(" {cpus}"));
    let machine = host.machine.as_deref().and_then(|hash| hash.get(..8));
    let machine = machine.map(|hash| format!(" {hash}")).unwrap_or_default();
    plain(&format!("{model}{}{machine}", cpus.unwrap_or_default()))
}

fn file_name(server: &str) -> String {
    format!("{}.toml", plain(server))
}

/// Returns true if `name` is a server name that is allowed in a file name.
pub(crate) fn is_name(name: &str) -> bool {
    plain(name) == name
}

/// Reduces a text to letters, digits and single hyphens.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    match words.is_empty() {
        true => "unnamed".to_owned(),
        false => words.join("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::{machine, plain};
    use x11prof_cost_model::Host;

    #[test]
    fn file_names_are_safe() {
        let host = Host {
            cpu_model: Some("Intel(R) Xeon(R) Processor".into()),
            cpus: Some(2),
            machine: Some("0123456789abcdef".into()),
            ..Host::default()
        };
        assert_eq!(machine(&host), "intel-r-xeon-r-processor-2-01234567");
        assert_eq!(machine(&Host::default()), "unknown-machine");
        assert_eq!(plain("../../etc"), "etc");
        assert_eq!(plain("…"), "unnamed");
    }
}
