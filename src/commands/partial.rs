//! The file that an interrupted measurement leaves: `FILE.partial`. FILE itself changes only when a
//! measurement is complete.

use std::path::Path;
use std::time::SystemTime;

use x11prof_cost_model::ServerParameters;

use crate::error::{CommandError, shown};
use crate::output::emit_shared_text;
use crate::{input, saved_parameters};

/// The entries from which to continue the file at `path`: its entries, replaced by those of a later interrupted
/// calibration.
pub(crate) fn known(path: &Path) -> Result<Option<ServerParameters>, CommandError> {
    let read = |path: &Path| input::parameters(&path.to_string_lossy());
    let whole = path.exists().then(|| read(path)).transpose()?;
    let partial = saved_parameters::partial(path);
    if changed(&partial) <= changed(path) {
        return Ok(whole);
    }
    say!("continuing with {}", shown(&partial));
    let left = read(&partial)?;
    Ok(Some(match whole {
        Some(mut whole) => {
            whole.merge(left);
            whole
        }
        None => left,
    }))
}

/// Saves the results of an interrupted calibration of `path`, and prints where. A saved file with more entries is
/// kept.
pub(crate) fn keep(path: &Path, parameters: &ServerParameters) -> Result<String, CommandError> {
    let partial = saved_parameters::partial(path);
    let entries = parameters.requests.len();
    let left = match partial.exists() {
        true => input::parameters(&partial.to_string_lossy()).map_or(0, |file| file.requests.len()),
        false => 0,
    };
    if left > entries {
        return Ok(format!(
            "{entries} entries are not kept, {} has {left}",
            shown(&partial)
        ));
    }
    emit_shared_text(Some(&partial), &parameters.to_toml())?;
    Ok(format!(
        "{entries} entries are in {}; --resume continues from there",
        shown(&partial)
    ))
}

/// Deletes the saved results after the file at `path` is complete.
pub(crate) fn done(path: &Path) {
    // A partial file that cannot be removed is older than the file, and is not read again.
    let _ = std::fs::remove_file(saved_parameters::partial(path));
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn parameters(entries: usize) -> ServerParameters {
        let mut all = input::parameters("sun4-ipc").unwrap();
        all.requests.truncate(entries);
        all
    }

    #[test]
    fn an_interruption_leaves_the_file_and_a_longer_partial_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.toml");
        std::fs::write(&file, parameters(9).to_toml()).unwrap();
        assert!(
            keep(&file, &parameters(5))
                .unwrap()
                .contains("mine.toml.partial")
        );
        assert!(keep(&file, &parameters(3)).unwrap().contains("not kept"));
        let read = |path: &Path| input::parameters(&path.to_string_lossy()).unwrap();
        assert_eq!(read(&file).requests.len(), 9);
        assert_eq!(read(&saved_parameters::partial(&file)).requests.len(), 5);
    }

    #[test]
    fn an_interrupted_measurement_is_continued_until_the_file_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.toml");
        assert!(known(&file).unwrap().is_none());
        keep(&file, &parameters(5)).unwrap();
        assert_eq!(known(&file).unwrap().unwrap().requests.len(), 5);
        std::fs::write(&file, parameters(9).to_toml()).unwrap();
        done(&file);
        assert!(!saved_parameters::partial(&file).exists());
        assert_eq!(known(&file).unwrap().unwrap().requests.len(), 9);
    }
}
