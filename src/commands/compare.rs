//! `x11prof compare`: one recording priced for several servers, in one pass.

use x11prof_analyzer::{Blocking, Comparison, Profile, ProfileReport, profile_trace};
use x11prof_cost_model::Substitutions;

use crate::args::{Compare, Format};
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::output::{emit_json, emit_text};

/// Prices the trace for every server and prints them side by side.
pub(crate) fn run(arguments: &Compare) -> Outcome {
    let path = &arguments.trace;
    let mut reader = input::trace(path)?;
    let substitutions = Substitutions::default();
    let mut profiles = Vec::with_capacity(arguments.params.len());
    for name in &arguments.params {
        let parameters = input::parameters(name)?;
        profiles.push(Profile::new(
            &parameters,
            &substitutions,
            Blocking::default(),
        ));
    }
    let facts = profile_trace(&mut reader, &mut profiles)
        .map_err(|error| CommandError::file(path, error))?;
    let name = path.to_string_lossy();
    let reports: Vec<ProfileReport> = profiles
        .iter()
        .map(|profile| ProfileReport::new(&name, &facts, profile, &arguments.net))
        .collect();
    let comparison = Comparison::new(&reports);
    match arguments.format {
        Format::Text => emit_text(arguments.output.as_deref(), &comparison.text(None)),
        Format::Json => emit_json(arguments.output.as_deref(), &comparison),
    }
}
