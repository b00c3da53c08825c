//! The details of a profile that are not on the first screen: transport by its parts, events, server runs, and sources
//! of costs.

use x11prof_analyzer::{ProfileReport, RequestReport, TimeSource, percent};

use super::transport::transport_parts;
use super::warnings::warnings;
use crate::page::Page;
use crate::plain::plain;
use crate::table::Table;
use crate::units::{counted, decimals, duration, share};

pub(super) fn details(report: &ProfileReport, page: &Page) -> String {
    let mut text = transport(report, page);
    text.push_str(&events(report, page));
    text.push_str(&figures(report, page));
    text.push_str(&warnings(&report.warnings, page));
    text
}

/// Returns the parts of the transport time. The rows of requests already include this time.
fn transport(report: &ProfileReport, page: &Page) -> String {
    let rows = transport_parts(report).map(|part| Row {
        name: part.name,
        time_ms: part.server_ms + part.network_ms,
        count: part.count,
        bytes: part.bytes,
    });
    table("Parts of the times above", rows, report, page)
}

fn events(report: &ProfileReport, page: &Page) -> String {
    if report.events.is_empty() {
        return String::new();
    }
    let rows = report.events.iter().map(|event| Row {
        name: &event.name,
        time_ms: event.server_ms + event.network_ms,
        count: event.count,
        bytes: event.bytes,
    });
    table("Event", rows, report, page)
}

/// A row of the transport table.
struct Row<'a> {
    name: &'a str,
    time_ms: f64,
    count: u64,
    bytes: u64,
}

fn table<'a>(
    what: &str,
    rows: impl Iterator<Item = Row<'a>>,
    report: &ProfileReport,
    page: &Page,
) -> String {
    let mut table = Table::new([what, "Time ms", "Share", "Count", "Bytes"]);
    let places = decimals(report.total.time_ms);
    for row in rows {
        let percent = percent(row.time_ms, report.total.time_ms);
        table.row([
            row.name.to_owned(),
            format!("{:.places$}", row.time_ms),
            share(percent),
            row.count.to_string(),
            row.bytes.to_string(),
        ]);
        table.bar(percent / 100.0);
    }
    format!("\n{}", table.on(page))
}

/// Returns the figures with which a reader assesses the quality of the other figures.
fn figures(report: &ProfileReport, page: &Page) -> String {
    let total = &report.total;
    let sum = |part: fn(&RequestReport) -> u64| report.requests.iter().map(part).sum::<u64>();
    let mut text = "\n".to_owned();
    let trips = sum(|line| line.blocking);
    let latency = match report.network.rtt_ms {
        0.0 => String::new(),
        rtt => format!(", {} of latency", duration(trips as f64 * rtt)),
    };
    text.push_str(&page.wrap(&format!("Round trips: {trips}{latency}"), 2));
    // Timed requests need no cost data.
    let is_timed = report.server.basis == TimeSource::Timed;
    if !is_timed {
        let line = format!(
            "Cost data: {} of {} ({} exact, {} interpolated, {} substituted)",
            total.count - total.no_cost.min(total.count),
            counted(total.count, "request"),
            sum(|line| line.exact),
            sum(|line| line.interpolated),
            sum(|line| line.substituted),
        );
        text.push_str(&page.wrap(&line, 2));
    }
    // The CPU time from the kernel is exact, so the total has no bounds.
    if !report.server.basis.is_measured() {
        let (low, high) = (duration(total.low_ms), duration(total.high_ms));
        text.push_str(&page.wrap(
            &format!("Total range: {low} to {high} (nine of ten estimates are within 30 %)"),
            2,
        ));
    }
    if let Some(by) = report.server.brought.as_ref().filter(|_| !is_timed) {
        let from = plain(&by.from).into_owned();
        text.push_str(&page.wrap(&format!("Cost table rescaled from {from}: {by}"), 2));
    }
    text
}
