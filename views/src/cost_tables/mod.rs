//! The costs of requests on several servers, as in the paper's Table 1: text and CSV.

use serde::Serialize;
use x11prof_cost_model::{TypicalCost, TypicalCosts, TypicalRequest};

use crate::csv_tables;
use crate::page::{Page, Style, name};
use crate::plain::plain;
use crate::table::Table;

/// The maximum width of a server's column, in characters.
const COLUMN: usize = 15;
/// The maximum width of a request's name in characters, if the table is split.
const NAME: usize = 24;
/// The width of the size column in characters, including gaps.
const SIZE: usize = 2 + 7;

/// The table in text form, split into as many parts as the page width requires.
pub fn text(table: &TypicalCosts, page: &Page) -> String {
    let widest = table.servers.iter().map(|name| name.chars().count());
    let column = widest.max().unwrap_or(COLUMN).clamp(9, COLUMN) + 2;
    let names = table.requests.iter().map(|row| row.request.chars().count());
    let first = names.max().unwrap_or(NAME).min(NAME) + SIZE;
    let each = (page.columns().saturating_sub(first) / column).max(1);
    let all: Vec<usize> = (0..table.servers.len()).collect();
    let mut text = String::new();
    for servers in all.chunks(each) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&piece(table, servers).on(page));
    }
    let costs = || table.requests.iter().flat_map(|row| row.servers.iter());
    let mut legend =
        "Milliseconds for one item of that op-size (an area, a length, characters).".to_owned();
    if costs().flatten().any(|cost| cost.substituted) {
        legend.push_str(" * cost of a substituted attribute.");
    }
    if costs().flatten().any(|cost| cost.extrapolated) {
        legend.push_str(" ~ beyond what was measured.");
    }
    if costs().any(Option::is_none) {
        legend.push_str(" - no cost data.");
    }
    text.push_str(&page.wrap_in(Style::Faint, &legend, 0));
    let attributes = attributes(table).into_iter();
    text.extend(attributes.map(|line| page.wrap_in(Style::Faint, &line, 2)));
    text
}

fn piece(table: &TypicalCosts, servers: &[usize]) -> Table {
    let mut rows = Table::new(["Request", "Size"]);
    rows.headings(servers.iter().map(|at| name(&table.servers[*at], COLUMN)));
    let mut last = "";
    for row in &table.requests {
        // As in the paper, the name of a request is printed once.
        let request = if row.request == last {
            ""
        } else {
            &row.request
        };
        last = &row.request;
        let cells = servers
            .iter()
            .map(|at| cell(row.servers.get(*at).copied().flatten()));
        let head = [request.to_owned(), row.size.to_string()];
        rows.row(head.into_iter().chain(cells));
    }
    rows
}

fn cell(cost: Option<TypicalCost>) -> String {
    let Some(cost) = cost else {
        return "-".to_owned();
    };
    let mark = match (cost.substituted, cost.extrapolated) {
        (true, _) => "*",
        (false, true) => "~",
        (false, false) => "",
    };
    format!("{mark}{}", milliseconds(cost.ms))
}

/// Formats milliseconds with a number of decimals that depends on the size. Costs range from nanoseconds to seconds.
fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms >= 100.0 => format!("{ms:.0}"),
        ms if ms >= 10.0 => format!("{ms:.1}"),
        ms if ms >= 1.0 => format!("{ms:.2}"),
        ms if ms >= 0.01 => format!("{ms:.4}"),
        ms if ms > 0.0 => format!("{ms:.6}"),
        _ => "0".to_owned(),
    }
}

/// Returns the attributes of each request, one line for each request.
fn attributes(table: &TypicalCosts) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for row in table
        .requests
        .iter()
        .filter(|row| !row.attributes.is_empty())
    {
        let line = format!("{}: {}", plain(&row.request), plain(&row.attributes));
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

#[derive(Serialize)]
struct Line<'a> {
    request: &'a str,
    attributes: &'a str,
    size: f64,
    server: &'a str,
    ms: Option<f64>,
    low_ms: Option<f64>,
    high_ms: Option<f64>,
    substituted: Option<bool>,
    extrapolated: Option<bool>,
}

/// The costs as CSV, with a line for each request, size and server.
pub fn csv(table: &TypicalCosts) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    for row in &table.requests {
        for (server, cost) in table.servers.iter().zip(&row.servers) {
            csv_tables::row(&mut out, &line(row, server, cost.as_ref()));
        }
    }
    csv_tables::text(out)
}

fn line<'a>(row: &'a TypicalRequest, server: &'a str, cost: Option<&TypicalCost>) -> Line<'a> {
    Line {
        request: &row.request,
        attributes: &row.attributes,
        size: row.size,
        server,
        ms: cost.map(|cost| cost.ms),
        low_ms: cost.map(|cost| cost.low_ms),
        high_ms: cost.map(|cost| cost.high_ms),
        substituted: cost.map(|cost| cost.substituted),
        extrapolated: cost.map(|cost| cost.extrapolated),
    }
}
