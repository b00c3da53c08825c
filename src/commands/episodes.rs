//! `x11prof episodes`: the latency of each user action, and its causes.

use std::sync::Arc;

use x11prof_analyzer::{
    EpisodeOptions, Episodes, EpisodesReport, EventDefinitions, Forecasts, Marks, Stalls,
    StallsReport, TraceSummary,
};
use x11prof_cost_model::{Network, Substitutions};
use x11prof_views::episodes::{self as views, Show, Timeline};

use crate::args::{Episodes as Arguments, EpisodesFormat};
use crate::callers::NamedCallers;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::names;
use crate::output::{emit_all, emit_json, emit_text, page, refuse_input};
use crate::pass::{self, Pass};
use crate::text_file::text;

/// Finds the episodes of the trace and prints their statistics.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let read = [Some(arguments.trace.as_path()), arguments.events.as_deref()];
    refuse_input(arguments.output.as_deref(), read.into_iter().flatten())?;
    if arguments.format == EpisodesFormat::Xml && arguments.events.is_none() {
        return Err(CommandError::usage("--format xml needs --events FILE"));
    }
    let report = report(arguments)?;
    let to = arguments.output.as_deref();
    let page = page(to, arguments.all, None);
    let show = Show {
        worst: arguments.worst.is_some(),
        patterns: arguments.patterns,
        each_key: arguments.by_key || arguments.landmark.is_some(),
        chart: arguments.chart,
        marks: arguments.marks,
    };
    let text = || views::text(&report, &show, &page);
    let csv = || match report.events.is_empty() {
        true => views::csv(&report),
        false => views::events_csv(&report),
    };
    let xml = || views::events_xml(&report);
    match arguments.format {
        EpisodesFormat::Text => emit_text(to, &text()),
        EpisodesFormat::Json => emit_json(to, &report),
        EpisodesFormat::Csv => emit_text(to, &csv()),
        EpisodesFormat::Xml => emit_text(to, &xml()),
        EpisodesFormat::All => emit_all(
            to,
            &report,
            [("txt", text()), ("csv", csv()), ("xml", xml())],
        ),
    }
}

fn options(arguments: &Arguments) -> Result<EpisodeOptions, CommandError> {
    let mut options = EpisodeOptions {
        client: arguments.client.clone(),
        landmark: arguments.landmark.clone(),
        worst: arguments.worst,
        ..EpisodeOptions::default()
    };
    if let Some(thresholds) = arguments.threshold {
        options.thresholds = thresholds;
    }
    if let Some(frame) = arguments.frame_budget {
        options.frame_ms = frame;
    }
    if let Some(path) = &arguments.events {
        let text = text(path, "file of events")?;
        options.events =
            EventDefinitions::parse(&text).map_err(|error| CommandError::file(path, error))?;
    }
    Ok(options)
}

/// Returns the report on the episodes of the trace.
fn report(arguments: &Arguments) -> Result<EpisodesReport, CommandError> {
    let path = &arguments.trace;
    let options = options(arguments)?;
    let span = arguments.span.find(path, options.client.as_deref())?;
    let link = match arguments.net == Network::NONE {
        true => None,
        false => {
            let mut forecasts = Forecasts::default();
            let pass = Pass::open(path)?.take_together();
            pass.run(|observation| forecasts.observe(observation))?;
            Some(Arc::new(forecasts.times(&arguments.net)))
        }
    };
    let options = EpisodeOptions {
        from_s: span.from,
        to_s: span.to,
        link,
        single: arguments.span.is_episode(),
        ..options
    };
    let mut summary = TraceSummary::default();
    let mut episodes = Episodes::new(&options);
    let costs = input::likely_parameters(path)?;
    let mut stalls = Stalls::new(&costs, &Substitutions::default(), options.frame_ms);
    let mut marks = Marks::default();
    let has_places = arguments.worst.is_some() || arguments.landmark.is_some();
    let mut callers = has_places.then(NamedCallers::default);
    let mut pass = Pass::open(path)?.tell_missing();
    // The user's own events may begin and end at any request, so requests are not coalesced for them.
    if arguments.events.is_none() {
        pass = pass.take_together();
    }
    pass.run(|observation| {
        summary.observe(observation);
        episodes.observe(observation);
        stalls.observe(observation);
        marks.observe(observation);
        if let Some(callers) = &mut callers {
            callers.observe(observation, |_| true);
        }
    })?;
    if !span.is_all() {
        let start = summary.first().unwrap_or_default();
        let part = span.within(start, summary.last());
        summary.limit(part.ok_or_else(|| span.beyond(path, summary.duration()))?);
    }
    let findings = episodes.finish();
    if let Some(missing) = findings.unmatched() {
        return Err(names::no_such(path, &missing));
    }
    let mut report = EpisodesReport::new(&path.to_string_lossy(), &summary, &findings);
    let stalls = StallsReport::new(&stalls, &summary);
    stalls.name_in(&mut report);
    marks.name_in(&mut report, &summary, &stalls);
    if let Some(callers) = callers {
        match arguments.worst {
            Some(_) => callers.name_in(&mut report.episodes),
            None => report.running = callers.running_in(&report.episodes),
        }
    }
    let messages = match arguments.format {
        EpisodesFormat::Text => arguments.all,
        EpisodesFormat::Json | EpisodesFormat::All => true,
        EpisodesFormat::Csv | EpisodesFormat::Xml => false,
    };
    if arguments.worst.is_some() && messages {
        pass::add_messages(path, Timeline::new(&report), &mut report)?;
    }
    Ok(report)
}
