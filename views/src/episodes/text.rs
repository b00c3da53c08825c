//! The report on episodes for people.

use x11prof_analyzer::{
    CausesReport, EpisodeReport, EpisodesReport, LandmarkReport, PartsReport, SummaryReport,
    percent,
};

use super::across;
use crate::table::{Table, plain};

/// Landmarks and episodes shown where the user did not say how many.
const SHOWN: usize = 20;
/// Children shown have at least this latency.
const CHILD_MS: f64 = 1.0;

/// The report for people.
pub fn text(report: &EpisodesReport) -> String {
    let mut text = summary(&report.summary);
    text.push_str("\nAt least so long:\n");
    let mut table = Table::new(["ms", "Episodes", "Per second in episodes"]);
    // Up to the first step that nothing reaches.
    let reached = report.distribution.iter().filter(|step| step.count > 0);
    let steps = report.distribution.iter().take(reached.count() + 1);
    for step in steps {
        table.row([
            format!("{}", step.at_least_ms),
            step.count.to_string(),
            step.per_second.map_or_else(|| "-".to_owned(), two),
        ]);
    }
    text.push_str(&table.to_string());
    text.push_str(&characterisation(report));
    text.push_str(&landmark_profile(report));
    text.push_str(&across::text(report));
    text.push_str(&worst(report));
    text.push_str(&timelines(report));
    text
}

fn characterisation(report: &EpisodesReport) -> String {
    let mut text = "\nBy trigger and location, % of the time:\n".to_owned();
    let mut table = Table::new([
        "Trigger", "Episodes", "Waiting", "Client", "Off CPU", "Server", "Network", "Runnable",
    ]);
    for of in &report.triggers {
        let mut cells = vec![of.trigger.to_owned(), of.count.to_string()];
        cells.extend(shares(&of.parts));
        cells.push(of.runnable_threads.map_or_else(|| "-".to_owned(), two));
        table.row(cells);
        if of.perceptible > 0 {
            let mut cells = vec!["  perceptible".to_owned(), of.perceptible.to_string()];
            cells.extend(shares(&of.perceptible_parts));
            table.row(cells);
        }
    }
    text.push_str(&table.to_string());
    text.push_str("\nBy cause, % of the time that is neither waiting nor drawing:\n");
    let mut table = Table::new([
        "Trigger",
        "Running",
        "Processor",
        "Reply",
        "Grab",
        "Sleeping",
        "Lock",
        "Elsewhere",
    ]);
    for of in &report.triggers {
        let mut cells = vec![of.trigger.to_owned()];
        cells.extend(causes(&of.causes));
        table.row(cells);
    }
    text.push_str(&table.to_string());
    text
}

