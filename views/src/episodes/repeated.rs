//! The combined figures of several recordings of the same actions, as text and CSV: the mean and the standard deviation
//! over the recordings.

use x11prof_analyzer::{Figure, RepeatedLandmark, RepeatedReport};

use super::words::{brief, cut, left_out, spare};
use crate::csv_tables;
use crate::page::{Page, Style};
use crate::table::Table;

/// The default number of rows.
const ROWS: usize = 15;

/// The combined figures as text. With `each_key` or `--all`, the text has a row for each landmark, otherwise for each
/// group of landmarks.
pub fn repeated_text(report: &RepeatedReport, each_key: bool, page: &Page) -> String {
    let recordings = format!(
        "{} recordings (mean ± standard deviation over them):",
        report.traces.len()
    );
    let head = format!(
        "{}\n\
         {} episodes, {} too long;\n\
         {} ms in episodes, the user waited {} ms.\n\n",
        page.paint(Style::Bold, &recordings),
        figure(&report.count),
        figure(&report.perceptible),
        figure(&report.in_episode_ms),
        figure(&report.wait_ms)
    );
    let (list, rows) = match each_key || page.all {
        true => (&report.landmarks, usize::MAX),
        false => (&report.groups, ROWS),
    };
    let mut table = Table::new(["Landmark (ms)", "In", "Count", "p50", "Mean", "Max"]);
    for of in list.iter().take(rows) {
        table.row([
            cut(&of.landmark, 26 + spare(page)),
            of.recordings.to_string(),
            figure(&of.count),
            figure(&of.median_ms),
            figure(&of.mean_ms),
            figure(&of.max_ms),
        ]);
    }
    let more = list.len().saturating_sub(rows);
    format!("{head}{}{}", table.on(page), left_out(more, " with --all"))
}

fn figure(of: &Figure) -> String {
    match of.standard_deviation {
        Some(deviation) => format!("{}±{}", brief(of.mean), brief(deviation)),
        None => brief(of.mean),
    }
}

/// The landmarks with their combined figures as CSV.
pub fn repeated_csv(report: &RepeatedReport) -> String {
    let mut out = ::csv::Writer::from_writer(Vec::new());
    let heads = [
        "landmark",
        "recordings",
        "count_mean",
        "count_sd",
        "perceptible_mean",
        "perceptible_sd",
        "mean_ms_mean",
        "mean_ms_sd",
        "median_ms_mean",
        "median_ms_sd",
        "max_ms_mean",
        "max_ms_sd",
        "total_ms_mean",
        "total_ms_sd",
    ];
    // Writing to memory does not fail.
    let _ = out.write_record(heads);
    for of in &report.landmarks {
        let _ = out.write_record(row(of));
    }
    csv_tables::text(out)
}

fn row(of: &RepeatedLandmark) -> Vec<String> {
    let mut cells = vec![of.landmark.clone(), of.recordings.to_string()];
    for figure in [
        &of.count,
        &of.perceptible,
        &of.mean_ms,
        &of.median_ms,
        &of.max_ms,
        &of.total_ms,
    ] {
        cells.push(figure.mean.to_string());
        let deviation = figure.standard_deviation;
        cells.push(deviation.map(|sd| sd.to_string()).unwrap_or_default());
    }
    cells
}
