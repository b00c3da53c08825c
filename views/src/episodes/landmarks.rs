//! Landmarks as rows of text: one row for each kind of action in a window class. The actions of the user come first.

use x11prof_analyzer::{EpisodesReport, LandmarkReport, component_name};

use super::words::{brief, left_out};
use crate::page::{Page, Style};
use crate::table::Table;

/// Explains rows such as `StateNotify`.
const EVENTS: &str = "Episodes without an action of the user are named by what the program handled: an X event, a frame of an \
     animation (Frame tick), a start-up that shows no window (Connected, nothing shown), or anything else (Timer or file). An episode includes the work that it causes in other clients, except with --client.";

/// The table of landmarks, with at most `rows` rows. With `each_key`, the landmarks of a group are listed below it.
pub(super) fn text(report: &EpisodesReport, rows: usize, each_key: bool, page: &Page) -> String {
    let mut table = Table::new([
        "Group of episodes, ms",
        "Count",
        "p50",
        "p95",
        "Max",
        "Too long",
        "Main cause",
    ]);
    // Actions of the user precede spontaneous episodes.
    let of_user = |of: &&LandmarkReport| of.trigger == "input";
    let groups = &report.groups;
    let groups = groups
        .iter()
        .filter(of_user)
        .chain(groups.iter().filter(|of| !of_user(of)));
    let mut all: Vec<(String, &LandmarkReport)> = Vec::new();
    for group in groups {
        let below: Vec<&LandmarkReport> = report
            .landmarks
            .iter()
            .filter(|of| of.group == group.landmark && of.trigger == group.trigger)
            .collect();
        match below.as_slice() {
            // If a landmark is alone in its group, the landmark replaces the row of the group.
            [one] if each_key => all.push((one.landmark.clone(), one)),
            below if each_key => {
                all.push((group.landmark.clone(), group));
                all.extend(below.iter().map(|of| (below_its_group(of), *of)));
            }
            _ => all.push((group.landmark.clone(), group)),
        }
    }
    let has_events = !all.iter().all(|(_, of)| of_user(of));
    let more = all.len().saturating_sub(rows);
    for (name, of) in all.into_iter().take(rows) {
        table.row([
            name,
            of.count.to_string(),
            brief(of.median_ms),
            brief(of.p95_ms),
            brief(of.max_ms),
            of.perceptible.to_string(),
            component_name(of.culprit).to_owned(),
        ]);
    }
    let legend = match has_events {
        true => page.wrap_in(Style::Faint, EVENTS, 0),
        false => String::new(),
    };
    format!(
        "{}{}{legend}",
        table.on(page),
        left_out(more, " with --all")
    )
}

/// Returns a landmark's name without its window class, which is in the group's row.
fn below_its_group(of: &LandmarkReport) -> String {
    let class = of.group.split_once(" in ").map_or("", |(_, class)| class);
    format!("  {}", of.landmark.replacen(&format!(" in {class}"), "", 1))
}
