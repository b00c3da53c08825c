//! `x11prof params`: lists, checks, compares and converts cost tables, and prints single costs.

use std::path::Path;

use x11prof_cost_model::{
    Caveat, CostSource, CostTable, Difference, OperationCost, ServerParameters, Substitutions,
    best_match, differences, review,
};
use x11prof_session::Operation;
use x11prof_views::{plain, plain_lines};
use x11prof_xmeasure::this_machine;

use super::cost_table;
use super::operation::{operation, warn_of_ignored};
use crate::args::Params;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::machine;
use crate::output::{emit_shared_text, emit_text, refuse_input};
use crate::text_file::text;

/// Runs the subcommand.
pub(crate) fn run(arguments: &Params) -> Outcome {
    match arguments {
        Params::List => list(),
        Params::Show { params } => {
            // The file is only printed if it is valid.
            input::parameters(params)?;
            emit_text(None, &plain_lines(&input::parameter_text(params)?))
        }
        Params::Check { params } => check(params),
        Params::Diff { first, second, top } => diff(first, second, *top),
        Params::Table {
            params,
            request,
            result,
        } => cost_table::run(params, request, result),
        Params::Import { file, output } => import(file, output.as_deref()),
        Params::Export { params, output } => {
            refuse_input(output.as_deref(), [Path::new(params)])?;
            let description = input::parameters(params)?.to_description();
            emit_shared_text(output.as_deref(), &plain_lines(&description))
        }
        Params::Cost {
            params,
            request,
            op_size,
            items,
        } => {
            let parameters = input::parameters(params)?;
            let operation = operation(request, *op_size, *items)?;
            warn_of_ignored(&operation, [&parameters]);
            cost(&parameters, &operation, Path::new(params))
        }
    }
}

/// Prints a line for each file, and marks the file that reports on this machine use.
fn list() -> Outcome {
    let here = this_machine();
    let files = machine::tables();
    let row = |[name, server, machine, date, method, used]: [&str; 6]| {
        format!("{name:<16} {server:<24} {machine:<22} {date:<10} {method:<16} {used}\n")
    };
    let heading = [
        "name",
        "server",
        "machine",
        "date",
        "calibrated by",
        "used here",
    ];
    let mut text = row(heading);
    for (name, file) in &files {
        let known = files.iter().map(|(_, file)| file);
        let best = best_match(known, &file.server, &here);
        let is_best = best.is_some_and(|best| best.same_server && best.parameters == file);
        let used = match file.host.is_same_machine(&here) {
            Some(true) if is_best => "yes",
            Some(false) if is_best => "rescaled",
            _ => "no",
        };
        let server = &file.server;
        let program = server.executable.as_deref().unwrap_or(&server.name);
        let program = program.rsplit('/').next().unwrap_or(program);
        let depth = server.depth.map(|depth| format!(", depth {depth}"));
        let server = format!("{program}{}", depth.unwrap_or_default());
        let machine = file.host.cpu_model.as_deref().unwrap_or("unknown");
        let date = file.method.date.as_deref().unwrap_or("-");
        text.push_str(&row([
            name,
            &server,
            machine,
            date,
            file.method.way(),
            used,
        ]));
    }
    emit_text(None, &text)
}

/// Checks that the cost table `params` is readable, and prints its limitations.
fn check(params: &str) -> Outcome {
    let parameters = input::parameters(params)?;
    let points: usize = parameters
        .requests
        .iter()
        .map(|request| request.points.len())
        .sum();
    let entries = parameters.requests.len();
    let mut text = format!("{params}: in order, {entries} entries, {points} points\n");
    for remark in review(&parameters) {
        text.push_str(&format!("  {remark}\n"));
    }
    emit_text(None, &text)
}

