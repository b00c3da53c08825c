//! `x11prof episodes`: how long each action of the user took, and what took it.

use x11prof_analyzer::{EpisodeOptions, Episodes, EpisodesReport, Facts};
use x11prof_views::episodes::{self as views, Timeline};
use x11prof_views::plain_lines;

use crate::args::{Episodes as Arguments, TableFormat};
use crate::error::{CommandError, Outcome};
use crate::output::{Access, refuse_input, write_json, write_text};
use crate::pass::Pass;

/// Finds the episodes of the trace and prints what they add up to.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let path = &arguments.trace;
    refuse_input(arguments.output.as_deref(), [path.as_path()])?;
    let pass = Pass::open(path, None)?;
    let mut options = EpisodeOptions {
        client: arguments.client.clone(),
        landmark: arguments.landmark.clone(),
        worst: arguments.worst,
        net: arguments.net,
        ..EpisodeOptions::default()
    };
    if let Some(thresholds) = arguments.threshold {
        options.thresholds = thresholds;
    }
    if let Some(frame) = arguments.frame_budget {
        options.frame_ms = frame;
    }
    let mut facts = Facts::default();
    let mut episodes = Episodes::new(&options);
    pass.run(|observation| {
        facts.observe(observation);
        episodes.observe(observation);
    })?;
    let findings = episodes.finish();
    let mut report = EpisodesReport::new(&path.to_string_lossy(), &facts, &findings);
    if arguments.worst.is_some() {
        let mut timeline = Timeline::new(&report);
        let mut found = Ok(());
        Pass::open(path, None)?.run(|observation| {
            if found.is_ok() {
                found = timeline.observe(observation);
            }
        })?;
        found.map_err(|error| CommandError::file(path, error))?;
        timeline.into_report(&mut report);
    }
    let to = arguments.output.as_deref();
    match arguments.format {
        // Landmarks name the keys that were pressed.
        TableFormat::Text => write_text(Access::Private, to, &plain_lines(&views::text(&report))),
        TableFormat::Json => write_json(Access::Private, to, &report),
        TableFormat::Csv => write_text(Access::Private, to, &views::csv(&report)),
    }
}
