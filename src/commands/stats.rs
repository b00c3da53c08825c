//! `x11prof stats`: the statistics of a recording's messages.

use x11prof_analyzer::{HistogramOptions, Pipeline, Statistics, StatisticsReport};

use crate::args::{Stats, TableFormat};
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::names;
use crate::output::{emit_json, emit_text, refuse_input};

/// Prints the distributions of the four categories and of each kind of message.
pub(crate) fn run(arguments: &Stats) -> Outcome {
    let path = &arguments.trace;
    let read = [Some(path.as_path()), arguments.operations.as_deref()];
    refuse_input(arguments.output.as_deref(), read.into_iter().flatten())?;
    let mut reader = input::trace(path)?;
    let mut statistics = Statistics::new(arguments.message.clone());
    Pipeline::with_session(input::session(arguments.operations.as_deref())?)
        .run(&mut reader, |observation| statistics.observe(observation))
        .map_err(|error| CommandError::file(path, error))?;
    let grains = arguments.grain.iter().map(|(name, _)| name.as_str());
    let unknown = grains.filter(|name| !statistics.knows(name));
    names::unmatched(statistics.missing().into_iter().chain(unknown))?;
    let histograms = HistogramOptions {
        wanted: arguments.histograms || !arguments.grain.is_empty(),
        grains: arguments.grain.iter().cloned().collect(),
    };
    let report = StatisticsReport::new(&path.to_string_lossy(), &statistics, &histograms);
    let to = arguments.output.as_deref();
    match arguments.format {
        TableFormat::Text => emit_text(to, &report.text()),
        TableFormat::Json => emit_json(to, &report),
        TableFormat::Csv => emit_text(to, &report.csv()),
    }
}
