//! The report on episodes as text: a verdict of at most five lines, a few rows, then caveats.

use x11prof_analyzer::{EpisodeReport, EpisodesReport, OutliersReport};

use super::words::{brief, causes, cut, latency, ordinal};
use super::{all, chart, events, landmarks, marks, patterns, worst};
use crate::page::{Page, Style};
use crate::plain::plain;
use crate::profile::text::ran;
use crate::units::counted;

/// The parts of the report on episodes to show.
#[derive(Debug, Clone, Copy, Default)]
pub struct Show {
    /// True to show the longest episodes, in two lines each, instead of landmarks.
    pub worst: bool,
    /// True to show patterns instead of landmarks.
    pub patterns: bool,
    /// True to show each key and button below its group.
    pub each_key: bool,
    /// True to show CPU utilisation and latency over time.
    pub chart: bool,
    /// True to show the messages and episodes around each mark of the user, instead of landmarks.
    pub marks: bool,
}

/// The default number of rows.
const ROWS: usize = 15;
/// The maximum number of sentences of the summary.
const SENTENCES: usize = 5;

/// The report as text. A page with all results also has all rows, all tables, and the messages of the longest episodes.
pub fn text(report: &EpisodesReport, show: &Show, page: &Page) -> String {
    if show.marks {
        return marks::text(report, page);
    }
    let mut text = verdict(report, page);
    if report.summary.count == 0 {
        return text + &doubts(report, show.worst, page);
    }
    text.push('\n');
    let rows = if page.all { usize::MAX } else { ROWS };
    if show.worst {
        text.push_str(&worst::text(report, page));
    } else if show.patterns {
        text.push_str(&patterns::text(report, rows, page));
    } else if !report.events.is_empty() {
        text.push_str(&events::text(report, page));
    } else {
        text.push_str(&landmarks::text(report, rows, show.each_key, page));
    }
    for running in &report.running {
        text.push('\n');
        text.push_str(&ran(running, "during these episodes", page));
    }
    if show.chart || page.all {
        text.push_str(&chart::text(&report.series));
    }
    if page.all {
        if !show.patterns {
            text.push('\n');
            text.push_str(&patterns::text(report, ROWS, page));
        }
        text.push_str(&all::text(report, page));
    }
    let doubts = doubts(report, show.worst, page);
    if !doubts.is_empty() {
        text.push('\n');
        text.push_str(&doubts);
    }
    if !page.all && !show.worst && !show.patterns && !show.chart {
        text.push_str("\nMore: --worst 10, --patterns, --by-key, --chart, --all\n");
    }
    text
}

/// Sentences about the user's slow actions, for a page with another subject; empty if there are no user actions.
pub fn verdict_lines(report: &EpisodesReport) -> Vec<String> {
    let acted = report
        .triggers
        .iter()
        .any(|of| of.trigger == "input" && of.count > 0);
    let lines = acted.then(|| sentences(report));
    lines
        .iter()
        .flatten()
        .map(|line| plain(line).into_owned())
        .collect()
}

/// The sum of latencies, as a multiple of the time that they cover together, above which actions overlap.
const OVERLAP: f64 = 1.5;

/// Returns the summary in at most five lines.
fn verdict(report: &EpisodesReport, page: &Page) -> String {
    page.answer(sentences(report).iter().map(|line| plain(line)), 2)
}

