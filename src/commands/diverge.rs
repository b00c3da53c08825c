//! `x11prof diverge`: the first difference between one program's sessions on two servers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use x11prof_analyzer::{ContextRow, DisplayStreams, Divergence, DivergenceReport, MessageDetails};
use x11prof_proxy::{DEFAULT_QUEUE_BYTES, RecordConfig, Target, record};
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
    let sides = match (&arguments.reference, &arguments.other) {
        (Some(reference), Some(other)) => Sides {
            reference: reference.clone(),
            again: arguments.again.clone(),
            other: other.clone(),
            names: names([reference, other]),
        },
        _ => recorded(arguments)?,
    };
    let to = arguments.output.as_deref();
    let read = [&sides.reference, &sides.other]
        .into_iter()
        .chain(&sides.again);
    refuse_input(to, read.map(PathBuf::as_path))?;
    let (report, context) = report(&sides, is_html)?;
    let is_one_sided = !report.only_reference.is_empty() || !report.only_other.is_empty();
    let differs = is_one_sided || !report.clients.is_empty();
    let names = [sides.names[0].as_str(), sides.names[1].as_str()];
    let page = page(to, arguments.all, None);
    let written = match arguments.format {
        DivergeFormat::Text => emit_text(to, &views::text(&report, names, &page)),
        DivergeFormat::Json => emit_json(to, &report),
        DivergeFormat::Html => emit_text(to, &views::html(&report, &context, names, &page)),
    }?;
    Ok(if differs { ExitCode::FAILURE } else { written })
}

/// Returns the differences between the two servers' recordings, except differences that also occur between two
/// recordings on the reference server. With `is_context`, also returns the messages around each client's first
/// difference.
fn report(
    sides: &Sides,
    is_context: bool,
) -> Result<(DivergenceReport, Vec<Vec<ContextRow>>), CommandError> {
    let reference = streams(&sides.reference)?;
    let again = sides.again.iter().map(|path| {
        let divergence = Divergence::new(&reference, &streams(path)?);
        let details = details(divergence.details(), [&sides.reference, path])?;
        Ok((divergence, details))
    });
    let again: Vec<_> = again.collect::<Result<_, CommandError>>()?;
    let other = streams(&sides.other)?;
    if reference.is_empty() && other.is_empty() {
        let [first, second] = &sides.names;
        return Err(CommandError::failed(format_args!(
            "no client connected to {first} or {second}: nothing is compared"
        )));
    }
    let divergence = Divergence::new(&reference, &other);
    let paths = [sides.reference.as_path(), &sides.other];
    let found = details(divergence.details(), paths)?;
    let report = divergence.report(&reference, &found, &again);
    if !is_context {
        return Ok((report, Vec::new()));
    }
    let context = divergence.context(&report, [&reference, &other]);
    let found = details(context.details(), paths)?;
    Ok((report, context.rows(&found)))
}

/// Compares the messages that the clients of a recording and of its replay received.
pub(super) fn answers(recording: &Path, replay: &Path) -> Result<DivergenceReport, CommandError> {
    let reference = streams(recording)?;
    let divergence = Divergence::of_replay(&reference, &streams(replay)?);
    let details = details(divergence.details(), [recording, replay])?;
    Ok(divergence.report(&reference, &details, &[]))
}

fn streams(path: &Path) -> Result<DisplayStreams, CommandError> {
    let mut streams = DisplayStreams::default();
    let pass = Pass::open(path, None)?.tell_missing();
    pass.run(|observation| streams.observe(observation))?;
    Ok(streams)
}

fn details(
    [mut reference, mut other]: [MessageDetails; 2],
    paths: [&Path; 2],
) -> Result<[MessageDetails; 2], CommandError> {
    for (details, path) in [(&mut reference, paths[0]), (&mut other, paths[1])] {
        if !details.is_complete() {
            Pass::open(path, None)?.run(|observation| details.observe(observation))?;
        }
    }
    Ok([reference, other])
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

/// Records the program three times on the first server (the reference) and once on the second server.
fn recorded(arguments: &Diverge) -> Result<Sides, CommandError> {
    let servers = private_servers(&arguments.server, &arguments.server_command);
    let [(reference, first), (other, second)] = servers.as_slice() else {
        return Err(CommandError::usage(
            "diverge compares two servers: name two with --server or --server-command",
        ));
    };
    if arguments.command.is_empty() {
        return Err(CommandError::usage(
            "a program is missing, as in: x11prof diverge --server xvfb --server xvnc -- xterm",
        ));
    }
    let run = |name: &str, target: &Target| -> Result<PathBuf, CommandError> {
        let path = PathBuf::from(format!("diverge-{name}.mcap"));
        let config = RecordConfig {
            output: Some(path.clone()),
            target: target.clone(),
            command: arguments.command.clone(),
            prints_result: true,
            time: arguments.seconds.map(Duration::from_secs),
            queue_bytes: DEFAULT_QUEUE_BYTES,
            recorder: RECORDER.to_owned(),
            ..RecordConfig::default()
        };
        let recorded = record(&config, |_| {}).map_err(why)?;
        CommandError::check_signals()?;
        if recorded.left_alone {
            let program = arguments.command[0].to_string_lossy();
            return Err(CommandError::failed(format_args!(
                "{program} sent nothing to {name}: start it by hand there to see why"
            )));
        }
        Ok(path)
    };
    let again = [2, 3].map(|number| format!("{reference}-again-{number}"));
    let again = again.iter().map(|name| run(name, first));
    Ok(Sides {
        reference: run(reference, first)?,
        again: again.collect::<Result<_, _>>()?,
        other: run(
            &format!("{other}{}", if other == reference { "-2" } else { "" }),
            second,
        )?,
        names: match other == reference {
            true => [format!("{reference} (1)"), format!("{other} (2)")],
            false => [reference.clone(), other.clone()],
        },
    })
}
