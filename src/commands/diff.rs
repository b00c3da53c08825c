//! `x11prof diff`: the differences between two versions, from recordings of each.

use std::path::{Path, PathBuf};

use x11prof_analyzer::{Difference, Figures, FiguresOfRun, Profile};
use x11prof_cost_model::{ServerParameters, Substitutions};
use x11prof_views::difference as views;

use crate::args::Diff;
use crate::commands::emit_table::emit_table;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::names;
use crate::output::{page, refuse_input};
use crate::pass::Pass;

/// Computes the figures of every recording and prints the differences.
pub(crate) fn run(arguments: &Diff) -> Outcome {
    let traces = arguments.old.iter().chain(&arguments.new);
    let params = arguments.params.as_deref().map(Path::new);
    refuse_input(
        arguments.result.output.as_deref(),
        traces.map(PathBuf::as_path).chain(params),
    )?;
    for path in arguments.old.iter().chain(&arguments.new) {
        input::tell_replay(path)?;
    }
    // clap requires at least one.
    let first = arguments
        .old
        .first()
        .map_or(Path::new(""), PathBuf::as_path);
    let named = arguments.params.as_ref();
    let named = named.map(|name| input::named_costs(name, first, false));
    let named = named.transpose()?.map(|costs| costs.parameters);
    let side = |traces: &[PathBuf]| -> Result<Vec<Figures>, CommandError> {
        let client = arguments.client.as_deref();
        let numbered = traces.iter().enumerate();
        let figures = numbered.map(|(at, path)| {
            let parameters = match &named {
                Some(parameters) => parameters.clone(),
                // The first recording of each side prints the name of its cost table.
                None => input::costs_of(path, false, at == 0)?.parameters,
            };
            figures(path, &parameters, client)
        });
        figures.collect()
    };
    let difference = Difference::new(&side(&arguments.old)?, &side(&arguments.new)?);
    let to = arguments.result.output.as_deref();
    let text = || views::text(&difference, &page(to, arguments.all, None));
    emit_table(to, arguments.result.format, &difference, text, || {
        views::csv(&difference)
    })
}

/// Computes the figures of the recording at `path`. `parameters` is the cost table. `client` selects clients by name or
/// number.
fn figures(
    path: &Path,
    parameters: &ServerParameters,
    client: Option<&str>,
) -> Result<Figures, CommandError> {
    let pass = Pass::open(path)?.tell_missing();
    let rules = Substitutions::default();
    let profile = Profile::new(parameters, &rules);
    let mut run = FiguresOfRun::new(profile, client);
    pass.run(|observation| run.observe(observation))?;
    let figures = run.finish(&path.to_string_lossy());
    figures.map_err(|unmatched| names::no_such(path, &unmatched))
}
