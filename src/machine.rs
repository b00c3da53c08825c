//! Rescales cost tables to the machine of a recording.
//!
//! One factor applies to all tables of a machine, so the order of the servers does not change. The factor comes from a
//! server that was measured on both machines, or otherwise from a one-second benchmark of a private Xvfb on this
//! machine. x11prof stores the result of the benchmark.

use std::sync::OnceLock;

use x11prof_cost_model::{Host, Rescaled, ServerParameters, built_in, is_same_server};
use x11prof_proxy::{DisplayError, PrivateServer, ServerKind, ServerLink};
use x11prof_xmeasure::{Plan, Target, measure, this_machine, usual_processor};

use crate::handler_times;
use crate::saved_parameters;

/// The requests that the benchmark measures to compare two machines: cheap requests, and drawing.
const PROBED: [&str; 7] = [
    "NoOperation",
    "GetInputFocus",
    "ChangeGC",
    "ChangeProperty",
    "PolyPoint",
    "PolyFillRectangle",
    "CopyArea",
];

/// Whether the one-second benchmark may run if this machine has no stored result. The benchmark must not run during a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probing {
    /// The benchmark may run.
    Allowed,
    /// Only a stored result may be used.
    KeptOnly,
}

/// Rescales `parameters` to the machine `host`, if both machines are known and differ. If rescaling is impossible,
/// returns the parameters unchanged and the reason.
pub(crate) fn bring(
    parameters: ServerParameters,
    host: &Host,
    probing: Probing,
) -> (ServerParameters, Option<String>) {
    // The description of this machine is more complete than the one in a recording.
    let here = this_machine();
    let host = match here.is_same_machine(host) {
        Some(true) => &here,
        _ => host,
    };
    if parameters.host.is_same_machine(host) != Some(false) {
        return (parameters, None);
    }
    let there = parameters
        .host
        .cpu_model
        .as_deref()
        .unwrap_or("another machine");
    match between(&parameters, host, probing) {
        Ok(by) => (parameters.brought(by, host.clone()), None),
        Err(why) => {
            let why = format!("{} was measured on {there}: {why}", parameters.server.name);
            (parameters, Some(why))
        }
    }
}

/// Computes the factor from the machine of `parameters` to `host`, from a kind of server that was measured on both
/// machines, or otherwise from a benchmark of Xvfb on this machine.
fn between(
    parameters: &ServerParameters,
    host: &Host,
    probing: Probing,
) -> Result<Rescaled, String> {
    let mut there: Vec<&ServerParameters> = known().iter().chain([parameters]).collect();
    there.retain(|file| file.host.is_same_machine(&parameters.host) == Some(true));
    // Xvfb comes first, because nearly every machine has it: one factor applies to all files of a machine.
    there.sort_by_key(|file| file.server.executable.as_deref() != Some("Xvfb"));
    let by = |here: &ServerParameters| {
        let alike = |one: &&&ServerParameters| is_same_server(&here.server, &one.server);
        there
            .iter()
            .find(alike)
            .and_then(|one| Rescaled::between(&whole(one), here))
    };
    let mut here = known()
        .iter()
        .filter(|file| file.host.is_same_machine(host) == Some(true));
    if let Some(by) = here.find_map(|file| by(&whole(file))) {
        return Ok(by);
    }
    if this_machine().is_same_machine(host) != Some(true) {
        return Err("nothing is known of the recorded machine, which is not this one".into());
    }
    if !there
        .iter()
        .any(|file| file.server.executable.as_deref() == Some("Xvfb"))
    {
        return Err("Xvfb, which could be measured here as well, was not measured there".into());
    }
    let none = || "it has no costs that could be measured here as well".to_owned();
    by(&probed(host, probing)?).ok_or_else(none)
}

/// Returns [`tables`] of the beginning of the run, without their names.
pub(crate) fn known() -> &'static [ServerParameters] {
    static KNOWN: OnceLock<Vec<ServerParameters>> = OnceLock::new();
    KNOWN.get_or_init(|| tables().into_iter().map(|(_, table)| table).collect())
}

/// Returns all saved parameter files, then the headers of the built-in files, with their names for `--params`. A saved
/// file of this machine replaces the built-in file of its name.
pub(crate) fn tables() -> Vec<(String, ServerParameters)> {
    let here = this_machine();
    let mut all = Vec::new();
    for (path, file) in saved_parameters::all() {
        let name = match file.host.is_same_machine(&here) {
            Some(true) => path.file_stem().unwrap_or_default().to_string_lossy(),
            _ => path.to_string_lossy(),
        };
        all.push((name.into_owned(), file));
    }
    let replaced: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let shipped = built_in()
        .iter()
        .filter(|file| !replaced.iter().any(|name| name == file.name));
    // The built-in files are valid: a test reads each.
    all.extend(shipped.filter_map(|file| Some((file.name.to_owned(), file.beginning().ok()?))));
    all
}

/// Reads the complete parameter file for an entry of [`known`].
pub(crate) fn whole(known: &ServerParameters) -> ServerParameters {
    let mut shipped = built_in().iter();
    let file = shipped.find(|file| file.beginning().as_ref() == Ok(known));
    let whole = file.and_then(|file| file.parameters().ok());
    whole.unwrap_or_else(|| known.clone())
}

/// Returns the benchmark of Xvfb on this machine: the stored result, or a new one if `probing` allows it.
fn probed(host: &Host, probing: Probing) -> Result<ServerParameters, String> {
    let kind = ServerKind::Xvfb;
    let path = saved_parameters::probe_path(host, kind.name())
        .map_err(|error| error.message().to_owned())?;
    if let Ok(Some(parameters)) = saved_parameters::read(&path)
        && parameters.host.is_same_machine(&this_machine()) == Some(true)
    {
        return Ok(parameters);
    }
    if probing == Probing::KeptOnly {
        return Err(
            "this machine has not been compared with it yet, which `x11prof report` does".into(),
        );
    }
    say!("comparing this machine with the machine of the cost tables (a few seconds, only once)");
    let mut server = PrivateServer::start_timed(kind).map_err(|error| error.to_string())?;
    let target = private(&server).map_err(|error| error.to_string())?;
    let handlers = handler_times::of_private(&mut server);
    let plan = Plan {
        quick: true,
        only: PROBED.map(str::to_owned).into(),
        entries_only: true,
        pin: usual_processor(),
        ..Plan::default()
    };
    let parameters =
        measure(&target, &plan, handlers, &mut |_| {}).map_err(|error| error.to_string())?;
    // If the result cannot be stored, the benchmark runs again the next time.
    let kept = saved_parameters::make_folder(&path)
        .and_then(|()| crate::output::emit_text(Some(&path), &parameters.to_toml()));
    if let Err(error) = kept {
        say!("warning: {}", error.message());
    }
    Ok(parameters)
}

/// A private server as a target of measurements.
pub(crate) fn private(server: &PrivateServer) -> Result<Target, DisplayError> {
    let authority_file = Some(server.authority_file().to_owned());
    Target::new(ServerLink::new(server.display().clone(), authority_file))
}
