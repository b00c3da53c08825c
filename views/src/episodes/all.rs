//! The tables about episodes that the text contains only with `--all` (from the LiLa thesis).

use x11prof_analyzer::{EpisodesReport, PartsReport, percent};

use super::bursts;
use super::words::{brief, cut, left_out, spare};
use crate::page::Page;
use crate::table::Table;

/// The maximum number of landmarks shown.
const SHOWN: usize = 40;

/// The main causes by trigger, all landmarks, and statistics across episodes, as text.
pub(super) fn text(report: &EpisodesReport, page: &Page) -> String {
    [
        characterisation(report, page),
        landmark_profile(report, page),
        bursts::text(report, page),
    ]
    .concat()
}

fn characterisation(report: &EpisodesReport, page: &Page) -> String {
    let mut text =
        "\nShares of latency in %, by trigger (output: redraws; asynchronous: others):\n"
            .to_owned();
    let mut table = Table::new([
        "Trigger",
        "Episodes",
        "Queued",
        "Client",
        "Off-CPU",
        "Server",
        "Network",
        "Other clients",
    ]);
    for of in &report.triggers {
        let mut cells = vec![of.trigger.to_owned(), of.count.to_string()];
        cells.extend(shares(&of.parts));
        table.row(cells);
        if of.perceptible > 0 {
            let mut cells = vec!["  too long".to_owned(), of.perceptible.to_string()];
            cells.extend(shares(&of.perceptible_parts));
            table.row(cells);
        }
    }
    text.push_str(&table.on(page));
    text
}

/// Returns the landmark profile of the LiLa thesis, with inclusive and exclusive times.
fn landmark_profile(report: &EpisodesReport, page: &Page) -> String {
    let mut table = Table::new([
        "Landmark", "Count", "Mean", "Max", "Total", "Self", "Queued", "Work", "Present",
    ]);
    let more = report.landmarks.len().saturating_sub(SHOWN);
    for of in report.landmarks.iter().take(SHOWN) {
        table.row([
            cut(&of.landmark, 24 + spare(page)),
            of.count.to_string(),
            brief(of.mean_ms),
            brief(of.max_ms),
            brief(of.total_ms),
            brief(of.exclusive.total_ms),
            brief(of.phases.input_delay_ms),
            brief(of.phases.processing_ms),
            brief(of.phases.presentation_delay_ms),
        ]);
    }
    let legend = "Landmarks, ms. Self: without nested episodes. Averages: Queued: until the client \
                  reads the event. Work: of the client. Present: until the server has drawn.";
    let left = left_out(more, " in the JSON");
    format!("\n{}{}{left}", page.wrap(legend, 0), table.on(page))
}

fn shares(parts: &PartsReport) -> Vec<String> {
    let all = [
        parts.waiting_ms,
        parts.client_ms,
        parts.off_cpu_ms,
        parts.server_ms,
        parts.network_ms,
        parts.other_clients_ms,
    ];
    let sum: f64 = all.iter().sum();
    all.iter()
        .map(|part| format!("{:.1}", percent(*part, sum)))
        .collect()
}
