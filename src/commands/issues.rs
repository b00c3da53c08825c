//! `x11prof issues`: ranks the slow actions of many sessions.

use std::path::Path;
use std::process::ExitCode;

use x11prof_analyzer::{EpisodeOptions, EpisodeReport, Episodes, EpisodesReport, TraceSummary};
use x11prof_collection::{IssueReport, IssuesReport, Known, Selection};
use x11prof_proxy::create_folder;
use x11prof_views::episodes::Timeline;
use x11prof_views::{collection as views, plain};

use crate::args::{Issues as Arguments, IssuesFormat};
use crate::error::{CommandError, Outcome, shown};
use crate::output::{emit_json, emit_text, page, refuse_input};
use crate::pass::{self, Pass};
use crate::sessions::{find, read};
use crate::text_file::text;

/// The maximum number of skipped files to list.
const NAMED: usize = 10;
/// The maximum number of issues whose worst episode is read again from its recording.
const EXAMPLES: usize = 20;
/// The largest difference in milliseconds between the start times of an issue's worst episode and of an episode of the
/// same client, for which both are the same episode.
const NEAR_MS: f64 = 0.001;
/// The maximum size of the printed messages of an issue's worst episode, in bytes.
const MESSAGE_BYTES: usize = 1 << 16;

/// Reads every session once and prints the list of issues.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let to = arguments.output.as_deref();
    let found = find(&arguments.inputs)?;
    let tables = found.tables.iter().map(|(_, path)| path);
    let inputs = found.traces.iter().chain(tables).chain(&arguments.known);
    refuse_input(to, inputs.map(AsRef::as_ref))?;
    let known = arguments
        .known
        .as_deref()
        .map_or_else(|| Ok(Known::default()), known)?;
    let selection = Selection {
        threshold: arguments.threshold.map(|ms| (ms * 1e6).round() as u64),
    };
    let (mut issues, left_out) = read(found, selection);
    issues.join_keys();
    let report = IssuesReport::new(&issues, &known, arguments.compare.clone(), left_out);
    if let (0, [left]) = (report.sessions, report.left_out.as_slice()) {
        return Err(CommandError::failed(format_args!(
            "{}: {}",
            plain(&left.file),
            left.why
        )));
    }
    for left in report.left_out.iter().take(NAMED) {
        say!("skipped: {}: {}", plain(&left.file), left.why);
    }
    if report.left_out.len() > NAMED {
        say!(
            "skipped: {} more files (--format json lists them)",
            report.left_out.len() - NAMED
        );
    }
    if report.sessions == 0 {
        let inputs = arguments.inputs.iter();
        let inputs: Vec<_> = inputs.map(|one| shown(one)).collect();
        return Err(CommandError::failed(format_args!(
            "{}: there is no session; record one with: x11prof record -o FOLDER/1.mcap -- COMMAND",
            inputs.join(", ")
        )));
    }
    if let Some(missing) = arguments
        .compare
        .iter()
        .flatten()
        .find(|one| !report.versions.contains(one))
    {
        let known = match report.versions.as_slice() {
            [] => "no session has a version; record with: --label version=1.2".to_owned(),
            known => format!("there are: {}", known.join(", ")),
        };
        return Err(CommandError::usage(format_args!(
            "no session has version {missing}; {known}"
        )));
    }
    match (arguments.format, to) {
        (IssuesFormat::Text, _) => {
            let page = page(to, arguments.all, None);
            emit_text(to, &views::text(&report, arguments.details, &page))
        }
        (IssuesFormat::Json, _) | (IssuesFormat::Html, None) => emit_json(to, &report),
        (IssuesFormat::Html, Some(folder)) => html(&report, folder),
    }
}

/// Writes the HTML pages into `folder`: the list of issues, and one page for each of the first `PAGES` issues.
fn html(report: &IssuesReport, folder: &Path) -> Outcome {
    create_folder(folder, 0o777).map_err(|error| CommandError::file(folder, error))?;
    let linked = report.issues.iter().take(views::PAGES);
    for (at, issue) in linked.enumerate() {
        // If a recording cannot be read any more, the page is written without the example.
        let example = (at < EXAMPLES)
            .then(|| example(issue).ok().flatten())
            .flatten();
        let page = views::issue(report, issue, example.as_ref());
        emit_text(Some(&folder.join(views::file_name(issue))), &page)?;
    }
    let index = folder.join(views::INDEX);
    emit_text(Some(&index), &views::index(report))?;
    say!("the list is in {}", shown(&index));
    Ok(ExitCode::SUCCESS)
}

/// Reads the worst episode of an issue from its recording, with its messages. `None` if the recording does not contain
/// the episode. Fails if the recording cannot be read.
fn example(issue: &IssueReport) -> Result<Option<EpisodeReport>, CommandError> {
    let path = Path::new(&issue.example.trace);
    let at_ms = issue.example.at_s * 1e3;
    let options = EpisodeOptions {
        client: Some(issue.example.client.to_string()),
        from_s: Some((at_ms - NEAR_MS) / 1e3),
        to_s: Some((at_ms + NEAR_MS) / 1e3),
        worst: Some(1),
        ..EpisodeOptions::default()
    };
    let (mut summary, mut episodes) = (TraceSummary::default(), Episodes::new(&options));
    Pass::open(path)?.run(|observation| {
        summary.observe(observation);
        episodes.observe(observation);
    })?;
    let mut report = EpisodesReport::new(&issue.example.trace, &summary, &episodes.finish());
    let timeline = Timeline::of_longest(&report, 1, MESSAGE_BYTES);
    pass::add_messages(path, timeline, &mut report)?;
    Ok(report.episodes.into_iter().next())
}

fn known(path: &Path) -> Result<Known, CommandError> {
    let text = text(path, "file of known issues")?;
    Known::parse(&text).map_err(|error| CommandError::file(path, error))
}
