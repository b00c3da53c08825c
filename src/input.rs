//! Opening what commands read: traces and parameter files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use x11prof_analyzer::{identity, recorded_host, recorded_server};
use x11prof_cost_model::{ServerParameters, best_match, built_in};
use x11prof_session::{Definitions, Session};
use x11prof_trace::{Reader, Server, Started};

use crate::error::CommandError;

/// Opens the trace at `path`.
pub(crate) fn trace(path: &Path) -> Result<Reader<BufReader<File>>, CommandError> {
    let file = File::open(path).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            CommandError::file(
                path,
                "no such trace; make one with: x11prof record -- COMMAND",
            )
        } else {
            CommandError::file(path, error)
        }
    })?;
    Reader::new(BufReader::new(file)).map_err(|error| CommandError::file(path, error))
}

/// The parameters to price the trace at `path` with where the user named none: those that fit the
/// server in it best. Says on standard error which they are.
pub(crate) fn matching_parameters(path: &Path) -> Result<ServerParameters, CommandError> {
    let mut reader = trace(path)?;
    let started = reader.started().clone();
    let server = identity(&mut reader).map_err(|error| CommandError::file(path, error))?;
    parameters_for(&started, server.as_ref())
}

/// The parameters that fit a server and the machine that it was recorded on best. Says on
/// standard error which they are.
pub(crate) fn parameters_for(
    started: &Started,
    server: Option<&Server>,
) -> Result<ServerParameters, CommandError> {
    let host = recorded_host(started);
    let server = server.map(recorded_server).unwrap_or_default();
    let known = built_in()
        .iter()
        .map(|known| known.parameters())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| CommandError::failed(format_args!("built-in parameters: {error}")))?;
    let best = best_match(&known, &server, &host).ok_or_else(|| {
        CommandError::failed("no parameters come with this x11prof; name some with --params")
    })?;
    let name = &best.parameters.server.name;
    let advice = "for this one's own: x11prof measure -o FILE, then --params FILE";
    match (best.same_server, best.same_machine) {
        (true, Some(true)) => eprintln!("x11prof: prices of {name}"),
        (true, _) => {
            eprintln!("x11prof: prices of {name}, measured on another machine; {advice}");
        }
        (false, _) => {
            let executable = server
                .executable
                .as_deref()
                .unwrap_or("the recorded server");
            eprintln!(
                "x11prof: no parameters of {executable} come with x11prof; prices of {name}; {advice}"
            );
        }
    }
    Ok(best.parameters.clone())
}

/// The parameters that `name` means: a name from `params list`, or a file.
pub(crate) fn parameters(name: &str) -> Result<ServerParameters, CommandError> {
    ServerParameters::from_toml(&parameter_text(name)?)
        .map_err(|error| CommandError::failed(format_args!("{name}: {error}")))
}

/// A session to make operations of requests, with the user's own in the file at `path`.
pub(crate) fn session(path: Option<&Path>) -> Result<Session, CommandError> {
    let Some(path) = path else {
        return Ok(Session::new());
    };
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => {
            CommandError::file(path, "not a file of operations: not text")
        }
        _ => CommandError::file(path, error),
    })?;
    let definitions = Definitions::parse(&text).map_err(|error| CommandError::file(path, error))?;
    Ok(Session::with_definitions(definitions))
}

/// The text of the parameter file that `name` means.
pub(crate) fn parameter_text(name: &str) -> Result<String, CommandError> {
    let path = Path::new(name);
    if !path.exists()
        && let Some(known) = built_in().iter().find(|known| known.name == name)
    {
        return Ok(known.toml.to_owned());
    }
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CommandError::failed(format_args!(
            "{name}: neither a file nor a name from `x11prof params list`"
        )),
        std::io::ErrorKind::InvalidData => {
            CommandError::file(path, "not a parameter file: not text")
        }
        _ => CommandError::file(path, error),
    })
}
