//! `x11prof calibrate`: calibrates a display server and writes its parameter file.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::flag;
use x11prof_cost_model::review_method;
use x11prof_proxy::{DisplayName, PrivateServer, ServerLink, note_handled_signals};
use x11prof_xmeasure::{Plan, Progress, Target, measure, pin_this_thread, usual_processor};

use super::calibration::Destination;
use crate::args::Measure;
use crate::error::{CommandError, Outcome};
use crate::handler_times;
use crate::machine::private;
use crate::output::try_out;

/// The number of steps of the progress bar.
const FINE: u64 = 1000;

/// Calibrates the server, and writes the file.
pub(crate) fn run(arguments: &Measure) -> Outcome {
    // Fail now if the file cannot be written, and not after minutes of measuring.
    try_out(arguments.output.as_deref(), None)?;
    // An interruption must end the calibration cleanly.
    let stop = stopped_by_signal()?;
    let plan = plan(arguments, &stop);
    if let (true, Some(cpu)) = (arguments.server.is_some(), plan.pin) {
        // The servers and the viewer that a private server needs inherit the processor. On another one, they would take
        // pixels out of the server's cache, at times that depend on the machine's load.
        pin_this_thread(cpu).map_err(CommandError::failed)?;
    }
    // Kept until the end, because dropping it stops the server.
    let mut server = arguments
        .server
        .map(PrivateServer::start_timed)
        .transpose()
        .map_err(CommandError::failed)?;
    let target = target(arguments, server.as_ref())?;
    let file = Destination::find(arguments, &target)?;
    let handlers = match &mut server {
        Some(server) => handler_times::of_private(server),
        None => handler_times::of_running(&target),
    };
    if server.is_none() && handlers.is_none() {
        let takes = if plan.quick { "15 s" } else { "2 to 3 minutes" };
        say!("the server does not time its requests, so loops of requests are timed ({takes})");
    }
    let bar = bar();
    let measured = measure(&target, &plan, handlers, &mut |progress| {
        show(&bar, &progress)
    });
    bar.finish_and_clear();
    match measured {
        _ if stop.load(Ordering::Relaxed) => Err(CommandError::interrupted(
            "the calibration was interrupted; no file was written",
        )),
        Ok(parameters) => {
            for remark in review_method(&parameters.method) {
                say!("warning: {remark}");
            }
            file.write(&parameters)
        }
        Err(error) => Err(CommandError::failed(error)),
    }
}

fn plan(arguments: &Measure, stop: &Arc<AtomicBool>) -> Plan {
    Plan {
        quick: arguments.quick,
        only: arguments.only.clone(),
        pin: usual_processor(),
        // A private server has no other users.
        intrusive: arguments.intrusive || arguments.server.is_some(),
        stop: Arc::clone(stop),
        ..Plan::default()
    }
}

fn target(arguments: &Measure, server: Option<&PrivateServer>) -> Result<Target, CommandError> {
    let target = match server {
        Some(server) => private(server),
        None => {
            let display = arguments.display.clone();
            let display = display.or_else(|| std::env::var("DISPLAY").ok());
            let display = display.ok_or_else(|| {
                CommandError::failed(
                    "DISPLAY is not set; name a display with --display, or start a private server with \
                     --server xvfb",
                )
            })?;
            let name = DisplayName::parse(&display).map_err(CommandError::failed)?;
            Target::new(ServerLink::new(name, None))
        }
    };
    let target = target.map_err(CommandError::failed)?;
    Ok(match name(arguments) {
        Some(name) => target.named(name),
        None => target,
    })
}

/// Returns the name of the server in the parameter file: the stem of the output file's name, or else the private
/// server's kind. `None` if there is neither.
fn name(arguments: &Measure) -> Option<String> {
    let stem = arguments.output.as_deref().and_then(Path::file_stem);
    stem.map(|stem| stem.to_string_lossy().into_owned())
        .or_else(|| arguments.server.map(|kind| kind.name().to_owned()))
}

/// Returns a flag that the first signal to end, such as Ctrl-C, sets. A second one ends the program.
fn stopped_by_signal() -> Result<Arc<AtomicBool>, CommandError> {
    let failed = |error| CommandError::failed(format_args!("cannot wait for Ctrl-C: {error}"));
    let stop = Arc::new(AtomicBool::new(false));
    for signal in note_handled_signals() {
        // Handlers run in this order, so the first signal finds the flag unset.
        flag::register_conditional_default(signal, Arc::clone(&stop)).map_err(failed)?;
        flag::register(signal, Arc::clone(&stop)).map_err(failed)?;
    }
    Ok(stop)
}

/// Creates a progress bar on standard error. The bar is hidden if standard error is not a terminal.
fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(FINE);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} % {prefix} {msg}") {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar, progress: &Progress<'_>) {
    let left = progress.left.as_secs() + 1;
    bar.set_position((progress.share * FINE as f64) as u64);
    bar.set_prefix(format!("at most {}:{:02} left,", left / 60, left % 60));
    bar.set_message(format!("{} {}", progress.phase, progress.request));
}
