//! `x11prof measure`: calibrates a display server and writes its parameter file.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use x11prof_cost_model::{ServerParameters, review_method};
use x11prof_proxy::PrivateServer;
use x11prof_session::Operation;
use x11prof_xmeasure::{MeasureError, Pin, Plan, Progress, Target, measure};

use super::needed;
use crate::args::Measure;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::output::emit_text;

/// Measures, and writes the file.
pub(crate) fn run(arguments: &Measure) -> Outcome {
    let known = known(arguments)?;
    let wanted = match &arguments.trace {
        Some(trace) => needed::operations(trace, known.as_ref())?,
        None => Vec::new(),
    };
    if arguments.trace.is_some() && wanted.is_empty() {
        eprintln!("x11prof: the file has all that the trace needs");
        return Ok(ExitCode::SUCCESS);
    }
    // Kept until the end: it stops the server when it goes.
    let mut private = arguments
        .server
        .map(PrivateServer::start_unseen)
        .transpose()
        .map_err(CommandError::failed)?;
    let target = target(arguments, private.as_ref())?;
    let plan = plan(arguments, known.as_ref(), wanted);
    if let (Some(server), Some(aside)) = (&private, plan.pin.and_then(|pin| pin.other)) {
        server.put_aside(aside).map_err(CommandError::failed)?;
    }
    let stop = stopped_by_interrupt()?;
    let bar = bar();
    // What a server does for its viewer is measured by itself: nobody looks at it until then.
    let mut shown = || match &mut private {
        Some(server) => {
            server.show()?;
            let aside = plan.pin.and_then(|pin| pin.other);
            aside.map_or(Ok(()), |aside| server.put_aside(aside))
        }
        None => Ok(()),
    };
    let measured = measure(&target, &plan, &mut shown, &mut |progress| {
        show(&bar, &progress);
        !stop.load(Ordering::Relaxed)
    });
    bar.finish_and_clear();
    let to = arguments.output.as_deref();
    let with_known = |newer: ServerParameters| match known.clone() {
        Some(mut known) => {
            known.merge(newer);
            known
        }
        None => newer,
    };
    match measured {
        Ok(parameters) if stop.load(Ordering::Relaxed) => {
            write(to, &with_known(parameters))?;
            Err(CommandError::failed(
                "interrupted; what was measured is kept, and --resume goes on from there",
            ))
        }
        Ok(parameters) => {
            for remark in review_method(&parameters.method) {
                eprintln!("x11prof: warning: {remark}");
            }
            write(to, &with_known(parameters))
        }
        Err(error @ MeasureError::ServerGone { .. }) => {
            // What was measured is kept; the failure stays one.
            let message = error.to_string();
            if let MeasureError::ServerGone { partial } = error
                && !partial.requests.is_empty()
            {
                write(to, &with_known(*partial))?;
            }
            Err(CommandError::failed(message))
        }
        Err(error) => Err(CommandError::failed(error)),
    }
}

/// What the file to write holds already, where it is to be added to.
fn known(arguments: &Measure) -> Result<Option<ServerParameters>, CommandError> {
    let adds = arguments.resume || arguments.trace.is_some();
    match &arguments.output {
        Some(path) if adds && path.exists() => {
            Ok(Some(input::parameters(&path.to_string_lossy())?))
        }
        None if arguments.resume => Err(CommandError::usage(
            "--resume adds to the file of -o: name it with -o FILE",
        )),
        _ => Ok(None),
    }
}

fn plan(arguments: &Measure, known: Option<&ServerParameters>, wanted: Vec<Operation>) -> Plan {
    Plan {
        quick: arguments.quick,
        only: arguments.only.clone(),
        wanted,
        known: match known {
            Some(known) if arguments.resume => known.requests.clone(),
            _ => Vec::new(),
        },
        time_limit: arguments.time_limit.map(Duration::from_secs),
        pace: arguments.pace,
        pin: Pin::usual().filter(|_| !arguments.no_pin),
        // Nobody else uses a private server.
        intrusive: arguments.intrusive || arguments.server.is_some(),
    }
}

fn target(arguments: &Measure, private: Option<&PrivateServer>) -> Result<Target, CommandError> {
    let target = match (private, &arguments.display) {
        (Some(server), _) => {
            Target::display(server.display().to_string()).with_cookie(server.cookie().as_bytes())
        }
        (None, Some(display)) => Target::display(display),
        (None, None) => Target::display(std::env::var("DISPLAY").map_err(|_| {
            CommandError::failed(
                "DISPLAY is not set: name a display with --display, or start a server of its own \
                 with --server xvfb",
            )
        })?),
    };
    Ok(match name(arguments) {
        Some(name) => target.named(name),
        None => target,
    })
}

/// The name in the file: the private server's kind, or the output file's stem.
fn name(arguments: &Measure) -> Option<String> {
    let stem = arguments.output.as_deref().and_then(Path::file_stem);
    stem.map(|stem| stem.to_string_lossy().into_owned())
        .or_else(|| arguments.server.map(|kind| kind.name().to_owned()))
}

fn write(to: Option<&Path>, parameters: &ServerParameters) -> Outcome {
    emit_text(to, &parameters.to_toml())?;
    if let Some(path) = to {
        let entries = parameters.requests.len();
        eprintln!("x11prof: {entries} entries in {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// True from the first Ctrl-C on. A second one ends the program as usual.
fn stopped_by_interrupt() -> Result<Arc<AtomicBool>, CommandError> {
    let failed = |error| CommandError::failed(format_args!("cannot wait for Ctrl-C: {error}"));
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                flag.store(true, Ordering::Relaxed);
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::abort();
            }
        });
    });
    Ok(stop)
}

/// A bar on standard error, where that is a terminal.
fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} % {prefix} {msg}") {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar, progress: &Progress<'_>) {
    let Progress {
        done,
        total,
        left,
        name,
    } = progress;
    bar.set_length(*total as u64);
    bar.set_position(*done as u64);
    bar.set_prefix(match left {
        Some(left) => format!("{} s left", left.as_secs()),
        None if *total == 0 => "choosing sizes".to_owned(),
        None => String::new(),
    });
    bar.set_message((*name).to_owned());
}
