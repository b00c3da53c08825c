//! `x11prof diverge`: the first difference between one program's sessions on two servers.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use x11prof_analyzer::{
    ContextRow, DifferenceKinds, DisplayStreams, Divergence, DivergenceReport, MessageDetails,
    Observation,
};
use x11prof_proxy::{DEFAULT_QUEUE_BYTES, RecordConfig, Target, received_signal, record};
use x11prof_views::divergence as views;

use super::html;
use super::private_servers::private_servers;
use super::record::{RECORDER, why};
use crate::args::{Diverge, DivergeFormat};
use crate::error::{CommandError, Outcome, shown};
use crate::output::{emit_json, emit_text, page, refuse_input};
use crate::pass::Pass;

/// The recordings on the two servers, and their names in the result.
struct Sides {
    reference: PathBuf,
    again: Vec<PathBuf>,
    other: PathBuf,
    other_again: Vec<PathBuf>,
    names: [String; 2],
}

/// Compares two recordings, or records the program on two servers first.
pub(crate) fn run(arguments: &Diverge) -> Outcome {
    diverge(arguments).map_err(CommandError::into_trouble)
}

fn diverge(arguments: &Diverge) -> Outcome {
    let is_html = arguments.format == DivergeFormat::Html;
    if is_html {
        html::refuse_terminal(arguments.output.as_deref(), "")?;
    }
    let (sides, runs) = match (&arguments.reference, &arguments.other) {
        (Some(reference), Some(other)) => {
            let sides = Sides {
                reference: reference.clone(),
                again: arguments.again.clone(),
                other: other.clone(),
                other_again: arguments.other_again.clone(),
                names: names([reference, other]),
            };
            (sides, None)
        }
        _ => {
            let runs = Runs::new(arguments)?;
            (runs.record()?, Some(runs))
        }
    };
    let to = arguments.output.as_deref();
    let read = [&sides.reference, &sides.other].into_iter();
    let read = read.chain(&sides.again).chain(&sides.other_again);
    refuse_input(to, read.map(PathBuf::as_path))?;
    let mut compared = Compared::new(&sides)?;
    let mut report = compared.report();
    if let Some(runs) = runs.filter(|_| !report.clients.is_empty()) {
        compared.add_other_again(&runs.record_other_again()?)?;
        report = compared.report();
    }
    let is_one_sided = !report.only_reference.is_empty() || !report.only_other.is_empty();
    let differs = is_one_sided || !report.clients.is_empty();
    let names = [sides.names[0].as_str(), sides.names[1].as_str()];
    let page = page(to, arguments.all, None);
    let written = match arguments.format {
        DivergeFormat::Text => emit_text(to, &views::text(&report, names, &page)),
        DivergeFormat::Json => emit_json(to, &report),
        DivergeFormat::Html => {
            let context = compared.context(&report)?;
            emit_text(to, &views::html(&report, &context, names, &page))
        }
    }?;
    Ok(if differs { ExitCode::FAILURE } else { written })
}

/// The differences between the two servers' recordings, and those between recordings of one server.
struct Compared<'a> {
    paths: [&'a Path; 2],
    streams: [DisplayStreams; 2],
    divergence: Divergence,
    details: [MessageDetails; 2],
    again: Vec<DifferenceKinds>,
    other_again: Vec<DifferenceKinds>,
}

impl Compared<'_> {
    fn new(sides: &Sides) -> Result<Compared<'_>, CommandError> {
        let paths = [sides.reference.as_path(), &sides.other];
        let streams = [streams(paths[0])?, streams(paths[1])?];
        if streams.iter().all(DisplayStreams::is_empty) {
            let [first, second] = &sides.names;
            return Err(CommandError::failed(format_args!(
                "no client connected to {first} or {second}: nothing is compared"
            )));
        }
        let again = sides.again.iter();
        let again = again.map(|path| kinds([paths[0], path], &streams[0]));
        let divergence = Divergence::new(&streams[0], &streams[1]);
        let mut compared = Compared {
            again: again.collect::<Result<_, _>>()?,
            details: details(divergence.details(), paths)?,
            divergence,
            other_again: Vec::new(),
            paths,
            streams,
        };
        for path in &sides.other_again {
            compared.add_other_again(path)?;
        }
        Ok(compared)
    }

    /// Reads another recording on the other server: the differences that it does not have are left out.
    fn add_other_again(&mut self, path: &Path) -> Result<(), CommandError> {
        let paths = [self.paths[0], path];
        self.other_again.push(kinds(paths, &self.streams[0])?);
        Ok(())
    }

    fn report(&self) -> DivergenceReport {
        let (details, reference) = (&self.details, &self.streams[0]);
        let (again, other_again) = (&self.again, &self.other_again);
        self.divergence
            .report(reference, details, again, other_again)
    }

    /// Returns the messages around each client's first difference.
    fn context(&self, report: &DivergenceReport) -> Result<Vec<Vec<ContextRow>>, CommandError> {
        let [reference, other] = &self.streams;
        let context = self.divergence.context(report, [reference, other]);
        let found = details(context.details(), self.paths)?;
        Ok(context.rows(&found))
    }
}

