//! `x11prof stats`: the statistics of a recording's messages.

use x11prof_analyzer::{HistogramOptions, Pipeline, Statistics, StatisticsReport};

use crate::args::{Stats, TableFormat};
use crate::error::{CommandError, Outcome};
use crate::input;
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
    for name in statistics.missing() {
        eprintln!("x11prof: no message of the trace is a {name}; `x11prof stats` lists all kinds");
    }
    for (name, _) in &arguments.grain {
        if !statistics.knows(name) {
            eprintln!("x11prof: no message of the trace is a {name}, which --grain names");
        }
    }
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
