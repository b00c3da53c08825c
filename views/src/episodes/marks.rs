//! The messages and episodes around each mark of the user, as text.

use x11prof_analyzer::{EpisodesReport, MarkReport, MarkedEpisode, MarkedStall};

use super::words::{cut, latency};
use crate::page::Page;
use crate::plain::plain;
use crate::units::counted;

/// A block of lines for each mark of the user.
pub(super) fn text(report: &EpisodesReport, page: &Page) -> String {
    let marks = &report.marks;
    if marks.is_empty() {
        return "There are no marks. `x11prof mark` and `record --mark-key` make them.\n"
            .to_owned();
    }
    let shown = marks.len() as u64;
    let mut text = match report.marks_omitted {
        0 => format!("{} of the user or of --when.\n", counted(shown, "mark")),
        more => format!("The first {shown} of {}.\n", counted(shown + more, "mark")),
    };
    for mark in marks {
        text.push_str(&one(mark, page));
    }
    text
}

fn one(mark: &MarkReport, page: &Page) -> String {
    let said = match mark.text.as_str() {
        "" => String::new(),
        text => format!(" ({})", plain(text)),
    };
    let span = (mark.to_ms - mark.from_ms) / 1e3;
    let server = mark.server_ms.map_or_else(
        || "the server's time is not known".to_owned(),
        |ms| format!("the server ran {} of {span:.1} s", latency(ms)),
    );
    let requests = counted(mark.requests, "request");
    let head = format!(
        "Mark at {:.3} s{said}: {server}, {requests}",
        mark.at_ms / 1e3
    );
    let mut text = format!("\n{}", page.wrap(&head, 2));
    let mut lines: Vec<(f64, String)> = Vec::new();
    lines.extend(mark.episodes.iter().map(|of| (of.start_ms, episode(of))));
    lines.extend(mark.stalls.iter().map(|of| (of.since_ms, stall(of))));
    lines.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    if lines.is_empty() {
        text.push_str("  no episode and no stall\n");
    }
    for (start, line) in lines {
        let after = (start - mark.at_ms) / 1e3;
        let line = format!("  {after:>+7.2} s  {line}");
        text.push_str(&cut(&line, page.columns()));
        text.push('\n');
    }
    text
}

fn episode(of: &MarkedEpisode) -> String {
    let mostly = of.mostly.as_deref().unwrap_or(of.culprit);
    let client = plain(&of.client_name);
    let landmark = plain(&of.landmark);
    format!(
        "{:>8}  {landmark} ({client}), main cause {}",
        latency(of.latency_ms),
        plain(mostly)
    )
}

fn stall(of: &MarkedStall) -> String {
    let by = match &of.request {
        Some(request) => format!(" by {}", plain(request)),
        None => String::new(),
    };
    let waited = counted(of.waiters, "client");
    format!(
        "{:>8}  stall: {} held the server{by} ({}), {waited} waited",
        latency(of.held_ms),
        plain(&of.by),
        of.how,
    )
}