/// Returns the sentences of the summary: the number of actions, their latencies, and the causes of the latencies.
fn sentences(report: &EpisodesReport) -> Vec<String> {
    let (input, rest): (Vec<_>, Vec<_>) =
        report.triggers.iter().partition(|of| of.trigger == "input");
    let loops = report.loops.iter().map(|one| &one.sentence).take(1);
    let backlogs = report.backlogs.iter().map(|one| &one.sentence).take(1);
    let mut lines: Vec<String> = loops.chain(backlogs).cloned().collect();
    match input.first().filter(|of| of.count > 0) {
        Some(of) => {
            let some = |ms: Option<f64>| latency(ms.unwrap_or_default());
            lines.push(format!(
                "{} of the user: p50 {}, p95 {}, max {}.",
                counted(of.count, "action"),
                some(of.median_ms),
                some(of.p95_ms),
                some(of.max_ms),
            ));
            let think = &report.think_and_wait;
            let waited = format!(
                "the user waited {}, {:.1} % of the time, for all actions together",
                latency(think.wait_ms),
                think.wait_percent
            );
            lines.push(match of.perceptible {
                0 => format!("No action took longer than its threshold (--threshold); {waited}."),
                some => format!(
                    "{} took longer than the threshold (--threshold); {waited}.",
                    counted(some, "action")
                ),
            });
            lines.push(match (of.perceptible, report.outliers.first()) {
                (0, Some(far)) => outliers(far),
                (0, None) => format!(
                    "Time of all actions: {}.",
                    causes(&of.parts, &of.causes).join(", ")
                ),
                _ => {
                    let (parts, of) = (&of.perceptible_parts, &of.perceptible_causes);
                    format!(
                        "Time of the slow actions: {}.",
                        causes(parts, of).join(", ")
                    )
                }
            });
            let parts = &of.parts;
            let own = parts.waiting_ms + parts.client_ms + parts.off_cpu_ms + parts.server_ms;
            let all = own + parts.network_ms + parts.other_clients_ms;
            if parts.network_ms > all / 2.0 && all > OVERLAP * think.wait_ms {
                lines.push(
                    "Actions overlap, because input keeps its recorded times: a user would wait, so single actions \
                     would take less time."
                        .to_owned(),
                );
            }
            lines.extend(worst_of_input(report));
        }
        None => {
            lines
                .push("None of these episodes is a user action (key, click or motion).".to_owned());
        }
    }
    let others: u64 = rest.iter().map(|of| of.count).sum();
    if others > 0 {
        let longest = rest.iter().filter_map(|of| of.max_ms).fold(0.0, f64::max);
        let perceptible: u64 = rest.iter().map(|of| of.perceptible).sum();
        let perceptible = match perceptible {
            0 => "none".to_owned(),
            some => some.to_string(),
        };
        lines.push(format!(
            "{} without input, such as start-up: {perceptible} took longer than the threshold, max {}.",
            counted(others, "episode"),
            latency(longest)
        ));
    }
    lines.truncate(SENTENCES);
    lines
}

/// Returns a sentence on outliers, such as `Typing in Notes: 3 of 60, every 20th, took 87.0 to 136 ms; usual: 0.60 ms.`
fn outliers(of: &OutliersReport) -> String {
    let every = of
        .every
        .map_or_else(String::new, |every| format!(", every {},", ordinal(every)));
    let took = match brief(of.min_ms) == brief(of.max_ms) {
        true => latency(of.max_ms),
        false => format!("{} to {}", brief(of.min_ms), latency(of.max_ms)),
    };
    format!(
        "{}: {} of {}{every} took {took}; usual: {}.",
        of.group,
        of.count,
        of.actions,
        latency(of.usual_ms)
    )
}

/// The user's slowest action if it took longer than its threshold, with its cause, for a page with another subject.
pub fn slowest_action(report: &EpisodesReport) -> Option<String> {
    let worst = slowest(report).filter(|worst| worst.perceptible)?;
    let line = worst_of_input(report)?;
    let (_, cause) = line.split_once(": ")?;
    let (took, cause) = (latency(worst.latency_ms), cause.trim_end_matches('.'));
    Some(format!(
        "Slowest action, {took}: {cause}; `x11prof episodes --worst 1` shows it"
    ))
}

/// The maximum length of a landmark in a sentence.
const NAME: usize = 60;

/// The user's slowest action.
fn slowest(report: &EpisodesReport) -> Option<&EpisodeReport> {
    let input = report.episodes.iter().filter(|of| of.trigger == "input");
    input.max_by(|a, b| a.latency_ms.total_cmp(&b.latency_ms))
}

fn worst_of_input(report: &EpisodesReport) -> Option<String> {
    let worst = slowest(report)?;
    let awaited = worst.awaited.first();
    let awaited = awaited.filter(|wait| wait.ms > worst.latency_ms / 2.0);
    let blamed = worst.blame.as_ref();
    let elsewhere = blamed.filter(|blame| blame.kind == "elsewhere");
    let elsewhere = elsewhere.map(|blame| &blame.sentence);
    let why = awaited.map(|wait| &wait.sentence).or(elsewhere);
    if let Some(why) = why.filter(|_| worst.perceptible) {
        let at = worst.start_ms / 1000.0;
        return Some(format!("Worst: {} at {at:.3} s: {why}", worst.landmark));
    }
    let others = blamed.filter(|blame| matches!(blame.kind, "other_client" | "grab"));
    let mostly = match others {
        Some(other) => format!("waiting for {}", other.client),
        // Only the first component fits.
        None => {
            let mut all = causes(&worst.parts, &worst.causes).into_iter();
            all.next().unwrap_or_default()
        }
    };
    Some(format!(
        "Longest: {} at {:.3} s, {mostly}.",
        cut(&worst.landmark, NAME),
        worst.start_ms / 1000.0,
    ))
}

