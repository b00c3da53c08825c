//! The patterns of episodes as text, in two lines each: figures, then the tree.

use x11prof_analyzer::{EpisodesReport, PatternReport, component_name};

use super::words::{brief, left_out};
use crate::page::Page;
use crate::plain::plain;
use crate::table::Table;

/// Returns a table of at most `rows` patterns: the most perceptible time first, then the most time.
pub(super) fn text(report: &EpisodesReport, rows: usize, page: &Page) -> String {
    let shown = &report.patterns[..rows.min(report.patterns.len())];
    let mut table = Table::new([
        "Pattern, times in ms",
        "Count",
        "Min",
        "p50",
        "Max",
        "Too long",
        "Main cause",
    ]);
    for of in shown {
        table.row(row(of));
    }
    let table = table.on(page);
    let mut lines = table.lines();
    let mut text = String::new();
    text.extend(lines.next().map(|line| format!("{line}\n")));
    for (line, of) in lines.zip(shown) {
        text.push_str(&format!("{line}\n"));
        text.push_str(&page.wrap(&format!("    {}", plain(&of.shape)), 6));
    }
    let more = report.patterns.len() - shown.len();
    text.push_str(&left_out(more, " with --patterns --all"));
    text
}

fn row(of: &PatternReport) -> Vec<String> {
    vec![
        of.pattern
            .map_or_else(|| "others".to_owned(), |n| format!("pattern {n}")),
        of.count.to_string(),
        brief(of.min_ms),
        brief(of.median_ms),
        brief(of.max_ms),
        of.slow.to_owned(),
        component_name(of.culprit).to_owned(),
    ]
}
