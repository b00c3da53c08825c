//! Figures across all episodes, as text.

use x11prof_analyzer::EpisodesReport;

use super::words::{brief, cut, left_out, spare};
use crate::page::Page;
use crate::table::Table;

/// The maximum number of rows of a table.
const SHOWN: usize = 20;

/// Bursts, think and wait time, and the distribution of durations, as text.
pub(super) fn text(report: &EpisodesReport, page: &Page) -> String {
    [
        bursts_text(report, page),
        think_text(report),
        durations_text(report, page),
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

fn think_text(report: &EpisodesReport) -> String {
    let of = &report.think_and_wait;
    format!(
        "\nThe user waited {:.0} ms ({:.1} %) and thought {:.0} ms.\n",
        of.wait_ms, of.wait_percent, of.think_ms,
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