fn diff(first: &str, second: &str, top: usize) -> Outcome {
    let (one, other) = (input::parameters(first)?, input::parameters(second)?);
    let all = differences(&one, &other);
    if all.is_empty() {
        return Err(CommandError::failed(format_args!(
            "{first} and {second} have no common request with the same attributes and size"
        )));
    }
    let name = |name: &str| plain(name).chars().take(14).collect::<String>();
    let mut text = format!(
        "{:>8} {:>14} {:>14}  request\n",
        "2nd/1st",
        name(&one.server.name),
        name(&other.server.name)
    );
    let different = all.iter().filter(|one| one.first != one.second);
    for difference in different.take(top) {
        let (ratio, one, other) = (
            difference.ratio(),
            difference.first.as_ms(),
            difference.second.as_ms(),
        );
        let what = format!("{} {}", difference.request, difference.attributes);
        let what = plain(&what);
        text.push_str(&format!(
            "{ratio:>8.3} {:>11} ms {:>11} ms  {} {}\n",
            milliseconds(one),
            milliseconds(other),
            what.trim_end(),
            difference.size
        ));
    }
    let mut ratios: Vec<f64> = all.iter().map(Difference::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
    let beyond = all.iter().filter(|one| one.is_beyond_spread).count();
    text.push_str(&format!(
        "{median:>8.3} in the median of {} points; {beyond} differ by more than their spreads, and are listed first\n",
        all.len()
    ));
    emit_text(None, &text)
}

fn import(file: &Path, output: Option<&Path>) -> Outcome {
    refuse_input(output, [file])?;
    let text = text(file, "description")?;
    let name = output.or(Some(file)).and_then(Path::file_stem);
    let name = name.map_or_else(|| "imported".into(), |name| name.to_string_lossy());
    let parameters = ServerParameters::from_description(&text, &name)
        .map_err(|error| CommandError::file(file, error))?;
    emit_shared_text(output, &plain_lines(&parameters.to_toml()))
}

fn cost(parameters: &ServerParameters, operation: &Operation, from: &Path) -> Outcome {
    let cost = CostTable::new(parameters, &Substitutions::default()).cost(operation);
    if cost.basis == CostSource::NoCost {
        return Err(CommandError::file(
            from,
            format_args!(
                "has no cost for {}",
                format!("{} {}", operation.request, operation.attributes).trim_end()
            ),
        ));
    }
    for doubt in &cost.doubts {
        say!("warning: {}", warning(operation, doubt));
    }
    emit_text(None, &format!("{}\n", shown(&cost)))
}

/// Formats a cost such as `0.0522 ms (exact, wall clock)`, with its bounds if they differ from the cost.
fn shown(cost: &OperationCost) -> String {
    let basis = match cost.basis {
        CostSource::Exact => "exact",
        CostSource::Interpolated => "interpolated",
        CostSource::Substituted => "substituted",
        CostSource::NoCost => "no_cost",
    };
    let clock = match cost.clock {
        Some(x11prof_cost_model::Clock::Cpu) => ", CPU clock",
        Some(x11prof_cost_model::Clock::Wall) => ", wall clock",
        None => "",
    };
    let ms = |time: x11prof_cost_model::Micros| milliseconds(time.as_ms());
    let cost = cost.server;
    let bounds = if cost.low == cost.time && cost.high == cost.time {
        String::new()
    } else {
        format!(", {} to {} ms", ms(cost.low), ms(cost.high))
    };
    format!("{} ms ({basis}{clock}{bounds})", ms(cost.time))
}

/// Formats milliseconds with four decimals, as in the Xprof paper, or with more decimals for smaller costs.
fn milliseconds(ms: f64) -> String {
    if ms == 0.0 || ms >= 0.01 {
        format!("{ms:.4}")
    } else {
        format!("{ms:.8}")
    }
}

fn warning(operation: &Operation, doubt: &Caveat) -> String {
    let request = operation.request;
    match doubt {
        Caveat::Substituted {
            attribute,
            from: Some(from),
            to,
        } => {
            format!("{request}: {attribute}={from} was not measured; {attribute}={to} stands in")
        }
        Caveat::Substituted {
            attribute,
            from: None,
            to,
        } => {
            format!("{request}: no {attribute} was given; {attribute}={to} stands in")
        }
        Caveat::Extrapolated { beyond: true } => {
            format!("{request}: the op-size is larger than any measured one")
        }
        Caveat::Extrapolated { beyond: false } => {
            format!("{request}: the op-size is smaller than any measured one")
        }
        Caveat::OneItem => format!("{request}: estimated as one item of the whole op-size"),
        Caveat::NoCost => format!("{request}: no cost is known"),
    }
}