/// The messages of the worst, where they were asked for.
fn timelines(report: &EpisodesReport) -> String {
    let mut text = String::new();
    for of in report.episodes.iter().filter(|of| !of.messages.is_empty()) {
        text.push_str(&format!(
            "\n{} of {}, {:.2} ms from {:.6} s on, {}:\n",
            plain(&of.landmark),
            plain(&of.client_name),
            of.latency_ms,
            of.start_ms / 1000.0,
            of.culprit
        ));
        for line in &of.messages {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn landmark_profile(report: &EpisodesReport) -> String {
    let mut text = "\nLandmarks (ms):\n".to_owned();
    let mut table = Table::new([
        "Landmark",
        "Calls",
        "Max",
        "Mean",
        "Min",
        "Total",
        "p75",
        "p98",
        "Exclusive",
        "Delay",
        "Process",
        "Present",
    ]);
    let mut rows = Vec::new();
    for group in &report.groups {
        let of_group = report
            .landmarks
            .iter()
            .filter(|of| of.group == group.landmark);
        let below: Vec<&LandmarkReport> = of_group.collect();
        // One that is all of its group says the same again.
        if let [one] = below.as_slice() {
            rows.push((one.landmark.clone(), *one));
            continue;
        }
        rows.push((group.landmark.clone(), group));
        rows.extend(
            below
                .into_iter()
                .map(|of| (format!("  {}", of.landmark), of)),
        );
    }
    let more = rows.len().saturating_sub(SHOWN);
    for (name, of) in rows.into_iter().take(SHOWN) {
        table.row([
            name,
            of.count.to_string(),
            ms(of.max_ms),
            ms(of.mean_ms),
            ms(of.min_ms),
            ms(of.total_ms),
            ms(of.p75_ms),
            ms(of.p98_ms),
            ms(of.exclusive.total_ms),
            ms(of.phases.input_delay_ms),
            ms(of.phases.processing_ms),
            ms(of.phases.presentation_delay_ms),
        ]);
    }
    text.push_str(&table.to_string());
    if more > 0 {
        text.push_str(&format!("… {more} more\n"));
    }
    text
}

fn worst(report: &EpisodesReport) -> String {
    let mut longest: Vec<&EpisodeReport> = report.episodes.iter().collect();
    longest.sort_by(|a, b| b.latency_ms.total_cmp(&a.latency_ms));
    let mut text = "\nThe longest (ms):\n".to_owned();
    let mut table = Table::new([
        "Landmark", "Program", "At s", "Latency", "Waiting", "Client", "Off CPU", "Server",
        "Network", "Trips", "Requests", "Culprit",
    ]);
    for of in longest.into_iter().take(SHOWN) {
        let parts = &of.parts;
        table.row([
            of.landmark.clone(),
            of.client_name.clone(),
            format!("{:.3}", of.start_ms / 1000.0),
            ms(of.latency_ms),
            ms(parts.waiting_ms),
            ms(parts.client_ms),
            ms(parts.off_cpu_ms),
            ms(parts.server_ms),
            ms(parts.network_ms),
            of.round_trips.to_string(),
            of.requests.to_string(),
            format!(
                "{}{}",
                of.culprit,
                if of.unsure.is_some() { "?" } else { "" }
            ),
        ]);
        // What it had to handle of its own doing, below it.
        let long = of
            .children
            .iter()
            .filter(|child| child.latency_ms >= CHILD_MS);
        for child in long {
            let at = format!("{:.3}", child.start_ms / 1000.0);
            let name = format!("  {}", child.landmark);
            table.row([name, String::new(), at, ms(child.latency_ms)]);
        }
    }
    text.push_str(&table.to_string());
    text.push_str(&unsure(report));
    text
}

/// Which episodes may have ended elsewhere, and why.
fn unsure(report: &EpisodesReport) -> String {
    let mut reasons: Vec<&str> = report.episodes.iter().filter_map(|of| of.unsure).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let lines = reasons.iter().map(|reason| {
        let these = report
            .episodes
            .iter()
            .filter(|of| of.unsure == Some(reason));
        format!(
            "? {} of them may have ended elsewhere: {reason}\n",
            these.count()
        )
    });
    lines.collect()
}

fn summary(of: &SummaryReport) -> String {
    let mut table = Table::new([
        "End to end s",
        "In episodes %",
        "< 3 ms",
        "≥ 3 ms",
        "≥ 100 ms",
        "≥ 100 ms a minute",
        "Perceptible",
    ]);
    table.row([
        format!("{:.1}", of.end_to_end_ms / 1000.0),
        format!("{:.1}", of.in_episode_percent),
        of.under_3_ms.to_string(),
        of.from_3_ms.to_string(),
        of.from_100_ms.to_string(),
        of.long_per_minute.map_or_else(|| "-".to_owned(), two),
        of.perceptible.to_string(),
    ]);
    let basis = match of.basis {
        "switches" => "",
        "silence" => {
            "No context switches in the trace: a client counts as quiet after 50 ms of \
             silence, and its time on and off the processor is not told apart\n"
        }
        _ => "Of some clients there are no context switches: silence stands for quiet there\n",
    };
    format!("{table}{basis}")
}

fn shares(parts: &PartsReport) -> Vec<String> {
    let all = [
        parts.waiting_ms,
        parts.client_ms,
        parts.off_cpu_ms,
        parts.server_ms,
        parts.network_ms,
    ];
    of_sum(&all)
}

fn causes(of: &CausesReport) -> Vec<String> {
    of_sum(&[
        of.running_ms,
        of.processor_ms,
        of.reply_ms,
        of.grab_ms,
        of.sleeping_ms,
        of.lock_ms,
        of.elsewhere_ms,
    ])
}

fn of_sum(all: &[f64]) -> Vec<String> {
    let sum: f64 = all.iter().sum();
    all.iter()
        .map(|part| format!("{:.1}", percent(*part, sum)))
        .collect()
}

fn ms(ms: f64) -> String {
    format!("{ms:.2}")
}

fn two(value: f64) -> String {
    format!("{value:.2}")
}
