//! Exports sums of server time by client and by window or function.

use x11prof_analyzer::{By, Profile, RUNS, Running, Stack, TimeSource, TraceSummary};
use x11prof_cost_model::{Micros, Substitutions};
use x11prof_views::export::collapsed::collapsed;
use x11prof_views::export::pprof::pprof;

use crate::args::{Export, ExportFormat};
use crate::callers::FunctionNames;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::output::emit;
use crate::pass::Pass;

/// Sums the server time of the recording and writes the sums.
pub(super) fn export(arguments: &Export) -> Outcome {
    let path = &arguments.trace;
    let pass = Pass::open(path)?.tell_missing();
    let costs = input::matching_costs(path, false)?;
    let rules = Substitutions::default();
    let by = arguments.by.by();
    let mut functions = FunctionNames::default();
    let mut profile = Profile::new(&costs.parameters, &rules).stacked(by);
    let mut running = Running::default();
    let mut summary = TraceSummary::default();
    pass.run(|observation| {
        summary.observe(observation);
        functions.observe(observation);
        running.observe(observation);
        profile.observe(observation);
    })?;
    profile.end();
    let basis = profile.basis();
    let measured = basis.is_measured();
    let basis = match basis {
        TimeSource::Timed => "timed in the server",
        TimeSource::Attributed => "attributed by the cost table",
        TimeSource::Extrapolated | TimeSource::Modelled => "modelled from the cost table",
    };
    let mut runs = Vec::new();
    if by == By::Stack {
        functions.needed(path, &running, None)?;
        let names = functions.whole();
        runs = running.stacks(&names, &summary);
        profile.name_stacks(names);
    }
    let of_requests = by != By::Stack || functions.are_of_requests();
    let is_pprof = arguments.to == ExportFormat::Pprof;
    let mut stacks = Vec::new();
    if of_requests {
        say!("server time: {basis}");
        if let Some(why) = costs.elsewhere.filter(|_| !measured) {
            say!("warning: {why}");
        }
        stacks = profile.stacks(&summary);
    } else {
        say!("times come from samples of the running clients");
    }
    stacks.extend(runs.into_iter().map(|run| Stack {
        client: run.client,
        place: run.place,
        request: RUNS.to_owned(),
        ran: Micros(1000.0 * run.ran_ms),
        // Collapsed stacks have only one value per stack: the clients' CPU time if there are no stacks of requests.
        server: Micros(if of_requests || is_pprof {
            0.0
        } else {
            1000.0 * run.ran_ms
        }),
        ..Stack::default()
    }));
    let shows = |stack: &Stack| stack.server.0.round() >= 1.0;
    if !is_pprof && !stacks.iter().any(shows) {
        return Err(CommandError::file(
            path,
            "the server used less than a microsecond; --to pprof exports counts and bytes",
        ));
    }
    emit(Some(&arguments.output), |out| {
        match arguments.to {
            ExportFormat::Pprof => pprof(&stacks, &summary, out)?,
            _ => collapsed(&stacks, out)?,
        }
        Ok(())
    })
}