/// Returns the caveats of the report, each with its remedy.
fn doubts(report: &EpisodesReport, marked: bool, page: &Page) -> String {
    let mut text = String::new();
    let mut doubt = |line: &str| {
        text.push_str(&page.wrap_in(Style::Caveat, &format!("? {line}"), 2));
    };
    match report.summary.basis {
        _ if report.summary.count == 0 => {}
        "switches" => {}
        "silence" => doubt(
            "No context switches in the trace: a client counts as quiet after 50 ms of silence. \
             Record on the client's machine with kernel.perf_event_paranoid at 2 or less.",
        ),
        _ => doubt(
            "Some clients have no context switches; they count as idle after 50 ms of silence.",
        ),
    }
    if report.summary.left_out > 0 && page.all {
        let these = counted(report.summary.left_out, "episode");
        doubt(&format!(
            "{these} of clients without windows and input are left out of this page; `--client NAME` shows them."
        ));
    }
    let missing = report.events.iter().filter(|of| of.count == 0);
    let missing: Vec<&str> = missing.map(|of| of.name.as_str()).collect();
    if !missing.is_empty() {
        doubt(&format!(
            "{} never started; `x11prof dump` shows the names of events, requests and windows.",
            plain(&missing.join(", "))
        ));
    }
    let mut reasons: Vec<&str> = report.episodes.iter().filter_map(|of| of.unsure).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        let these = report
            .episodes
            .iter()
            .filter(|of| of.unsure == Some(reason));
        doubt(&format!(
            "The end of {} is uncertain ({} ?): {reason}.",
            counted(these.count() as u64, "episode"),
            if marked {
                "marked"
            } else {
                "--worst marks it with"
            },
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::testing::{Synthetic, poly_fill_rectangle, reply};
    use x11prof_analyzer::{EpisodeOptions, Episodes, EpisodesReport, Pipeline, TraceSummary};

    use super::{slowest_action, verdict_lines};

    /// Keys, each with a drawing after this many microseconds.
    fn keys(delays: impl IntoIterator<Item = u64>) -> EpisodesReport {
        let mut trace = Synthetic::new();
        for (key, delay) in (1..).zip(delays) {
            let mut press = reply(key - 1);
            (press[0], press[1]) = (2, 38);
            trace.wait(1_000_000).server_sends(&[press]);
            trace.wait(delay).client_sends(&[poly_fill_rectangle(1)]);
        }
        trace.wait(1_000_000).end();
        let (mut summary, mut pipeline) = (TraceSummary::default(), Pipeline::new());
        let mut episodes = Episodes::new(&EpisodeOptions::default());
        pipeline.run_records(trace.records.iter().cloned(), |observation| {
            summary.observe(observation);
            episodes.observe(observation);
        });
        EpisodesReport::new("it.mcap", &summary, &episodes.finish())
    }

    #[test]
    fn only_an_action_over_its_threshold_is_named() {
        assert_eq!(slowest_action(&keys([1000, 90_000])), None);
        let slowest = slowest_action(&keys([1000, 300_000, 200_000]));
        let expected = "Slowest action, 300 ms: KeyPress keycode 38 at 2.001 s, client CPU 100 %; \
                        `x11prof episodes --worst 1` shows it";
        assert_eq!(slowest.as_deref(), Some(expected));
    }

    /// The overview of the HTML page has these lines as well (`commands/html.rs`).
    #[test]
    fn keys_far_slower_than_usual_are_in_the_verdict() {
        let delays = (1..=40).map(|key| if key % 10 == 0 { 90_000 } else { 1000 });
        let report = keys(delays);
        let verdict = verdict_lines(&report).join(" ");
        let slow = "Typing: 4 of 40, every 10th, took 90.0 ms; usual: 1.00 ms.";
        assert!(verdict.contains(slow), "{verdict}");
    }
}
