//! `x11prof top`: shows the load of each client on the server, live or at a time of a recording.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use x11prof_analyzer::{ClientsNow, FRAME_MS, NowOptions, NowReport, TimeSourceOption};
use x11prof_cost_model::Substitutions;
use x11prof_proxy::{
    AttachOptions, DEFAULT_QUEUE_BYTES, Notice, RecordConfig, Recorded, Target, Watch, record,
    watch,
};
use x11prof_views::clients_now::{self as views, Order};

use super::record::{RECORDER, tell, why};
use crate::args::Top;
use crate::callers::NamedCallers;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::live::{self, Live, ViewOptions};
use crate::output::{emit_json, emit_text, page};
use crate::pass::{Pass, Span, Step};

/// The maximum number of bytes that wait in each queue of the recorder for `top`.
const QUEUE: usize = DEFAULT_QUEUE_BYTES / 4;

/// Shows the load of each client on the server.
pub(crate) fn run(arguments: &Top) -> Outcome {
    let on_screen = arguments.at.is_none()
        && !arguments.json
        && io::stdout().is_terminal()
        && io::stderr().is_terminal();
    match &arguments.trace {
        Some(path) if on_screen => {
            let options = view_options(arguments, path.to_string_lossy().into_owned());
            Live::of_trace(options, path)?.wait();
            CommandError::check_signals().map(|()| ExitCode::SUCCESS)
        }
        Some(path) => {
            let report = at(arguments, path)?;
            print(arguments, &report, &path.to_string_lossy())
        }
        None if on_screen => watch_display(arguments),
        None => look_at_display(arguments),
    }
}

/// Returns the configuration for attaching to the display. `watch` receives the records. `time` is the length of the
/// recording; `None` is unlimited.
fn attaching(arguments: &Top, watch: Watch, time: Option<Duration>) -> RecordConfig {
    RecordConfig {
        target: match &arguments.display {
            Some(display) => Target::Display(display.clone()),
            None => Target::Environment,
        },
        time,
        queue_bytes: QUEUE,
        recorder: RECORDER.to_owned(),
        watch: Some(watch),
        attach: Some(AttachOptions::default()),
        ..RecordConfig::default()
    }
}

/// Returns the display's name for the first line of the screen.
fn display(arguments: &Top) -> String {
    let from_environment = || std::env::var("DISPLAY").ok();
    let name = arguments.display.clone().or_else(from_environment);
    format!("display {}", name.unwrap_or_default())
}

/// Shows the load on a running display until the user quits.
fn watch_display(arguments: &Top) -> Outcome {
    let (live, watch) = Live::start(view_options(arguments, display(arguments)))?;
    let mut config = attaching(arguments, watch, None);
    let attached = record(&config, |notice| {
        if let Notice::Trouble(_) | Notice::Silent(_) = notice {
            tell(Some(&live), &notice, false);
        }
    });
    // Dropping the watch ends the view.
    config.watch = None;
    live.finish();
    whole(&attached.map_err(why)?)
}

/// Fails if records of the watched time are missing, or if the recording ended before the user stopped it.
fn whole(attached: &Recorded) -> Outcome {
    match attached.trouble.first() {
        Some(trouble) => Err(CommandError::failed(trouble)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Watches a display for the requested time, and prints the result as JSON or as text.
fn look_at_display(arguments: &Top) -> Outcome {
    let (watch, watched) = watch();
    let parameters = arguments.params.clone();
    let options = options(arguments);
    let counting = std::thread::Builder::new()
        .name("x11prof-top".to_owned())
        .spawn(move || live::all_of(watched, parameters, &options))
        .map_err(|error| CommandError::failed(format_args!("a thread: {error}")))?;
    let time = Duration::from_secs_f64(arguments.seconds);
    let mut config = attaching(arguments, watch, Some(time));
    let attached = record(&config, |notice| match notice {
        Notice::Trouble(_) | Notice::Silent(_) => tell(None, &notice, false),
        _ => {}
    });
    config.watch = None;
    let report = counting
        .join()
        .map_err(|_| CommandError::failed("the counting thread ended early"))?;
    let attached = attached.map_err(why)?;
    let report = report?.ok_or_else(|| CommandError::failed("the display sent nothing"))?;
    print(arguments, &report, &display(arguments))?;
    whole(&attached)
}

/// Returns the options of the terminal view. `what` is the name of the display or trace.
fn view_options(arguments: &Top, what: String) -> ViewOptions {
    ViewOptions {
        what,
        parameters: arguments.params.clone(),
        now: options(arguments),
        by: arguments.by.by(),
        collects: false,
    }
}

/// Prints a report once, as JSON or as text. `of` is the name of the display or trace.
fn print(arguments: &Top, report: &NowReport, of: &str) -> Outcome {
    if arguments.json {
        return emit_json(None, report);
    }
    let page = page(None, arguments.all, None);
    let by = arguments.by.by();
    emit_text(None, &views::text(report, of, by, Order::Time, &page))
}

/// Returns the analysis options for `arguments`.
fn options(arguments: &Top) -> NowOptions {
    NowOptions {
        seconds: arguments.seconds,
        frame_ms: FRAME_MS,
        // The costs only attribute measured time, so the server to which they belong does not matter.
        basis: TimeSourceOption::Timed,
    }
}

/// Returns the activity in the recording at `path`, at its end or at the time that `--at` requests.
fn at(arguments: &Top, path: &Path) -> Result<NowReport, CommandError> {
    let costs = match &arguments.params {
        Some(name) => input::named_costs(name, path, false)?,
        None => input::matching_costs(path, false)?,
    };
    let parameters = &costs.parameters;
    let mut clients = ClientsNow::new(parameters, &Substitutions::default(), &options(arguments));
    let span = Span {
        from: arguments
            .at
            .map(|at| at - arguments.seconds)
            .filter(|from| *from > 0.0),
        to: arguments.at,
    };
    if span.from.is_none() {
        clients.begin();
    }
    let mut callers = NamedCallers::default();
    let pass = Pass::open(path)?.tell_missing().read_on();
    let (_, last) = pass.run_span(span, |step| match step {
        Step::Begins => clients.begin(),
        Step::Before(observation) | Step::Within(observation) => {
            clients.observe(observation);
            callers.observe(observation, |_| true);
        }
        Step::Ends => clients.end(),
        Step::After(observation) => clients.after(observation),
    })?;
    clients.until(last);
    clients.end();
    let mut report = clients.report(None);
    let end = last.as_nanos();
    let window = (end.saturating_sub((report.seconds * 1e9) as u64), end);
    callers.name_polls(&mut report, window);
    match arguments.at {
        Some(at) if report.at_s + arguments.seconds < at => Err(CommandError::usage(format_args!(
            "--at {at}: {} ends {:.1} s after its start",
            path.display(),
            report.at_s
        ))),
        _ => Ok(report),
    }
}
