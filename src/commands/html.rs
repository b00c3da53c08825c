//! `x11prof report --format html`: all results for one recording on one page.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use x11prof_analyzer::{
    Comparison, EpisodeOptions, Episodes, EpisodesReport, Marks, Observation, ProfileReport,
    RoundTripOptions, RoundTrips, Statistics, StatisticsReport, TraceSummary,
};
use x11prof_stacks::program;
use x11prof_views::episodes::Timeline;
use x11prof_views::html::{Code, Page, Sweep};
use x11prof_views::profile;

use crate::args::{Compare, Report, ReportFormat, TableArguments, TableFormat};
use crate::error::{CommandError, Outcome};
use crate::output::{Emit, emit};
use crate::pass::{self, Pass};

/// The maximum number of episodes whose messages are on the page.
const WITH_MESSAGES: usize = 20;
/// The maximum size of the messages of one episode on the page, in bytes.
const MESSAGE_BYTES: usize = 1 << 15;

/// The element by which x11prof recognizes its own page, and the length of the page's beginning that contains it.
const GENERATOR: &str = r#"<meta name="generator" content="x11prof">"#;
const HEAD: u64 = 1 << 10;

/// Fails if options conflict, before the recording is read.
pub(crate) fn check(arguments: &Report) -> Result<(), CommandError> {
    let is_html = arguments.format == ReportFormat::Html;
    if !is_html && arguments.params.len() > 1 {
        return Err(CommandError::usage(
            "several --params need --format html; `x11prof compare` compares servers as text",
        ));
    }
    if !is_html && arguments.open {
        return Err(CommandError::usage("--open needs --format html"));
    }
    if is_html && arguments.client.is_some() {
        return Err(CommandError::usage(
            "--client is not possible with --format html: the page shows all clients",
        ));
    }
    match (is_html, arguments.open, &arguments.output) {
        (true, false, output) => refuse_terminal(output.as_deref(), " or --open"),
        (true, true, None) => refuse_other_file(&beside(&arguments.trace)),
        _ => Ok(()),
    }
}

/// Fails if the path, which the user has not named, has a file that is no page of x11prof.
fn refuse_other_file(path: &Path) -> Result<(), CommandError> {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    let mut head = Vec::new();
    let file = found
        .is_file()
        .then(|| std::fs::File::open(path).ok())
        .flatten();
    // A file that cannot be read is no page.
    let _ = file.map(|file| file.take(HEAD).read_to_end(&mut head));
    match String::from_utf8_lossy(&head).contains(GENERATOR) {
        true => Ok(()),
        false => Err(CommandError::file(
            path,
            "it exists and is no page of x11prof; name a file with -o",
        )),
    }
}

/// Fails if an HTML page would be written to a terminal. `or` names another way to show the page.
pub(crate) fn refuse_terminal(to: Option<&Path>, or: &str) -> Result<(), CommandError> {
    match to.is_none() && std::io::stdout().is_terminal() {
        true => Err(CommandError::usage(format_args!(
            "--format html needs a file (-o FILE){or}"
        ))),
        false => Ok(()),
    }
}

/// Converts several `--params` options of `report` to the arguments of `compare`.
pub(crate) fn compared(arguments: &Report) -> Compare {
    Compare {
        trace: arguments.trace.clone(),
        params: arguments.params.clone(),
        no_rescale: arguments.no_rescale,
        substitutions: arguments.substitutions.clone(),
        net: vec![arguments.net],
        net_model: arguments.net_model,
        top: None,
        all: true,
        span: arguments.span.clone(),
        scale: arguments.scale.clone(),
        result: TableArguments {
            format: TableFormat::Json,
            output: None,
        },
    }
}

/// The results on the HTML page in addition to the profile.
pub(crate) struct PageParts {
    statistics: Statistics,
    episodes: Episodes,
    pub(crate) roundtrips: RoundTrips,
    marks: Marks,
}

impl PageParts {
    pub(crate) fn new() -> PageParts {
        PageParts {
            statistics: Statistics::new(Vec::new()),
            episodes: Episodes::new(&EpisodeOptions::default()),
            marks: Marks::default(),
            roundtrips: RoundTrips::new(&RoundTripOptions::default()),
        }
    }

