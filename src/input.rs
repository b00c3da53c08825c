//! Opens the inputs of commands: traces and parameter files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use x11prof_analyzer::{Warning, identity, is_timed, recorded_host, recorded_server};
use x11prof_cost_model::{Host, Match, ServerParameters, Substitutions, best_match, built_in};
use x11prof_stacks::open_regular;
use x11prof_trace::{Control, Reader, Record, Server, Started};
use x11prof_xmeasure::this_machine;

use crate::error::{CommandError, shown};
use crate::machine::{self, Probing};
use crate::saved_parameters;
use crate::text_file::text;

/// Opens the trace at `path`.
pub(crate) fn trace(path: &Path) -> Result<Reader<BufReader<File>>, CommandError> {
    if path.is_dir() {
        return Err(CommandError::file(
            path,
            "this is a directory; name a recording, such as x11prof.mcap",
        ));
    }
    let file = open_regular(path).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            CommandError::file(
                path,
                "no such recording (make one: x11prof record -- COMMAND)",
            )
        } else {
            CommandError::file(path, error)
        }
    })?;
    Reader::new(BufReader::new(file)).map_err(|error| CommandError::file(path, error))
}

/// Returns the file's name without its folder, for a label.
pub(crate) fn shown_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The label in the trace of a replay that holds the name of the replayed recording.
pub(crate) const REPLAY_OF: &str = "replay-of";

/// If the trace at `path` is a replay, prints which figures belong to the original program.
pub(crate) fn tell_replay(path: &Path) -> Result<(), CommandError> {
    if let Some(played) = replay_of(path)?.as_deref().map(x11prof_views::plain) {
        say!(
            "{} is a replay of {played}. Requests, bytes and server time are those of the program, and of \
             GetInputFocus requests that the replay may have added; waits \
             and client CPU are those of the player",
            shown(path)
        );
    }
    Ok(())
}

/// Returns the name of the recording that was replayed; `None` if the trace at `path` is not a replay.
pub(crate) fn replay_of(path: &Path) -> Result<Option<String>, CommandError> {
    before_clients(path, |control| match control {
        Control::Labels { mut labels } => labels.remove(REPLAY_OF),
        _ => None,
    })
}

/// Returns true if the recording was made with `record --stacks=requests`.
pub(crate) fn has_request_stacks(path: &Path) -> Result<bool, CommandError> {
    let reported = |control| matches!(control, Control::RequestStacks { .. }).then_some(());
    Ok(before_clients(path, reported)?.is_some())
}

/// Returns the name of the process that listened for the recorded display in place of an X server, such as `sshd`;
/// `None` if there was none.
fn relay(path: &Path) -> Result<Option<String>, CommandError> {
    before_clients(path, |control| match control {
        Control::Link(link) => link.relay,
        _ => None,
    })
}

/// Returns the first value that `find` returns for the control records before the first client in the trace at `path`.
fn before_clients<T>(
    path: &Path,
    mut find: impl FnMut(Control) -> Option<T>,
) -> Result<Option<T>, CommandError> {
    let mut reader = trace(path)?;
    while let Ok(Some(record)) = reader.next() {
        match record {
            Record::Control(_, Control::Opened(_)) | Record::Block(_) => break,
            Record::Control(_, control) => {
                if let Some(found) = find(control) {
                    return Ok(Some(found));
                }
            }
            // The server's first context switches and handlers can come before the first client.
            Record::Schedule(_) | Record::HandlerTimes(_) => {}
        }
    }
    Ok(None)
}

/// A cost table for a recording, rescaled to the recorded machine if possible.
pub(crate) struct CostsForRecording {
    /// The cost table.
    pub(crate) parameters: ServerParameters,
    /// The reason why the costs still apply to another machine; `None` if they apply to the recorded machine.
    pub(crate) elsewhere: Option<String>,
    /// The name of the recorded server and the name of the cost table's server, if they differ.
    pub(crate) other_server: Option<(String, String)>,
}

