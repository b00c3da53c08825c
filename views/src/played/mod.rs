//! The latencies of driven sessions, as text and CSV: the latency of each action over several runs, and the
//! distribution of latencies within a run.

#[cfg(test)]
mod tests;

use serde::Serialize;
use x11prof_analyzer::{ActionReport, LatencySpread, PlaysReport, RunReport, component_name};

use crate::csv_tables;
use crate::page::{Page, Style};
use crate::plain::plain;
use crate::table::Table;
use crate::units::{counted, decimals, duration};

/// The default number of rows.
const ROWS: usize = 15;

/// The runs as text: the `ROWS` slowest actions, or all actions in their order if the page shows all results.
pub fn text(report: &PlaysReport, page: &Page) -> String {
    let plays = counted(report.plays.len() as u64, "run");
    let actions = counted(report.actions.len() as u64, "action");
    let mut text = heading(&format!("{plays} of {actions}"), page);
    let mut actions: Vec<&ActionReport> = report.actions.iter().collect();
    let median = |of: &ActionReport| of.latency.as_ref().map_or(-1.0, |of| of.median_ms);
    if !page.all {
        actions.sort_by(|a, b| median(b).total_cmp(&median(a)));
        actions.truncate(ROWS);
    }
    let most = actions.iter().filter_map(|of| of.latency.as_ref());
    let digits = decimals(most.map(|of| of.worst_ms).fold(0.0, f64::max));
    let several = report.plays.len() > 1;
    let mut table = Table::new(["Action", "#", "p50 ms"]).spare([1]);
    if several {
        table.headings(["p95", "Max", "First run"].map(str::to_owned));
    }
    for action in &actions {
        let ms = |value: Option<f64>| value.map_or("–".to_owned(), |ms| format!("{ms:.digits$}"));
        let of = action.latency.as_ref();
        let mut cells = vec![
            action.action.clone(),
            action.number.to_string(),
            ms(of.map(|of| of.median_ms)),
        ];
        if several {
            cells.push(ms(of.map(|of| of.p95_ms)));
            cells.push(ms(of.map(|of| of.worst_ms)));
            cells.push(ms(action.latencies_ms.first().copied().flatten()));
        }
        table.row(cells);
    }
    text.push_str(&table.on(page));
    let mut legend = "Each latency goes from the input event to the end of all effects.".to_owned();
    if several {
        legend.push_str(" p50, p95 and Max exclude the first run, which warms up caches.");
    }
    if actions.iter().any(|action| action.latency.is_none()) {
        legend.push_str(" –: the program did nothing.");
    }
    if actions.len() < report.actions.len() {
        let more = report.actions.len() - actions.len();
        legend.push_str(&format!(
            " {more} more actions are faster (--all shows all in order)."
        ));
    }
    text.push_str(&faint(&legend, page));
    text
}

/// Returns the text on the key presses of each play: the distribution of their latencies, and the components of these
/// latencies.
pub fn keys(report: &PlaysReport, page: &Page) -> String {
    let mut text = String::new();
    for run in &report.plays {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&distribution(run, page));
    }
    let legend = "Latency: from the event in the server until the server has drawn, without the time of a screen or remote viewer. \
                  Of a key's press and release, the longer counts. Each row has its own percentiles, so the rows do \
                  not add up.";
    text.push_str(&faint(legend, page));
    text
}

fn distribution(run: &RunReport, page: &Page) -> String {
    let Some(latency) = &run.latency else {
        let said = format!("{}: the program reacted to no key", plain(&run.trace));
        return heading(&said, page);
    };
    let keys = counted(latency.count as u64, "key");
    let mut first = format!(
        "{}: {keys}, p50 {}, p95 {}",
        plain(&run.trace),
        duration(latency.median_ms),
        duration(latency.p95_ms)
    );
    if run.unanswered > 0 {
        first.push_str(&format!("; {} more without a reaction", run.unanswered));
    }
    if let Some(later) = run
        .drew_later
        .as_ref()
        .filter(|later| 2 * later.count >= latency.count)
    {
        let text = format!(
            "; after {} of them the program drew again, at p50 {}, which may be their visible effect",
            later.count,
            duration(later.median_ms)
        );
        first.push_str(&text);
    }
    let mut text = heading(&first, page);
    let digits = decimals(latency.worst_ms);
    let mut table = Table::new(["ms", "p50", "p95", "p99", "Max"]);
    let mut row = |name: &str, of: &LatencySpread| {
        let values = [of.median_ms, of.p95_ms, of.p99_ms, of.worst_ms];
        let cells = values.map(|ms| format!("{ms:.digits$}"));
        table.row(std::iter::once(name.to_owned()).chain(cells));
    };
    row("latency", latency);
    for (name, spread) in &run.parts {
        row(&format!("  {}", component_name(name)), spread);
    }
    text.push_str(&table.on(page));
    text.push('\n');
    let mut bars = Table::new(["Latency ms", "Keys"]);
    let most = run
        .histogram
        .iter()
        .map(|cell| cell.count)
        .max()
        .unwrap_or(1);
    for cell in &run.histogram {
        bars.row([
            format!("{:.digits$} to {:.digits$}", cell.from_ms, cell.to_ms),
            cell.count.to_string(),
        ]);
        bars.bar(cell.count as f64 / most.max(1) as f64);
    }
    text.push_str(&bars.on(page));
    text
}

fn heading(line: &str, page: &Page) -> String {
    page.wrap_in(Style::Bold, &plain(line), 2)
}

fn faint(line: &str, page: &Page) -> String {
    let line = page.wrap(line, 0);
    format!("{}\n", page.paint(Style::Faint, line.trim_end()))
}

/// The latencies as CSV, with a line for each action of each run.
pub fn csv(report: &PlaysReport) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    for action in &report.actions {
        for (play, latency_ms) in report.plays.iter().zip(&action.latencies_ms) {
            let row = CsvRow {
                trace: &play.trace,
                number: action.number,
                action: &action.action,
                latency_ms: *latency_ms,
            };
            csv_tables::row(&mut out, &row);
        }
    }
    csv_tables::text(out)
}

#[derive(Serialize)]
struct CsvRow<'a> {
    trace: &'a str,
    number: usize,
    action: &'a str,
    latency_ms: Option<f64>,
}
