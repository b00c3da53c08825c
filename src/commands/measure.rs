//! `x11prof measure`: calibrates a display server and writes its parameter file.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use x11prof_cost_model::ServerParameters;
use x11prof_proxy::PrivateServer;
use x11prof_xmeasure::{MeasureError, Plan, Progress, Target, measure};

use crate::args::Measure;
use crate::error::{CommandError, Outcome};
use crate::output::emit_text;

/// Measures, and writes the file.
pub(crate) fn run(arguments: &Measure) -> Outcome {
    // Kept until the end: it stops the server when it goes.
    let private = arguments
        .server
        .map(PrivateServer::start)
        .transpose()
        .map_err(CommandError::failed)?;
    let target = match (&private, &arguments.display) {
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
    let target = match name(arguments) {
        Some(name) => target.named(name),
        None => target,
    };
    let plan = Plan {
        quick: arguments.quick,
        only: arguments.only.clone(),
        pin: None,
    };
    let shows = std::io::stderr().is_terminal();
    let measured = measure(&target, &plan, &mut |progress| {
        if shows {
            show(&progress);
        }
    });
    if shows {
        eprint!("\r\x1b[K");
    }
    let to = arguments.output.as_deref();
    match measured {
        Ok(parameters) => write(to, &parameters),
        Err(error @ MeasureError::ServerGone { .. }) => {
            // What was measured is kept; the failure stays one.
            let message = error.to_string();
            if let MeasureError::ServerGone { partial } = error
                && !partial.requests.is_empty()
            {
                write(to, &partial)?;
            }
            Err(CommandError::failed(message))
        }
        Err(error) => Err(CommandError::failed(error)),
    }
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

/// One line that is written over and over.
fn show(progress: &Progress<'_>) {
    let Progress { done, total, name } = progress;
    let percent = done * 100 / (*total).max(1);
    eprint!("\r\x1b[K{percent:3} % {name}");
    // A progress line that cannot be shown is no reason to stop.
    let _ = std::io::stderr().flush();
}
