//! The destination of a calibration: the file of `-o`, or the saved file for this machine and server. The saved file is
//! only replaced by a calibration that is at least as complete.

use std::path::PathBuf;
use std::process::ExitCode;

use x11prof_cost_model::{ServerParameters, best_match};
use x11prof_xmeasure::Target;

use crate::args::Measure;
use crate::error::{CommandError, Outcome};
use crate::machine;
use crate::output::{emit_shared_text, try_out};
use crate::saved_parameters;

/// The file that a calibration writes, and the saved file that the new file would replace.
pub(super) struct Destination {
    path: PathBuf,
    /// True if the file is x11prof's saved file for this machine; false if the user named the file with `-o`.
    is_kept: bool,
    /// The saved file before this calibration; `None` if there is no saved file, or if the user named the file with
    /// `-o`.
    before: Option<ServerParameters>,
}

impl Destination {
    /// Finds the destination of the calibration of `target` for `arguments`.
    ///
    /// # Errors
    ///
    /// Fails if a partial calibration would replace a complete one.
    pub(super) fn find(arguments: &Measure, target: &Target) -> Result<Destination, CommandError> {
        if let Some(path) = &arguments.output {
            return Ok(Destination {
                path: path.clone(),
                is_kept: false,
                before: None,
            });
        }
        if !arguments.only.is_empty() {
            return Err(CommandError::usage(
                "--only writes an incomplete table; name its file with -o FILE",
            ));
        }
        let path = saved_parameters::path(&target.host(), &target.identity().name)?;
        let before = saved_parameters::read(&path)?;
        if arguments.quick && before.as_ref().is_some_and(|file| !file.method.is_quick()) {
            return Err(CommandError::failed(format_args!(
                "{}: --quick would replace a full calibration. Name another file with -o FILE, or omit \
                 --quick",
                path.display()
            )));
        }
        saved_parameters::make_folder(&path)?;
        try_out(Some(&path), None)?;
        Ok(Destination {
            path,
            is_kept: true,
            before,
        })
    }

    /// Writes `parameters` to the destination, and prints how to use the file.
    pub(super) fn write(&self, parameters: &ServerParameters) -> Outcome {
        let path = self.path.display();
        if self.is_worse(parameters) {
            return Err(CommandError::failed(format_args!(
                "the machine was too busy for the whole calibration, so {path} is unchanged; calibrate \
                 again when the machine is idle"
            )));
        }
        emit_shared_text(Some(&self.path), &parameters.to_toml())?;
        let entries = parameters.requests.len();
        say!("{entries} entries of {} in {path}", parameters.server.name);
        match self.is_kept {
            true => {
                let tables = machine::tables();
                let tables = tables.iter().map(|(_, table)| table);
                let best = best_match(tables, &parameters.server, &parameters.host);
                let other = best.map(|best| &best.parameters.server.name);
                match other.filter(|name| **name != parameters.server.name) {
                    None => say!("`x11prof report TRACE` uses it for recordings of this server"),
                    Some(other) => say!(
                        "`x11prof report TRACE` uses {other} for recordings of this server, because it has handler \
                         times; --params {} selects this table",
                        parameters.server.name
                    ),
                }
            }
            false => say!("next: x11prof report TRACE --params {path}"),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns true if the calibration `newer` lacks requests that the saved file contains.
    fn is_worse(&self, newer: &ServerParameters) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|before| {
            !before.method.is_quick()
                && newer.method.unmeasured.len() > before.method.unmeasured.len()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Destination;
    use x11prof_cost_model::ServerParameters;

    #[test]
    fn partial_calibration_does_not_replace_a_complete_one() {
        let with = |notes: &str, unmeasured: &[&str]| {
            let mut file = ServerParameters::default();
            file.method.notes = Some(notes.into());
            file.method.unmeasured = unmeasured.iter().map(|name| (*name).into()).collect();
            file
        };
        let over = |before| Destination {
            path: "x".into(),
            is_kept: true,
            before,
        };
        let part = with("whole plan, 9 passes", &["PolyLine"]);
        assert!(over(Some(with("whole plan", &[]))).is_worse(&part));
        assert!(!over(Some(with("quick plan", &[]))).is_worse(&part));
        assert!(!over(Some(with("whole plan", &["Bell"]))).is_worse(&part));
        assert!(!over(None).is_worse(&part));
    }
}
