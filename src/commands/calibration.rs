//! The destination of a calibration: the file of `-o`, or the file that is kept for this machine and
//! server. The kept file is only replaced by one that is as complete.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use x11prof_cost_model::{Brought, ServerParameters};
use x11prof_xmeasure::{Target, identify, this_machine};

use super::partial;
use crate::args::Measure;
use crate::error::{CommandError, Outcome};
use crate::output::emit_shared_text;
use crate::saved_parameters;

/// The destination, and the file that exists there.
pub(super) struct Calibration {
    path: PathBuf,
    /// True if x11prof keeps the file; false if the user named it.
    is_kept: bool,
    /// The whole one that is kept so far.
    before: Option<ServerParameters>,
    /// The parameters to be extended.
    pub(super) known: Option<ServerParameters>,
}

impl Calibration {
    /// Finds the destination of the calibration of `target` for `arguments`.
    ///
    /// # Errors
    ///
    /// Fails if there is no file to extend, or if a partial calibration would replace a complete one.
    pub(super) fn find(arguments: &Measure, target: &Target) -> Result<Calibration, CommandError> {
        let adds = arguments.resume || arguments.trace.is_some();
        if let Some(path) = &arguments.output {
            let known = match adds {
                true => partial::known(path)?,
                false => None,
            };
            return Ok(Calibration {
                path: path.clone(),
                is_kept: false,
                before: None,
                known,
            });
        }
        if !arguments.only.is_empty() && !adds {
            return Err(CommandError::usage(
                "--only writes an incomplete table; name its file with -o FILE",
            ));
        }
        let (host, name) = match arguments.server {
            Some(kind) => (this_machine(), kind.name().to_owned()),
            None => {
                let (server, host) = identify(target).map_err(CommandError::failed)?;
                (host, server.name)
            }
        };
        let path = saved_parameters::path(&host, &name)?;
        let read =
            |path: &Path| saved_parameters::read(path).map_err(|why| CommandError::file(path, why));
        let before = read(&path)?;
        let known = match (arguments.resume, adds) {
            (true, _) => partial::known(&path)?,
            (false, true) => before.clone(),
            (false, false) => None,
        };
        if adds && known.is_none() {
            return Err(CommandError::failed(format_args!(
                "there is no calibration of {name} to add to. Calibrate it first, or name a file with -o \
                 FILE"
            )));
        }
        if arguments.quick && !adds && before.as_ref().is_some_and(|file| !file.method.is_quick()) {
            return Err(CommandError::failed(format_args!(
                "{}: --quick would replace a full calibration. Name another file with -o FILE, or omit \
                 --quick",
                path.display()
            )));
        }
        Ok(Calibration {
            path,
            is_kept: true,
            // An extension contains all entries of the extended file.
            before: before.filter(|_| !adds),
            known,
        })
    }

    /// Writes a complete calibration, and prints how to use it.
    pub(super) fn write(&self, parameters: &ServerParameters) -> Outcome {
        if self.is_worse(parameters) {
            let left = self.leave(parameters)?;
            return Err(CommandError::failed(format_args!(
                "the time limit ended the calibration early, so {} is unchanged; {left}",
                self.path.display(),
            )));
        }
        if self.is_kept {
            saved_parameters::make_folder(&self.path)?;
        }
        emit_shared_text(Some(&self.path), &parameters.to_toml())?;
        if self.is_kept || self.known.is_some() {
            partial::done(&self.path);
        }
        let entries = parameters.requests.len();
        let path = self.path.display();
        say!("{entries} entries of {} in {path}", parameters.server.name);
        match self.is_kept {
            true => {
                say!("`x11prof report TRACE` uses it for recordings of this server")
            }
            false => say!("next: x11prof report TRACE --params {path}"),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Saves an incomplete calibration next to the file, and prints where.
    pub(super) fn leave(&self, parameters: &ServerParameters) -> Result<String, CommandError> {
        if self.is_kept {
            saved_parameters::make_folder(&self.path)?;
        }
        partial::keep(&self.path, parameters)
    }

    /// True if the new file lacks requests of the kept one.
    fn is_worse(&self, newer: &ServerParameters) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|before| {
            !before.method.is_quick()
                && newer.method.unmeasured.len() > before.method.unmeasured.len()
        })
    }
}

/// The known parameters merged with the new ones. Parameters of another machine are rescaled to this one first.
pub(super) fn with_known(
    known: Option<ServerParameters>,
    newer: ServerParameters,
) -> ServerParameters {
    let Some(mut known) = known else {
        return newer;
    };
    let models = known
        .host
        .cpu_model
        .clone()
        .zip(newer.host.cpu_model.clone());
    if let Some((there, here)) = models
        && known.host.is_same_machine(&newer.host) == Some(false)
    {
        match Brought::between(&known, &newer) {
            Some(by) => {
                say!("the costs of {there} were rescaled to {here}: {by}");
                known = known.brought(by, newer.host.clone());
            }
            None => say!(
                "warning: the costs of {there} are not rescaled to {here}: too few common measurements. \
                 Calibrate here again"
            ),
        }
    }
    let brought = known.method.brought.take();
    known.merge(newer);
    known.method.brought = brought;
    known
}

#[cfg(test)]
mod tests {
    use super::Calibration;
    use x11prof_cost_model::ServerParameters;

    #[test]
    fn a_part_does_not_take_the_place_of_the_whole() {
        let with = |notes: &str, unmeasured: &[&str]| {
            let mut file = ServerParameters::default();
            file.method.notes = Some(notes.into());
            file.method.unmeasured = unmeasured.iter().map(|name| (*name).into()).collect();
            file
        };
        let over = |before| Calibration {
            path: "x".into(),
            is_kept: true,
            before,
            known: None,
        };
        let part = with("whole plan, 9 passes", &["PolyLine"]);
        assert!(over(Some(with("whole plan", &[]))).is_worse(&part));
        assert!(!over(Some(with("quick plan", &[]))).is_worse(&part));
        assert!(!over(Some(with("whole plan", &["Bell"]))).is_worse(&part));
        assert!(!over(None).is_worse(&part));
    }
}
