//! `x11prof top`: what each client costs the server now, or did at a time of a recording.

use std::path::Path;

use x11prof_analyzer::{ClientsNow, FRAME_MS, NowOptions, NowReport, Wanted};
use x11prof_cost_model::Substitutions;
use x11prof_views::clients_now::{self as views, Order};

use crate::args::Top;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::output::{emit_json, emit_text, page};
use crate::pass::{Pass, Span, Step};

/// Shows what the clients do.
pub(crate) fn run(arguments: &Top) -> Outcome {
    let Some(path) = &arguments.trace else {
        return Err(CommandError::usage("name a TRACE"));
    };
    let report = at(arguments, path)?;
    print(arguments, &report, &path.to_string_lossy())
}

/// Prints a report once.
fn print(arguments: &Top, report: &NowReport, of: &str) -> Outcome {
    if arguments.json {
        return emit_json(None, report);
    }
    let page = page(None, arguments.all, None);
    let by = arguments.by.by();
    emit_text(None, &views::text(report, of, by, Order::Time, &page))
}

/// How `arguments` want it counted.
fn options(arguments: &Top) -> NowOptions {
    NowOptions {
        seconds: arguments.seconds,
        frame_ms: arguments.frame_budget.unwrap_or(FRAME_MS),
        // Whatever server the prices are of, they divide what was measured.
        wanted: Wanted::Measured,
    }
}

/// What went on in the recording at `path`: at its end, or at the time that was asked for.
fn at(arguments: &Top, path: &Path) -> Result<NowReport, CommandError> {
    let prices = match &arguments.params {
        Some(name) => input::named_prices(name, path, false)?,
        None => input::matching_prices(path, false)?,
    };
    let parameters = &prices.parameters;
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
    let mut pass = Pass::open(path, None)?;
    pass.follow_changes(clients.knows_updates());
    pass.run_span(span, |step| match step {
        Step::Begins => clients.begin(),
        Step::Before(observation) | Step::Within(observation) => clients.observe(observation),
    })?;
    clients.end();
    let report = clients.report(None);
    match arguments.at {
        Some(at) if report.at_s + arguments.seconds < at => Err(CommandError::usage(format_args!(
            "--at {at}: {} ends {:.1} s after its start",
            path.display(),
            report.at_s
        ))),
        _ => Ok(report),
    }
}
