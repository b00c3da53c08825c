//! Figures across all episodes, as text.

use x11prof_analyzer::EpisodesReport;

use super::words::{brief, cut, left_out, spare};
use crate::page::Page;
use crate::table::Table;

/// The maximum number of rows of a table.
const SHOWN: usize = 20;

/// Bursts, think and wait time, the distribution of durations, and the time between long episodes, as text.
pub(super) fn text(report: &EpisodesReport, page: &Page) -> String {
    [
        bursts_text(report, page),
        think_text(report, page),
        durations_text(report, page),
        apart_text(report, page),
    ]
    .concat()
}

fn bursts_text(report: &EpisodesReport, page: &Page) -> String {
    if report.bursts.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        "Burst", "Program", "At s", "For s", "Frames", "Per s", "Over", "Late", "Max ms",
    ]);
    for of in report.bursts.iter().take(SHOWN) {
        table.row([
            cut(&of.landmark, 22 + spare(page)),
            cut(&of.client_name, 14),
            brief(of.start_ms / 1000.0),
            brief(of.duration_ms / 1000.0),
            of.frames.to_string(),
            brief(of.frames_per_second),
            of.over_budget.to_string(),
            of.late.to_string(),
            brief(of.max_ms),
        ]);
    }
    let more = left_out(report.bursts.len().saturating_sub(SHOWN), "");
    format!(
        "\nBursts (over: frames longer than the budget; late: frames that ended late):\n{}{more}",
        table.on(page)
    )
}

fn think_text(report: &EpisodesReport, page: &Page) -> String {
    let of = &report.think_and_wait;
    let mut table = Table::new([
        "Client",
        "Events wait",
        "Reply awaited",
        "File awaited",
        "ms",
    ]);
    for state in of.states.iter().filter(|state| state.time_ms > 0.0) {
        let word = |is: bool| if is { "yes" } else { "no" }.to_owned();
        let busy = if state.busy { "busy" } else { "idle" };
        table.row([
            busy.to_owned(),
            word(state.events_waiting),
            word(state.outstanding),
            word(state.file),
            format!("{:.2}", state.time_ms),
        ]);
    }
    format!(
        "\nThe user waited {:.0} ms ({:.1} %) and thought {:.0} ms. Time of all clients:\n{}",
        of.wait_ms,
        of.wait_percent,
        of.think_ms,
        table.on(page)
    )
}

fn durations_text(report: &EpisodesReport, page: &Page) -> String {
    let mut table = Table::new(["From ms", "Episodes", "Total ms", "% of latency"]);
    for of in &report.durations {
        table.row([
            of.from_ms.to_string(),
            of.count.to_string(),
            format!("{:.2}", of.total_ms),
            format!("{:.1}", of.percent),
        ]);
    }
    format!("\nLatency by duration:\n{}", table.on(page))
}

fn apart_text(report: &EpisodesReport, page: &Page) -> String {
    let some = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}"));
    if report.long_apart.iter().all(|of| of.mean_ms.is_none()) {
        return String::new();
    }
    let mut table = Table::new(["Above ms", "Episodes", "Apart ms", "Std. Dev."]);
    for of in &report.long_apart {
        table.row([
            of.above_ms
                .map_or_else(|| "own".to_owned(), |ms| ms.to_string()),
            of.count.to_string(),
            some(of.mean_ms),
            some(of.standard_deviation_ms),
        ]);
    }
    format!(
        "\nBetween long episodes (own: over their own threshold):\n{}",
        table.on(page)
    )
}
