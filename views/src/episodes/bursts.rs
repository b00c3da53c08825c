//! Bursts of frames, as text.

use x11prof_analyzer::EpisodesReport;

use super::words::{brief, cut, left_out, spare};
use crate::page::Page;
use crate::table::Table;

/// The maximum number of rows of a table.
const SHOWN: usize = 20;

/// Bursts as text; empty if there are none.
pub(super) fn text(report: &EpisodesReport, page: &Page) -> String {
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
        "\n{}{}{more}",
        page.wrap(
            "Bursts of frames. Over: frames that took longer than the budget. Late: frames that ended more than 1.5 budgets \
             after the previous frame.",
            0
        ),
        table.on(page)
    )
}
