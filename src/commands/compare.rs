//! `x11prof compare`: one recording estimated for several servers and networks, in one pass.

use std::path::Path;

use x11prof_analyzer::{
    Comparison, Forecasts, NetworkModel, Profile, ProfileReport, Scales, TraceSummary,
};
use x11prof_cost_model::{Network, Rescaled, keep_common};
use x11prof_views::comparison as views;

use crate::args::Compare;
use crate::commands::emit_table::emit_table;
use crate::error::{CommandError, Outcome};
use crate::input::{self, CostsForRecording};
use crate::names;
use crate::output::{page, refuse_input};
use crate::pass::{Pass, Step};

/// Estimates the trace's cost for every server and network, and prints the results side by side.
pub(crate) fn run(arguments: &Compare) -> Outcome {
    let comparison = comparison(arguments)?;
    let to = arguments.result.output.as_deref();
    let text = || views::text(&comparison, &page(to, arguments.all, arguments.top));
    emit_table(to, arguments.result.format, &comparison, text, || {
        views::csv(&comparison)
    })
}

/// Estimates the trace for every server and network, and returns the comparison.
pub(crate) fn comparison(arguments: &Compare) -> Result<Comparison, CommandError> {
    let path = &arguments.trace;
    let read = [Some(path.as_path()), arguments.substitutions.as_deref()];
    let params = arguments.params.iter().map(Path::new);
    refuse_input(
        arguments.result.output.as_deref(),
        read.into_iter().flatten().chain(params),
    )?;
    let pass = Pass::open(path)?.take_together();
    let substitutions = input::substitutions(arguments.substitutions.as_deref())?;
    let (span, start_up) = arguments.span.find_start_up(path, None)?;
    let named = |name: &String| input::named_costs(name, path, arguments.no_rescale);
    let tables: Result<Vec<CostsForRecording>, CommandError> =
        arguments.params.iter().map(named).collect();
    let mut tables = tables?;
    let carries = tables
        .iter()
        .any(|costs| costs.parameters.transport.is_some());
    // The recorded server's measured times are extrapolated to servers whose costs are CPU times.
    let mut here = match carries {
        true => input::recorded_costs(path, arguments.no_rescale)?,
        false => None,
    };
    let mut all: Vec<&mut CostsForRecording> = tables.iter_mut().chain(here.as_mut()).collect();
    keep_common(
        &mut all
            .iter_mut()
            .map(|costs| &mut costs.parameters)
            .collect::<Vec<_>>(),
    );
    if !arguments.no_rescale {
        rescale(here.as_ref(), &mut tables);
    }
    let mut profiles = Vec::with_capacity(arguments.params.len());
    let mut elsewhere = Vec::with_capacity(arguments.params.len());
    for costs in &tables {
        let profile = Profile::new(&costs.parameters, &substitutions);
        elsewhere.push(costs.doubts(false));
        profiles.push(profile.scaled(Scales::new(arguments.scale.iter().cloned())));
    }
    let here = here.map(|costs| Profile::new(&costs.parameters, &substitutions));
    let carries = here.is_some();
    profiles.extend(here);
    let forecast = arguments.net_model == NetworkModel::Simulated
        && arguments.net.iter().any(|net| *net != Network::NONE);
    let mut forecasts = forecast.then(Forecasts::default);
    let mut summary = TraceSummary::default();
    let part = pass.read_on().run_span(span, |step| match step {
        Step::Begins => {
            summary.start_afresh();
            profiles.iter_mut().for_each(Profile::start_afresh);
        }
        Step::Before(observation) | Step::Within(observation) => {
            summary.observe(observation);
            forecasts.iter_mut().for_each(|of| of.observe(observation));
            for profile in &mut profiles {
                profile.observe(observation);
            }
        }
        Step::Ends => profiles.iter_mut().for_each(Profile::end),
        Step::After(observation) => {
            forecasts.iter_mut().for_each(|of| of.observe(observation));
            let profiles = profiles.iter_mut();
            profiles.for_each(|profile| profile.after(observation));
        }
    })?;
    if !span.is_all() {
        summary.limit(part);
    }
    profiles.iter_mut().for_each(Profile::end);
    let here = carries.then(|| profiles.pop()).flatten();
    if let Some(here) = &here {
        profiles.iter_mut().for_each(|profile| profile.carry(here));
    }
    let name = path.to_string_lossy();
    if let Some(forecasts) = &mut forecasts {
        forecasts.keep(span.to.map(|seconds| seconds * 1e3), |client| {
            start_up
                .as_ref()
                .is_none_or(|one| one.connection == client.0)
        });
    }
    let causes_over = |network| match &forecasts {
        Some(forecasts) => forecasts.causes_over(network, span.from),
        None => Vec::new(),
    };
    let networks: Vec<_> = arguments
        .net
        .iter()
        .map(|net| (net, causes_over(net)))
        .collect();
    let reports: Vec<ProfileReport> = profiles
        .iter()
        .zip(&elsewhere)
        .flat_map(|(profile, elsewhere)| {
            let on = |(network, causes): &(&Network, Vec<_>)| {
                let report = match arguments.net_model {
                    NetworkModel::Paper => ProfileReport::new(&name, &summary, profile, network),
                    NetworkModel::Simulated => {
                        ProfileReport::new(&name, &summary, profile, &Network::NONE)
                            .over(network, causes)
                    }
                };
                let mut report = report.of_part(span.from, span.to);
                report.warnings.extend(elsewhere.clone());
                report
            };
            networks.iter().map(on)
        })
        .collect();
    let mut comparison = Comparison::new(&reports);
    if let Some(here) = &here {
        let here = ProfileReport::new(&name, &summary, here, &Network::NONE);
        comparison = comparison.with_recorded(&here.of_part(span.from, span.to));
    }
    names::unmatched(
        comparison
            .scaled
            .iter()
            .filter(|factor| factor.requests == 0)
            .map(|factor| factor.pattern.as_str()),
    )?;
    Ok(comparison)
}

/// The largest ratio of the costs of requests that X.Org's servers handle with the same code, if two calibrations were
/// made under the same conditions.
const SAME_CODE: f64 = 1.2;

/// Rescales the cost tables `tables` to the conditions of the recorded server's table `recorded`, or else of the first
/// table. Two calibrations of one machine may have been made at different CPU speeds.
fn rescale(recorded: Option<&CostsForRecording>, tables: &mut [CostsForRecording]) {
    let Some(reference) = recorded.or(tables.first()) else {
        return;
    };
    let reference = reference.parameters.clone();
    for table in tables {
        let Some(by) = Rescaled::between_servers(&table.parameters, &reference) else {
            continue;
        };
        if by.times.ln().abs() > SAME_CODE.ln() {
            say!(
                "the machine had different speeds when {name} and {} were calibrated: the costs of {name} are \
                 multiplied {by}, the ratio of requests that both servers handle by the same code",
                reference.server.name,
                name = table.parameters.server.name
            );
            let host = table.parameters.host.clone();
            table.parameters = std::mem::take(&mut table.parameters).brought(by, host);
        }
    }
}
