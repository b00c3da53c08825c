//! `x11prof params table`: the costs of typical requests on several servers, in columns.

use std::path::Path;

use x11prof_cost_model::TypicalCosts;
use x11prof_session::Operation;
use x11prof_views::cost_tables as views;

use super::operation::{operation, warn_of_ignored};
use crate::args::TableArguments;
use crate::commands::emit_table::emit_table;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::names;
use crate::output::{page, refuse_input};

/// Prints the costs of the requests `wanted`, or else of the Xprof paper's requests, from the cost tables `params`.
pub(crate) fn run(params: &[String], wanted: &[String], result: &TableArguments) -> Outcome {
    let to = result.output.as_deref();
    refuse_input(to, params.iter().map(Path::new))?;
    let wanted: Vec<Operation> = wanted
        .iter()
        .map(|request| operation(request, 0.0, 1))
        .collect::<Result<_, _>>()?;
    for one in &wanted {
        if let Some(meant) = names::misspelt(one.request.as_str()) {
            return Err(CommandError::usage(format_args!(
                "there is no request {:?}; did you mean {meant:?}?",
                one.request.as_str()
            )));
        }
    }
    let servers: Vec<_> = params
        .iter()
        .map(|name| input::parameters(name))
        .collect::<Result<_, _>>()?;
    for one in &wanted {
        warn_of_ignored(one, &servers);
    }
    let table = TypicalCosts::new(&servers, &wanted);
    for one in &wanted {
        let name = one.request.as_str();
        if !table.requests.iter().any(|row| row.request == name) {
            return Err(CommandError::failed(format_args!(
                "{}: no cost data for {name} in these tables",
                params.join(", ")
            )));
        }
    }
    let text = || views::text(&table, &page(to, true, None));
    emit_table(to, result.format, &table, text, || views::csv(&table))
}