impl CostsForRecording {
    /// Returns true if the recorded server, and therefore its costs, are unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        self.parameters.requests.is_empty()
    }

    /// Returns the caveats about the costs. If the server time was `measured`, the costs only split the measured time,
    /// so the server and the machine of the costs do not matter.
    pub(crate) fn doubts(&self, measured: bool) -> Vec<Warning> {
        let machine = self.elsewhere.clone().filter(|_| !measured);
        let server = self.other_server.clone();
        let server = server.map(|(recorded, theirs)| Warning::other_server(recorded, theirs));
        machine
            .map(Warning::other_machine)
            .into_iter()
            .chain(server)
            .collect()
    }

    fn on(parameters: ServerParameters, host: &Host, probing: Probing) -> CostsForRecording {
        let (parameters, elsewhere) = machine::bring(parameters, host, probing);
        CostsForRecording {
            parameters,
            elsewhere,
            other_server: None,
        }
    }

    /// Returns the cost table, rescaled unless `as_measured`. A benchmark of this machine is allowed.
    fn allowed(parameters: ServerParameters, host: &Host, as_measured: bool) -> CostsForRecording {
        match as_measured {
            true => CostsForRecording::as_measured(parameters, host),
            false => CostsForRecording::on(parameters, host, Probing::Allowed),
        }
    }

    /// Returns the cost table without rescaling. `host` is the machine of the recording.
    fn as_measured(parameters: ServerParameters, host: &Host) -> CostsForRecording {
        let models = parameters
            .host
            .cpu_model
            .as_ref()
            .zip(host.cpu_model.as_ref());
        let elsewhere = models
            .filter(|_| parameters.host.is_same_machine(host) == Some(false))
            .map(|(there, here)| format!("measured on {there}, recorded on {here}"));
        CostsForRecording {
            parameters,
            elsewhere,
            other_server: None,
        }
    }
}

/// The cost table `name` for the trace at `path`, rescaled to the machine of the trace unless `as_measured`.
pub(crate) fn named_costs(
    name: &str,
    path: &Path,
    as_measured: bool,
) -> Result<CostsForRecording, CommandError> {
    let parameters = parameters(name)?;
    let host = recorded_host(trace(path)?.started());
    Ok(CostsForRecording::allowed(parameters, &host, as_measured))
}

/// The cost table that best matches the server in the trace, if the user named none. Prints its name, unless the
/// server timed its requests: then the table only attributes wakeups, reading and replies.
pub(crate) fn matching_costs(
    path: &Path,
    as_measured: bool,
) -> Result<CostsForRecording, CommandError> {
    costs_of(path, as_measured, true)
}

/// Like [`matching_costs`], but prints the name only if `reported` is true.
pub(crate) fn costs_of(
    path: &Path,
    as_measured: bool,
    reported: bool,
) -> Result<CostsForRecording, CommandError> {
    let mut reader = trace(path)?;
    let started = reader.started().clone();
    let server = identity(&mut reader).map_err(|error| CommandError::file(path, error))?;
    let timed = is_timed(&mut reader).map_err(|error| CommandError::file(path, error))?;
    // The server behind a relay is unknown, and so are its costs.
    if relay(path)?.is_some() {
        return Ok(CostsForRecording {
            parameters: ServerParameters::default(),
            elsewhere: None,
            other_server: None,
        });
    }
    let (parameters, other_server) = parameters_for(&started, server.as_ref(), reported && !timed)?;
    let host = recorded_host(&started);
    Ok(CostsForRecording {
        other_server,
        ..CostsForRecording::allowed(parameters, &host, as_measured)
    })
}

/// The cost table of the recorded server itself, to extrapolate measured times to another server; `None` if there is
/// no such table.
pub(crate) fn recorded_costs(
    path: &Path,
    as_measured: bool,
) -> Result<Option<CostsForRecording>, CommandError> {
    let (best, host) = best_for(path)?;
    let best = best.filter(|best| best.same_server);
    Ok(best.map(|best| {
        CostsForRecording::allowed(machine::whole(best.parameters), &host, as_measured)
    }))
}