    /// Processes the next observation of a trace pass over the whole recording.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        self.statistics.observe(observation);
        self.episodes.observe(observation);
        self.roundtrips.episodes(self.episodes.finished());
        self.roundtrips.observe(observation);
        self.marks.observe(observation);
    }

    /// Reads the page's additional results in a separate trace pass, if the profile covers only a part of the
    /// recording.
    pub(crate) fn read(arguments: &Report) -> Result<(PageParts, TraceSummary), CommandError> {
        let mut beside = PageParts::new();
        let mut summary = TraceSummary::default();
        let pass = Pass::open(&arguments.trace)?.take_together();
        pass.run(|observation| {
            summary.observe(observation);
            beside.observe(observation);
        })?;
        Ok((beside, summary))
    }
}

/// Reads the recording again for the messages of the longest episodes, and writes the HTML page of `report`. `beside`
/// has the page's other results, and the summary of the trace.
pub(crate) fn write(
    arguments: &Report,
    report: &ProfileReport,
    compare: Option<&Comparison>,
    (sweep, code): (Sweep, Option<Code>),
    (beside, summary): (PageParts, &TraceSummary),
) -> Outcome {
    let path = &arguments.trace;
    let name = path.to_string_lossy();
    let PageParts {
        statistics,
        episodes,
        roundtrips,
        marks,
    } = beside;
    let roundtrips = roundtrips.finish(&name);
    let stats = StatisticsReport {
        duration_ms: summary.duration().as_secs_f64() * 1e3,
        ..StatisticsReport::new(&name, &statistics, true)
    };
    let mut episodes = EpisodesReport::new(&name, summary, &episodes.finish());
    let timeline = Timeline::of_longest(&episodes, WITH_MESSAGES, MESSAGE_BYTES);
    pass::add_messages(path, timeline, &mut episodes)?;
    if let Some(stalls) = &report.stalls {
        marks.name_in(&mut episodes, summary, stalls);
    }
    let mut verdict = profile::verdict_lines(report);
    verdict.extend(x11prof_views::episodes::verdict_lines(&episodes));
    let command = match report.trace.command.first() {
        // In a replay, the recorded command is x11prof's internal player.
        Some(program) if program.rsplit('/').next() == Some("x11prof") => String::new(),
        _ => report.trace.command.join(" "),
    };
    let nonce = format!("{:016x}", RandomState::new().hash_one(command.as_str()));
    let page = Page {
        nonce: &nonce,
        title: match command.as_str() {
            "" => &name,
            command => command,
        },
        made: env!("CARGO_PKG_VERSION"),
        verdict,
        doubts: profile::doubt_lines(report),
        report,
        compare,
        stats: &stats,
        episodes: &episodes,
        roundtrips: &roundtrips,
        sweep,
        code,
        with_messages: WITH_MESSAGES,
    };
    let to = to(arguments);
    // The page contains keys and titles, so only the owner may read the file.
    let outcome = emit(to.as_deref(), |out| page.write(out).map_err(Emit::from))?;
    match (arguments.open, to) {
        (true, Some(to)) => open(&to),
        _ => Ok(outcome),
    }
}

/// Returns the path of the HTML page: the file of `-o`, or with `--open` a file next to the recording. `None` for
/// standard output.
fn to(arguments: &Report) -> Option<PathBuf> {
    let beside = || beside(&arguments.trace);
    arguments
        .output
        .clone()
        .or_else(|| arguments.open.then(beside))
}

fn beside(trace: &Path) -> PathBuf {
    trace.with_extension("html")
}

fn open(page: &Path) -> Outcome {
    let opened = program("xdg-open").arg(page).status();
    match opened {
        Ok(status) if status.success() => Ok(std::process::ExitCode::SUCCESS),
        Ok(_) | Err(_) => Err(CommandError::file(
            page,
            "the page is written, but xdg-open found no browser to show it. Open the file yourself",
        )),
    }
}
