//! Results as CSV: one table for each result. The columns are the fields of the JSON.

use std::borrow::Cow;

use csv::{ReaderBuilder, Writer, WriterBuilder};
use serde::Serialize;

use x11prof_analyzer::{
    Comparison, DistributionReport, ProfileReport, RequestReport, StatisticsReport, percent,
};

use crate::plain::plain;
use crate::profile::transport::transport_parts;

/// A line of a profile's CSV: a request or a group of requests, a part of transport, or the total.
#[derive(Serialize, Default)]
struct ProfileRow<'a> {
    kind: &'a str,
    name: &'a str,
    count: u64,
    bytes: u64,
    time_ms: f64,
    server_ms: f64,
    network_ms: f64,
    percent_of_time: f64,
    percent_of_count: Option<f64>,
    low_ms: Option<f64>,
    high_ms: Option<f64>,
    #[serde(rename = "round_trips")]
    blocking: Option<u64>,
    failed: Option<u64>,
    transport_ms: Option<f64>,
    charged_ms: Option<f64>,
    exact: Option<u64>,
    interpolated: Option<u64>,
    substituted: Option<u64>,
    #[serde(rename = "no_cost_data")]
    no_cost: Option<u64>,
}

/// The profile as CSV: a line for each request, or for each group if the user requested groups, followed by transport
/// and the total. `top` is the maximum number of requests or groups; `None` for all.
pub fn profile(report: &ProfileReport, top: Option<usize>) -> String {
    let (kind, lines) = match &report.groups {
        Some(groups) => (groups.by.as_str(), &groups.lines),
        None => ("request", &report.requests),
    };
    let mut out = Writer::from_writer(Vec::new());
    for line in lines.iter().take(top.unwrap_or(usize::MAX)) {
        row(&mut out, &profile_row(kind, line));
    }
    if let Some(running) = &report.running {
        for of in running.places.iter().take(top.unwrap_or(usize::MAX)) {
            let ran = ProfileRow {
                kind: "ran",
                name: &of.place,
                time_ms: of.ran_ms,
                percent_of_time: percent(of.ran_ms, running.ran_ms),
                ..ProfileRow::default()
            };
            row(&mut out, &ran);
        }
    }
    for part in transport_parts(report) {
        let time_ms = part.server_ms + part.network_ms;
        row(
            &mut out,
            &ProfileRow {
                kind: "transport",
                name: part.name,
                count: part.count,
                bytes: part.bytes,
                time_ms,
                server_ms: part.server_ms,
                network_ms: part.network_ms,
                percent_of_time: percent(time_ms, report.total.time_ms),
                ..ProfileRow::default()
            },
        );
    }
    let total = &report.total;
    row(
        &mut out,
        &ProfileRow {
            kind: "total",
            name: "Grand Total",
            count: total.count,
            bytes: total.bytes,
            time_ms: total.time_ms,
            server_ms: total.server_ms,
            network_ms: total.network_ms,
            percent_of_time: 100.0,
            percent_of_count: Some(100.0),
            low_ms: Some(total.low_ms),
            high_ms: Some(total.high_ms),
            no_cost: Some(total.no_cost),
            ..ProfileRow::default()
        },
    );
    text(out)
}

fn profile_row<'a>(kind: &'a str, line: &'a RequestReport) -> ProfileRow<'a> {
    ProfileRow {
        kind,
        name: &line.name,
        count: line.count,
        bytes: line.bytes,
        time_ms: line.time_ms,
        server_ms: line.server_ms,
        network_ms: line.network_ms,
        percent_of_time: line.percent_of_time,
        percent_of_count: Some(line.percent_of_count),
        low_ms: Some(line.low_ms),
        high_ms: Some(line.high_ms),
        blocking: Some(line.blocking),
        failed: Some(line.failed),
        transport_ms: Some(line.transport_ms),
        charged_ms: Some(line.charged_ms),
        exact: Some(line.exact),
        interpolated: Some(line.interpolated),
        substituted: Some(line.substituted),
        no_cost: Some(line.no_cost),
    }
}

/// A line of a comparison's CSV: the figures of a request on one server.
#[derive(Serialize)]
struct ComparisonRow<'a> {
    request: &'a str,
    count: u64,
    server: &'a str,
    bytes_per_second: Option<f64>,
    rtt_ms: f64,
    time_ms: f64,
    server_ms: f64,
    network_ms: f64,
    percent_of_time: f64,
    dominates: bool,
    #[serde(rename = "no_cost_data")]
    no_cost: u64,
}