/// Returns the best matching cost table for the trace at `path`, and the recorded machine.
fn best_for(path: &Path) -> Result<(Option<Match<'static>>, Host), CommandError> {
    let mut reader = trace(path)?;
    let host = recorded_host(reader.started());
    let server = identity(&mut reader).map_err(|error| CommandError::file(path, error))?;
    let server = server.as_ref().map(recorded_server).unwrap_or_default();
    Ok((best_match(machine::known(), &server, &host), host))
}

/// Returns the best matching cost table without rescaling, which is sufficient to distinguish expensive requests from
/// cheap ones.
pub(crate) fn likely_parameters(path: &Path) -> Result<ServerParameters, CommandError> {
    let (best, _) = best_for(path)?;
    Ok(best.map_or_else(ServerParameters::default, |best| {
        machine::whole(best.parameters)
    }))
}

/// The cost table `name`, or the best match, for a recording in progress.
pub(crate) fn live_costs(
    name: Option<&str>,
    started: &Started,
    server: Option<&Server>,
) -> Result<CostsForRecording, CommandError> {
    let parameters = match name {
        Some(name) => parameters(name)?,
        None => parameters_for(started, server, true)?.0,
    };
    let costs = CostsForRecording::on(parameters, &recorded_host(started), Probing::KeptOnly);
    if let Some(why) = &costs.elsewhere {
        say!("warning: {why}");
    }
    Ok(costs)
}

/// Returns the unchanged cost table that best matches the recorded server and machine, and the names of the two servers
/// if they differ. Prints the table's name if `named` is true.
fn parameters_for(
    started: &Started,
    server: Option<&Server>,
    named: bool,
) -> Result<(ServerParameters, Option<(String, String)>), CommandError> {
    let host = recorded_host(started);
    let server = server.map(recorded_server).unwrap_or_default();
    let best = best_match(machine::known(), &server, &host).ok_or_else(|| {
        CommandError::failed("this build has no cost tables; name one with --params")
    })?;
    let name = &best.parameters.server.name;
    let advice = "`x11prof calibrate` measures this machine";
    let mut other_server = None;
    let whence = match (best.same_server, best.same_machine) {
        (true, Some(true)) => "measured on this machine".to_owned(),
        (true, _) => format!("measured on another machine and rescaled to this one; {advice}"),
        (false, _) => {
            let executable = server
                .executable
                .as_deref()
                .unwrap_or("the recorded server");
            other_server = Some((executable.to_owned(), name.clone()));
            format!("as {executable} was never measured; {advice}")
        }
    };
    if named {
        say!("cost table: {name}, {whence}");
    }
    Ok((machine::whole(best.parameters), other_server))
}

/// Returns the cost table for `name`: a name from `params list`, or a file.
pub(crate) fn parameters(name: &str) -> Result<ServerParameters, CommandError> {
    ServerParameters::from_toml(&parameter_text(name)?)
        .map_err(|error| CommandError::failed(format_args!("{name}: {error}")))
}

/// Returns the rules for substituting attribute values that were not measured: from the user's file at `path`, or the
/// built-in rules.
pub(crate) fn substitutions(path: Option<&Path>) -> Result<Substitutions, CommandError> {
    let Some(path) = path else {
        return Ok(Substitutions::default());
    };
    let text = text(path, "file of substitutions")?;
    Substitutions::parse(&text).map_err(|error| CommandError::file(path, error))
}

/// Returns the text of the parameter file for `name`: a file, a saved file of this machine, or a built-in file.
pub(crate) fn parameter_text(name: &str) -> Result<String, CommandError> {
    let given = Path::new(name);
    let kept = saved_parameters::path(&this_machine(), name).ok();
    let kept =
        kept.filter(|path| !given.exists() && path.exists() && saved_parameters::is_name(name));
    if let Some(path) = kept {
        return text(&path, saved_parameters::KIND);
    }
    if !given.exists() {
        if let Some(known) = built_in().iter().find(|known| known.name == name) {
            return Ok(known.toml.to_owned());
        }
        return Err(CommandError::failed(format_args!(
            "{name}: not a file, and not a name of a cost table; `x11prof params list` shows the names"
        )));
    }
    text(given, saved_parameters::KIND)
}