/// Returns the kinds of differences of the second recording from the reference, which has the given streams.
fn kinds(paths: [&Path; 2], reference: &DisplayStreams) -> Result<DifferenceKinds, CommandError> {
    let divergence = Divergence::new(reference, &streams(paths[1])?);
    let details = details(divergence.details(), paths)?;
    Ok(divergence.kinds(&details))
}

/// Compares the messages that the clients of a recording and of its replay received.
pub(super) fn answers(recording: &Path, replay: &Path) -> Result<DivergenceReport, CommandError> {
    let reference = streams(recording)?;
    let divergence = Divergence::of_replay(&reference, &streams(replay)?);
    let details = details(divergence.details(), [recording, replay])?;
    Ok(divergence.report(&reference, &details, &[], &[]))
}

fn streams(path: &Path) -> Result<DisplayStreams, CommandError> {
    let mut streams = DisplayStreams::default();
    let pass = Pass::open(path)?.tell_missing();
    read(pass, |observation| streams.observe(observation))?;
    Ok(streams)
}

fn details(
    [mut reference, mut other]: [MessageDetails; 2],
    paths: [&Path; 2],
) -> Result<[MessageDetails; 2], CommandError> {
    for (details, path) in [(&mut reference, paths[0]), (&mut other, paths[1])] {
        if !details.is_complete() {
            read(Pass::open(path)?, |observation| {
                details.observe(observation)
            })?;
        }
    }
    Ok([reference, other])
}

/// Calls `on` for each observation of a pass, until a signal comes after a recording of this process.
fn read(pass: Pass, mut on: impl FnMut(&Observation<'_>)) -> Result<(), CommandError> {
    pass.run_until(|observation| {
        on(observation);
        match received_signal() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    })?;
    CommandError::check_signals()
}

/// Returns the names of two files, without folders and extensions if the shortened names still differ.
fn names(paths: [&Path; 2]) -> [String; 2] {
    let stems = paths.map(|path| {
        let stem = path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    });
    match stems[0] == stems[1] {
        true => paths.map(shown),
        false => stems,
    }
}

/// The runs of a program on two servers, each with its name.
struct Runs<'a> {
    servers: [(String, Target); 2],
    arguments: &'a Diverge,
}

impl Runs<'_> {
    fn new(arguments: &Diverge) -> Result<Runs<'_>, CommandError> {
        let servers = private_servers(&arguments.server, &arguments.server_command);
        let servers = servers.try_into().map_err(|_| {
            CommandError::usage(
                "diverge compares two servers: name two with --server or --server-command",
            )
        })?;
        if arguments.command.is_empty() {
            return Err(CommandError::usage(
                "a program is missing, as in: x11prof diverge --server xvfb --server xvnc -- xterm",
            ));
        }
        Ok(Runs { servers, arguments })
    }

    /// The names of the servers' recordings, which differ also for two servers of one kind.
    fn names(&self) -> [String; 2] {
        let [reference, other] = [0, 1].map(|side| self.servers[side].0.clone());
        let second = if other == reference { "-2" } else { "" };
        [reference, format!("{other}{second}")]
    }

    /// Records the program three times on the first server (the reference) and once on the second server.
    fn record(&self) -> Result<Sides, CommandError> {
        let [reference, other] = self.names();
        let again = [2, 3].map(|number| format!("{reference}-again-{number}"));
        let again = again.iter().map(|name| self.run(name, 0));
        Ok(Sides {
            reference: self.run(&reference, 0)?,
            again: again.collect::<Result<_, _>>()?,
            other: self.run(&other, 1)?,
            other_again: Vec::new(),
            names: match self.servers[0].0 == self.servers[1].0 {
                true => [1, 2].map(|number| format!("{reference} ({number})")),
                false => [reference, other],
            },
        })
    }

    /// Records the program a second time on the second server.
    fn record_other_again(&self) -> Result<PathBuf, CommandError> {
        let [_, other] = self.names();
        self.run(&format!("{other}-again-2"), 1)
    }

    /// Records the program on one of the servers, and returns the recording's file.
    fn run(&self, name: &str, side: usize) -> Result<PathBuf, CommandError> {
        let path = PathBuf::from(format!("diverge-{name}.mcap"));
        let config = RecordConfig {
            output: Some(path.clone()),
            target: self.servers[side].1.clone(),
            command: self.arguments.command.clone(),
            prints_result: true,
            time: self.arguments.seconds.map(Duration::from_secs),
            queue_bytes: DEFAULT_QUEUE_BYTES,
            recorder: RECORDER.to_owned(),
            ..RecordConfig::default()
        };
        let recorded = record(&config, |_| {}).map_err(why)?;
        CommandError::check_signals()?;
        if recorded.left_alone {
            let program = self.arguments.command[0].to_string_lossy();
            return Err(CommandError::failed(format_args!(
                "{program} sent nothing to {name}: start it by hand there to see why"
            )));
        }
        Ok(path)
    }
}
