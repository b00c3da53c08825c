//! `x11prof report`: the execution profile of a recording.

use x11prof_analyzer::{Blocking, Profile, ProfileReport, profile_trace};
use x11prof_cost_model::Substitutions;

use crate::args::{Format, Report};
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::output::{emit_json, emit_text};

/// Prices the trace and prints its profile.
pub(crate) fn run(arguments: &Report) -> Outcome {
    let path = &arguments.trace;
    let mut reader = input::trace(path)?;
    let parameters = match &arguments.params {
        Some(name) => input::parameters(name)?,
        None => input::matching_parameters(path)?,
    };
    let mut profile = [Profile::new(
        &parameters,
        &Substitutions::default(),
        Blocking::default(),
    )];
    let facts = profile_trace(&mut reader, &mut profile)
        .map_err(|error| CommandError::file(path, error))?;
    let name = path.to_string_lossy();
    let report = ProfileReport::new(&name, &facts, &profile[0], &arguments.net);
    match arguments.format {
        Format::Text => emit_text(arguments.output.as_deref(), &report.text(arguments.top)),
        Format::Json => emit_json(arguments.output.as_deref(), &report),
    }
}
