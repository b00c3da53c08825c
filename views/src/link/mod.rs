//! The properties of a connection to a display: text.

use x11prof_analyzer::{LinkReport, SpreadReport};

use crate::page::Page;
use crate::page::Style;
use crate::plain::plain;
use crate::table::Table;
use crate::units::duration;

/// Replies that xterm waits for before it shows something (validation/results).
const XTERM: f64 = 260.0;

/// The report for people.
pub fn text(report: &LinkReport, page: &Page) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let line = format!("Display {}: {}.", plain(&report.display), finding.what);
        text.push_str(&page.wrap_in(Style::Bold, &line, 2));
        let advice = finding
            .advice
            .as_ref()
            .map(|advice| format!("To do: {advice}."));
        let source = finding
            .source
            .as_ref()
            .map(|source| format!("Source: {source}"));
        for line in advice.into_iter().chain(source) {
            text.push_str(&page.wrap(&format!("  {line}"), 2));
        }
    }
    let mut table = Table::new([
        "Round trips, ms",
        "Count",
        "Least",
        "Median",
        "95 %",
        "Most",
    ]);
    for (name, times) in [
        ("in a row", &report.round_trips),
        ("after pauses", &report.paced),
    ] {
        table.row(row(name, times));
    }
    text.push_str(&format!("\n{}", table.on(page)));
    let speed = |speed: Option<f64>| {
        speed.map_or_else(
            || "too fast to tell".to_owned(),
            |speed| format!("{:.1} MB/s", speed / 1e6),
        )
    };
    text.push_str(&format!(
        "Speed: {} to the server, {} back\n",
        speed(report.to_server_bytes_per_second),
        speed(report.to_client_bytes_per_second)
    ));
    if let Some(median) = report.round_trips.median_ms {
        let waits = XTERM * median / 1e3;
        let line = format!(
            "A program that waits for {XTERM:.0} replies before it shows something, as xterm does, \
             waits {waits:.2} s here."
        );
        text.push_str(&page.wrap(&line, 0));
    }
    text
}

/// The gravest of it in a line: `Connection: replies come in steps … (round trips 21.3 ms); to do: …`.
pub(crate) fn line(report: &LinkReport) -> String {
    let first = report.findings.first();
    let what = first.map_or("measured", |finding| &finding.what);
    let median = report.round_trips.median_ms;
    let median = median.map_or_else(String::new, |ms| format!(" (round trips {})", duration(ms)));
    let advice = first.and_then(|finding| finding.advice.as_ref());
    let advice = advice.map_or_else(String::new, |advice| format!("; to do: {advice}"));
    format!("Connection: {what}{median}{advice}")
}

fn row(name: &str, times: &SpreadReport) -> [String; 6] {
    let ms = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"));
    [
        name.to_owned(),
        times.count.to_string(),
        ms(times.min_ms),
        ms(times.median_ms),
        ms(times.p95_ms),
        ms(times.max_ms),
    ]
}
