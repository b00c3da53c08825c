//! `x11prof report`: the execution profile of a recording.

use std::path::Path;

use x11prof_analyzer::{
    Blocked, By, Callers, ClientChoice, EpisodeOptions, Episodes, EpisodesReport, FRAME_MS,
    Forecasts, GrabReport, NetworkModel, Profile, ProfileReport, ResourceReport, Resources,
    Running, Scales, Stalls, StallsReport, TimeSource, TraceSummary, WarningKind,
};
use x11prof_cost_model::{Network, keep_common};
use x11prof_trace::ConnectionId;
use x11prof_views::episodes::slowest_action;
use x11prof_views::html::{Code, Sweep};
use x11prof_views::profile as views;

use crate::args::{Report, ReportFormat, TimeSourceChoice};
use crate::callers::FunctionNames;
use crate::commands::{compare, html};
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::names;
use crate::output::{emit_all, emit_json, emit_text, page, refuse_input};
use crate::pass::{Pass, Step};

/// Analyses the trace and prints its profile.
pub(crate) fn run(arguments: &Report) -> Outcome {
    let is_html = arguments.format == ReportFormat::Html;
    html::check(arguments)?;
    let path = &arguments.trace;
    let params = arguments.params.iter().map(Path::new);
    let read = [Some(path.as_path()), arguments.substitutions.as_deref()];
    refuse_input(
        arguments.output.as_deref(),
        read.into_iter().flatten().chain(params),
    )?;
    let pass = Pass::open(path)?.take_together();
    input::tell_replay(path)?;
    let client = arguments.client.as_deref();
    let (span, start_up) = arguments.span.find_start_up(path, client)?;
    let as_measured = arguments.no_rescale;
    let substitutions = input::substitutions(arguments.substitutions.as_deref())?;
    let mut costs = match arguments.params.first() {
        Some(name) => input::named_costs(name, path, as_measured)?,
        None => input::matching_costs(path, as_measured)?,
    };
    let choice = || ClientChoice::new(arguments.client.as_deref());
    // Measured times of the recorded server are extrapolated to the named server.
    let carries = arguments.time_source == TimeSourceChoice::Auto
        && !arguments.params.is_empty()
        && costs.parameters.transport.is_some();
    let mut here = match carries {
        true => input::recorded_costs(path, as_measured)?,
        false => None,
    };
    if let Some(here) = &mut here {
        keep_common(&mut [&mut costs.parameters, &mut here.parameters]);
    }
    let mut profile = Profile::new(&costs.parameters, &substitutions)
        .scaled(Scales::new(arguments.scale.iter().cloned()))
        .on(arguments.time_source.wanted())
        .of_clients(choice());
    // The factors of --scale do not apply to call stacks.
    let of_code = is_html && arguments.scale.is_empty() && input::has_request_stacks(path)?;
    profile = match arguments.by.by() {
        _ if of_code => profile.stacked(By::Stack),
        Some(by) => profile.grouped(by),
        None => profile,
    };
    let by_code = arguments.by.by().filter(|by| by.is_of_code());
    let mut callers = (is_html || by_code.is_some()).then(Callers::default);
    let mut here =
        here.map(|costs| Profile::new(&costs.parameters, &substitutions).of_clients(choice()));
    let mut summary = TraceSummary::default();
    let mut functions = FunctionNames::default();
    let wanted =
        arguments.resources || arguments.all || is_html || arguments.format == ReportFormat::Json;
    let (mut running, mut blocked) = (Running::default(), Blocked::default());
    let mut page_parts = (is_html && span.is_all()).then(html::PageParts::new);
    let mut held = wanted.then(Resources::default);
    let given = arguments.net != Network::NONE;
    // If a relay such as sshd forwards the display, the server is unknown, and only the times on the network can be estimated.
    let only_network = costs.is_unknown();
    // The HTML page's round trips contain the same forecasts. A second copy would take much memory.
    let is_forecast = span.is_all() || start_up.is_some();
    let has_forecasts = page_parts.is_none() && (is_forecast || given || only_network);
    let mut forecasts = has_forecasts.then(Forecasts::default);
    // The HTML page has a section on actions.
    let options = EpisodeOptions {
        client: arguments.client.clone(),
        ..EpisodeOptions::default()
    };
    let mut episodes = (span.is_all() && !given && !is_html).then(|| Episodes::new(&options));
    let mut stalls = Stalls::new(&costs.parameters, &substitutions, FRAME_MS);
    let part = pass.read_on().run_span(span, |step| {
        let observation = match step {
            Step::Begins => {
                summary.start_afresh();
                profile.start_afresh();
                running.start_afresh();
                blocked.start_afresh();
                callers
                    .iter_mut()
                    .for_each(|callers| *callers = Callers::default());
                here.iter_mut().for_each(Profile::start_afresh);
                held.iter_mut().for_each(Resources::start_afresh);
                stalls.start_afresh();
                return;
            }
            Step::Ends => {
                profile.end();
                here.iter_mut().for_each(Profile::end);
                return;
            }
            Step::After(observation) => {
                forecasts.iter_mut().for_each(|of| of.observe(observation));
                profile.after(observation);
                // The stack of a wait arrives after the reply.
                callers
                    .iter_mut()
                    .for_each(|of| of.observe(observation, |_| false));
                here.iter_mut().for_each(|here| here.after(observation));
                return;
            }
            Step::Before(observation) | Step::Within(observation) => observation,
        };
        summary.observe(observation);
        functions.observe(observation);
        running.observe(observation);
        blocked.observe(observation);
        forecasts.iter_mut().for_each(|of| of.observe(observation));
        episodes.iter_mut().for_each(|of| of.observe(observation));
        profile.observe(observation);
        here.iter_mut().for_each(|of| of.observe(observation));
        held.iter_mut().for_each(|of| of.observe(observation));
        if let Some(callers) = &mut callers {
            callers.observe(observation, |seen| profile.choice().holds(seen.connection));
        }
        stalls.observe_with_cost(observation, profile.last_cost());
        page_parts.iter_mut().for_each(|of| of.observe(observation));
    })?;
    if !span.is_all() {
        summary.limit(part);
    }
    profile.end();
    if let Some(here) = &mut here {
        here.end();
        profile.carry(here);
    }
    if let Some(missing) = profile.choice().unmatched() {
        return Err(names::no_such(path, &missing));
    }
    running.limit_to(profile.choice());
    if arguments.time_source == TimeSourceChoice::Timed && profile.basis() != TimeSource::Timed {
        let why = summary.not_timed().unwrap_or("record with --server");
        return Err(CommandError::file(
            path,
            format_args!(
                "the server did not time requests: {why}; or use --time-source attributed"
            ),
        ));
    }
    if arguments.time_source == TimeSourceChoice::Attributed && !profile.basis().is_measured() {
        return Err(CommandError::file(
            path,
            "the trace has no CPU time of the server (it ran on another host, or the kernel denied \
             access); use --time-source modelled",
        ));
    }
    if by_code.is_some() {
        functions.needed(path, &running, Some(&blocked))?;
    }
    let groups = arguments.by.by().filter(|_| !of_code);
    let groups = groups.map(|by| (&mut profile, by));
    functions.name_stacks(groups, held.as_mut());
    let off_cpu = by_code.filter(|_| !blocked.is_empty());
    let off_cpu = off_cpu.map(|by| blocked.locations(profile.choice(), &functions.by(by)));
    // Call sites are functions.
    let by_site = by_code.filter(|by| *by != By::Library);
    let waits = callers.as_ref().filter(|_| by_site.is_some());
    let waits = waits.and_then(|callers| functions.waits(callers));
    let ran = by_code
        .filter(|_| !running.is_empty())
        .and_then(|by| running.report(&functions.of_running(by), by.name()));
    let code = is_html.then(|| {
        let names = functions.whole();
        let waits = callers.map(|callers| callers.stacks(&names, &summary));
        let runs = running.stacks(&names, &summary);
        let off_cpu = blocked.stacks(&names, &summary);
        let resources = held.as_ref();
        let held = resources.map(|held| held.held_by_stack(&names, &summary));
        profile.name_stacks(names);
        let made = match of_code {
            true => profile.stacks(&summary),
            false => Vec::new(),
        };
        Code::new(
            &made,
            &waits.unwrap_or_default(),
            &runs,
            &held.unwrap_or_default(),
            &off_cpu,
        )
    });
    let name = path.to_string_lossy();
    let mut own = forecasts.unwrap_or_default();
    let of_page = page_parts.as_mut();
    let of_page = of_page.and_then(|parts| parts.roundtrips.forecasts());
    let forecasts = of_page.unwrap_or(&mut own);
    let starting = start_up.as_ref().map(|one| ConnectionId(one.connection));
    forecasts.keep(span.to.map(|seconds| seconds * 1e3), |client| {
        starting.map_or_else(|| profile.choice().holds(client), |one| one == client)
    });
    let network = match only_network && !given {
        true => forecasts.recorded_network(),
        false => arguments.net,
    };
    let mut report = match arguments.net_model {
        NetworkModel::Paper => ProfileReport::new(&name, &summary, &profile, &network),
        NetworkModel::Simulated => {
            let mut causes = forecasts.causes_over(&network, span.from);
            // The critical path of a client can contain requests of other clients.
            causes.retain(|cause| profile.choice().holds(ConnectionId(cause.connection)));
            ProfileReport::new(&name, &summary, &profile, &Network::NONE).over(&network, &causes)
        }
    }
    .of_part(span.from, span.to);
    report.start_up.extend(start_up);
    if span.is_all() {
        report.start_up = summary.start_ups().to_vec();
    }
    if is_forecast {
        let network = match network == Network::NONE {
            true => Network::USUAL,
            false => network,
        };
        report.forecast = Some(forecasts.over(&network));
    }
    let warnings = &mut report.warnings;
    warnings.retain(|one| !only_network || one.kind != WarningKind::NoCost);
    // If the server time was measured, costs only attribute it, and fewer caveats apply.
    report
        .warnings
        .extend(costs.doubts(profile.basis().is_measured()));
    report.stalls = Some(StallsReport::new(&stalls, &summary));
    if let Some(episodes) = episodes {
        let episodes = EpisodesReport::new(&name, &summary, &episodes.finish());
        report.slowest_action = slowest_action(&episodes);
    }
    report.running = ran;
    report.off_cpu = off_cpu.unwrap_or_default();
    report.callers = waits;
    // Without stacks of requests, all requests would be in one group.
    if by_code.is_some() && !functions.are_of_requests() {
        report.groups = None;
    }
    if let Some(resources) = &held {
        report.resources = Some(ResourceReport::new(resources, &summary));
        report.grabs = Some(GrabReport::new(stalls.grabs(), &summary));
    }
    report.limit_to(profile.choice(), &summary);
    let unmatched = report.scaled.iter().filter(|factor| factor.requests == 0);
    names::unmatched(unmatched.map(|factor| factor.pattern.as_str()))?;
    let to = arguments.output.as_deref();
    let text = || views::text(&report, &page(to, arguments.all, arguments.top));
    let csv = || views::csv(&report, arguments.top);
    match arguments.format {
        ReportFormat::Text => emit_text(to, &text()),
        ReportFormat::Json => emit_json(to, &report),
        ReportFormat::Csv => emit_text(to, &csv()),
        ReportFormat::All => emit_all(to, &report, [("txt", text()), ("csv", csv())]),
        ReportFormat::Html => {
            let sweep = Sweep::new(|speed, rtt_ms| forecasts.length_ms(Some(speed), rtt_ms));
            let comparison = match arguments.params.len() {
                0 | 1 => None,
                _ => Some(compare::comparison(&html::compared(arguments))?),
            };
            let (page_parts, all) = match page_parts {
                Some(page_parts) => (page_parts, summary),
                None => html::PageParts::read(arguments)?,
            };
            let (page_parts, comparison) = ((page_parts, &all), comparison.as_ref());
            html::write(arguments, &report, comparison, (sweep, code), page_parts)
        }
    }
}
