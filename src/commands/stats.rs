//! `x11prof stats`: the statistics of a recording's messages.

use x11prof_analyzer::{ClientChoice, Observation, Statistics, StatisticsReport};
use x11prof_views::statistics as views;

use crate::args::Stats;
use crate::commands::emit_table::emit_table;
use crate::error::Outcome;
use crate::names;
use crate::output::{page, refuse_input};
use crate::pass::{Pass, Step};

/// Prints the distributions of requests, replies, events and errors, and of each kind of message.
pub(crate) fn run(arguments: &Stats) -> Outcome {
    let path = &arguments.trace;
    refuse_input(arguments.result.output.as_deref(), [path.as_path()])?;
    let pass = Pass::open(path)?.take_together().tell_missing();
    let mut statistics = Statistics::new(arguments.message.clone());
    let mut choice = ClientChoice::new(arguments.client.as_deref());
    let span = arguments.span.find(path, arguments.client.as_deref())?;
    let (start, end) = pass.run_span(span, |step| match step {
        Step::Before(Observation::Control(_, control))
        | Step::Within(Observation::Control(_, control)) => choice.control(control),
        Step::Within(observation @ Observation::Message(seen)) if choice.holds(seen.connection) => {
            statistics.observe(observation);
        }
        _ => {}
    })?;
    if let Some(missing) = choice.unmatched() {
        return Err(names::no_such(path, &missing));
    }
    names::unmatched(statistics.missing())?;
    let histograms = arguments.histograms;
    let report = StatisticsReport {
        duration_ms: end.since(start).as_secs_f64() * 1e3,
        ..StatisticsReport::new(&path.to_string_lossy(), &statistics, histograms)
    };
    let to = arguments.result.output.as_deref();
    // If the user names a message or requests histograms, all of them are printed.
    let all = arguments.all || histograms || !arguments.message.is_empty();
    let text = || views::text(&report, &page(to, all, None));
    emit_table(to, arguments.result.format, &report, text, || {
        views::csv(&report)
    })
}
