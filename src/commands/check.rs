//! `x11prof check`: compares a recording with a budget.

use std::path::Path;
use std::process::ExitCode;

use x11prof_analyzer::{
    Budget, BudgetCounts, BudgetVerdict, Forecasts, Profile, ProfileReport, ResourceReport,
    Resources, RoundTripOptions, RoundTrips, TraceSummary,
};
use x11prof_cost_model::{Micros, Network, Substitutions};
use x11prof_views::budget as views;

use crate::args::Check;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::names;
use crate::output::{emit_shared_text, emit_text, page, refuse_input};
use crate::pass::Pass;
use crate::text_file::text;

/// The round-trip time for budget limits on network time if the budget names none, in milliseconds.
const RTT_MS: f64 = 50.0;

/// Compares the trace with the budget. The exit status is 1 if the trace exceeds the budget, and 2 after an error, as
/// in `diff(1)`.
pub(crate) fn run(arguments: &Check) -> Outcome {
    held_against(arguments).map_err(CommandError::into_trouble)
}

fn held_against(arguments: &Check) -> Outcome {
    let path = &arguments.trace;
    let read = [path.as_path(), arguments.budget.as_path()];
    refuse_input(arguments.junit.as_deref(), read)?;
    let budget = budget(&arguments.budget)?;
    let pass = Pass::open(path)?.tell_missing();
    let costs = match budget.total.server_ms {
        Some(_) => Some(input::matching_costs(path, false)?),
        None => None,
    };
    let mut profile = costs.map(|costs| {
        let rules = Substitutions::default();
        Profile::new(&costs.parameters, &rules)
    });
    let mut counts = BudgetCounts::new(budget.client.as_deref());
    let mut summary = TraceSummary::default();
    let mut resources = Resources::default();
    let mut round_trips = RoundTrips::new(&RoundTripOptions {
        client: budget.client.clone(),
        ..RoundTripOptions::default()
    })
    .without_forecast();
    let limits_network = budget.total.network_ms.or(budget.start_up.network_ms);
    let mut forecasts = limits_network.map(|_| Forecasts::default());
    pass.run(|observation| {
        summary.observe(observation);
        counts.observe(observation);
        resources.observe(observation);
        round_trips.observe(observation);
        if let Some(forecasts) = &mut forecasts {
            forecasts.observe(observation);
        }
        if let Some(profile) = &mut profile {
            profile.observe(observation);
        }
    })?;
    let name = path.to_string_lossy();
    if !counts.has_clients() {
        let whose = budget.client.as_deref();
        let whose = whose.map_or(String::new(), |client| format!(" of the name {client:?}"));
        return Err(CommandError::file(
            path,
            format_args!("there is no client{whose} to compare with the budget"),
        ));
    }
    let server_ms = profile.map(|mut profile| {
        profile.end();
        let report = ProfileReport::new(&name, &summary, &profile, &Network::NONE);
        report.total.server_ms
    });
    let network = Network {
        rtt: Micros::from_ms(budget.rtt_ms.unwrap_or(RTT_MS)),
        ..Network::NONE
    };
    let forecast = forecasts.map(|forecasts| forecasts.over(&network));
    let verdict = BudgetVerdict::new(
        &budget,
        &counts,
        &round_trips.finish(&name),
        &ResourceReport::new(&resources, &summary),
        (server_ms, forecast.as_ref()),
    );
    if let Some(to) = &arguments.junit {
        emit_shared_text(Some(to), &views::junit(&verdict, &name))?;
    }
    emit_text(None, &views::text(&verdict, &page(None, true, None)))?;
    Ok(match verdict.is_kept() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Reads the budget file. A limit for an unknown request is an error.
pub(super) fn budget(path: &Path) -> Result<Budget, CommandError> {
    let text = text(path, "budget")?;
    let wrong = |error| CommandError::usage(format_args!("{}: {error}", path.display()));
    let budget = Budget::parse(&text).map_err(wrong)?;
    for name in budget.names() {
        if let Some(meant) = names::misspelt(name) {
            return Err(wrong(Budget::unknown_name(&text, name, &meant)));
        }
    }
    Ok(budget)
}
