//! `x11prof network`: round trips, and how to avoid them.

use x11prof_analyzer::{EpisodeOptions, Episodes, Observation, RoundTripOptions, RoundTrips};
use x11prof_cost_model::{Micros, Network};
use x11prof_trace::Control;
use x11prof_views::roundtrips as views;

use crate::args::RoundTrips as Arguments;
use crate::callers::NamedCallers;
use crate::commands::emit_table::emit_table;
use crate::error::{Outcome, shown};
use crate::names;
use crate::output::{page, refuse_input};
use crate::pass::Pass;
use crate::span::starting_program;

/// Finds the round trips of the trace and prints suggestions.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let path = &arguments.trace;
    refuse_input(arguments.result.output.as_deref(), [path.as_path()])?;
    let client = match &arguments.client {
        None if arguments.start_up => starting_program(path)?,
        client => client.clone(),
    };
    let pass = Pass::open(path)?.take_together().tell_missing();
    let mut round_trips = RoundTrips::new(&RoundTripOptions {
        link: arguments.net.or(arguments.rtt.map(|rtt| Network {
            rtt: Micros::from_ms(rtt),
            ..Network::NONE
        })),
        client,
        start_up: arguments.start_up,
    });
    let mut episodes = Episodes::new(&EpisodeOptions {
        worst: Some(0),
        ..EpisodeOptions::default()
    });
    let mut callers = NamedCallers::default();
    let mut is_attached = false;
    pass.run(|observation| {
        is_attached |= matches!(observation, Observation::Control(_, Control::Attached {}));
        callers.observe(observation, |seen| round_trips.counts(seen));
        episodes.observe(observation);
        round_trips.episodes(episodes.finished());
        round_trips.observe(observation);
    })?;
    if is_attached {
        say!(
            "{}: recorded with --attach: a wait begins when the server reads the request. Earlier waits for a grab \
             or for other clients are missing",
            shown(path)
        );
    }
    if let Some(missing) = round_trips.unmatched() {
        return Err(names::no_such(path, &missing));
    }
    let report = callers.report(round_trips, &path.to_string_lossy());
    let to = arguments.result.output.as_deref();
    let text = || views::text(&report, &page(to, arguments.all, None));
    // Call sites may contain the names of pressed keys.
    emit_table(to, arguments.result.format, &report, text, || {
        views::csv(&report)
    })
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::TRIED;
    use x11prof_proxy::Rewrite;

    #[test]
    fn every_advised_fix_can_be_tried() {
        for (_, _, fix) in TRIED {
            assert!(Rewrite::from_name(fix).is_some(), "{fix}");
        }
    }
}