/// The table of a comparison: a row for each request on each server.
pub fn comparison(comparison: &Comparison) -> String {
    let mut out = Writer::from_writer(Vec::new());
    for request in &comparison.requests {
        for (cell, server) in request.servers.iter().zip(&comparison.servers) {
            row(
                &mut out,
                &ComparisonRow {
                    request: &request.name,
                    count: request.count,
                    server: &server.name,
                    bytes_per_second: server.network.bytes_per_second,
                    rtt_ms: server.network.rtt_ms,
                    time_ms: cell.time_ms,
                    server_ms: cell.server_ms,
                    network_ms: cell.network_ms,
                    percent_of_time: cell.percent_of_time,
                    dominates: cell.dominates,
                    no_cost: cell.no_cost,
                },
            );
        }
    }
    text(out)
}

/// A line of the statistics' CSV: a distribution for one kind of message.
#[derive(Serialize)]
struct DistributionRow<'a> {
    category: &'a str,
    message: &'a str,
    quantity: &'a str,
    #[serde(rename = "count")]
    number: u64,
    min: Option<f64>,
    max: Option<f64>,
    mode: Option<f64>,
    median: Option<f64>,
    mean: Option<f64>,
    standard_deviation: Option<f64>,
    exact: bool,
}

/// The message statistics as CSV: a row for each distribution. In the distributions of a whole category, the message
/// name is empty.
pub fn statistics(report: &StatisticsReport) -> String {
    let mut out = Writer::from_writer(Vec::new());
    let mut add = |category: &str, message: &str, quantity: &str, of: &DistributionReport| {
        row(
            &mut out,
            &DistributionRow {
                category,
                message,
                quantity,
                number: of.number,
                min: of.min,
                max: of.max,
                mode: of.mode,
                median: of.median,
                mean: of.mean,
                standard_deviation: of.standard_deviation,
                exact: of.exact,
            },
        );
    };
    for of in &report.categories {
        add(&of.name, "", "inter_arrival_ms", &of.inter_arrival_ms);
        add(&of.name, "", "zeros_removed_ms", &of.zeros_removed_ms);
        add(&of.name, "", "bytes", &of.bytes);
    }
    for of in &report.messages {
        let mut add = |quantity, distribution| add(&of.category, &of.name, quantity, distribution);
        add("inter_arrival_ms", &of.inter_arrival_ms);
        add("zeros_removed_ms", &of.zeros_removed_ms);
        add("bytes", &of.bytes);
        if let Some(sizes) = &of.op_size {
            add("op_size", sizes);
        }
    }
    text(out)
}

pub(crate) fn row(out: &mut Writer<Vec<u8>>, row: &impl Serialize) {
    // Writing flat rows into memory cannot fail.
    let _ = out.serialize(row);
}

/// Returns the text of the table that was written to `out`. Names in a trace may contain any bytes: terminals execute
/// control characters, and spreadsheets treat text that begins with one of `=+-@` as a formula. Control characters are
/// therefore replaced, and such formulas are prefixed with an apostrophe.
pub(crate) fn text(out: Writer<Vec<u8>>) -> String {
    let written = out.into_inner().unwrap_or_default();
    let mut table = WriterBuilder::new();
    let mut table = table
        .flexible(true)
        .from_writer(Vec::with_capacity(written.len()));
    let mut rows = ReaderBuilder::new();
    let mut rows = rows
        .has_headers(false)
        .flexible(true)
        .from_reader(&*written);
    for row in rows.records().flatten() {
        // Writing rows of equal length into memory cannot fail.
        let _ = table.write_record(row.iter().map(|cell| harmless(cell).into_owned()));
    }
    String::from_utf8_lossy(&table.into_inner().unwrap_or_default()).into_owned()
}

fn harmless(cell: &str) -> Cow<'_, str> {
    // Spreadsheets skip blanks and a byte-order mark.
    let begin = cell.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    match begin.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err() {
        true => format!("'{}", plain(cell)).into(),
        false => plain(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_names_cannot_be_formulas_or_break_rows() {
        let mut out = Writer::from_writer(Vec::new());
        for name in [
            "=HYPERLINK(\"x\")",
            "@a",
            "-title",
            "two\nlines",
            "\u{feff} =1",
        ] {
            row(&mut out, &(name, -1.5, Some(2), None::<f64>));
        }
        let rows = "\"'=HYPERLINK(\"\"x\"\")\",-1.5,2,\n'@a,-1.5,2,\n'-title,-1.5,2,\ntwo?lines,-1.5,2,\n'? =1,-1.5,2,\n";
        assert_eq!(text(out), rows);
    }
}
