//! Message statistics as text, in the layout of the paper's Tables 4, 5 and 6.

use x11prof_analyzer::{
    CategoryReport, Cell, DistributionReport, MessageReport, StatisticsReport, percent,
};

use super::bars::bars;
use super::summary::summary;
use crate::page::Page;
use crate::plain::plain;
use crate::table::Table;
use crate::units::duration;

/// The statistics as text: on one screen or, with `--all`, in the layout of the paper's tables.
pub fn text(report: &StatisticsReport, page: &Page) -> String {
    if !page.all {
        return summary(report, page);
    }
    let mut text = String::new();
    for category in &report.categories {
        text.push_str(&category_text(category, page));
    }
    for message in &report.messages {
        text.push_str(&message_text(message, page));
    }
    let all = report
        .categories
        .iter()
        .flat_map(|of| [&of.inter_arrival_ms, &of.zeros_removed_ms, &of.bytes]);
    let all = all.chain(report.messages.iter().flat_map(|of| {
        let sizes = of.op_size.as_ref().unwrap_or(&of.bytes);
        [&of.inter_arrival_ms, &of.zeros_removed_ms, sizes]
    }));
    if all.into_iter().any(|distribution| !distribution.exact) {
        text.push_str(
            "~ of too many different values to keep them all: mode and median are a \
             sketch's, right to a 128th\n",
        );
    }
    page.fold(&text)
}

fn category_text(of: &CategoryReport, page: &Page) -> String {
    let mut text = statistics(&of.name, &of.inter_arrival_ms, &of.zeros_removed_ms, page);
    text.push_str(&sizes("Size distribution (bytes):", &of.bytes, page));
    if !of.by_message.is_empty() {
        text.push_str(&bytes_by_message(of, page));
        text.push('\n');
    }
    text
}

/// Returns Table 5 of the Xprof paper: the bytes by message.
fn bytes_by_message(of: &CategoryReport, page: &Page) -> String {
    let heading = match of.name.as_str() {
        "Requests" => "Request messages",
        "Replies" => "Reply messages",
        "Events" => "Event messages",
        _ => "Error messages",
    };
    let mut table = Table::new([heading, "Total Bytes", "Count"]);
    let count = of.bytes.number;
    for line in &of.by_message {
        let of_bytes = percent(line.total_bytes as f64, of.total_bytes as f64);
        let of_count = percent(line.count as f64, count as f64);
        table.row([
            plain(&line.name).into_owned(),
            format!("{} bytes ({of_bytes:.2}%)", line.total_bytes),
            format!("{} ({of_count:.2}%)", line.count),
        ]);
    }
    table.row([
        "Grand Total".to_owned(),
        format!("{} bytes", of.total_bytes),
        count.to_string(),
    ]);
    table.on(page)
}

/// Returns Table 6 of the Xprof paper: the distributions of one message.
fn message_text(of: &MessageReport, page: &Page) -> String {
    let name = match of.category.as_str() {
        "Replies" => format!("{} replies", of.name),
        _ => of.name.clone(),
    };
    let mut text = statistics(&name, &of.inter_arrival_ms, &of.zeros_removed_ms, page);
    match &of.op_size {
        Some(op_size) => {
            text.push_str(&sizes("Size distribution (op-size):", op_size, page));
            text.push_str(&sizes("Size distribution (bytes):", &of.bytes, page));
        }
        None => text.push_str(&sizes("Size distribution (bytes):", &of.bytes, page)),
    }
    text
}

fn statistics(
    name: &str,
    all: &DistributionReport,
    zeros_removed: &DistributionReport,
    page: &Page,
) -> String {
    let mut text = format!("***** Statistics for {} *****\n", plain(name));
    text.push_str("Inter-arrival time distribution (ms):\n");
    let mut table = Table::new(HEADINGS);
    table.row(row("(All points)", all, time));
    table.row(row("(Zeros removed)", zeros_removed, time));
    text.push_str(&table.on(page));
    if let Some(cells) = &all.histogram {
        text.push_str(&histogram(cells, |nanos| duration(nanos as f64 / 1e6)));
    }
    text.push('\n');
    text
}

fn sizes(heading: &str, distribution: &DistributionReport, page: &Page) -> String {
    let mut text = format!("{heading}\n");
    let mut table = Table::new(HEADINGS);
    table.row(row("(All points)", distribution, size));
    text.push_str(&table.on(page));
    if let Some(cells) = &distribution.histogram {
        text.push_str(&histogram(cells, |edge| edge.to_string()));
    }
    text.push('\n');
    text
}

const HEADINGS: [&str; 7] = ["", "Count", "Range", "Mode", "Median", "Mean", "Std. Dev."];

fn row(name: &str, distribution: &DistributionReport, figure: fn(f64) -> String) -> [String; 7] {
    let some = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
    let two = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"));
    let range = match (distribution.min, distribution.max) {
        (Some(min), Some(max)) => format!("{}-{}", figure(min), figure(max)),
        _ => "-".to_owned(),
    };
    let sketched = if distribution.exact { "" } else { "~" };
    [
        name.to_owned(),
        distribution.number.to_string(),
        range,
        format!("{sketched}{}", some(distribution.mode)),
        format!("{sketched}{}", some(distribution.median)),
        two(distribution.mean),
        two(distribution.standard_deviation),
    ]
}

/// Formats milliseconds. The paper's clock had a resolution of 10 ms; this clock has a resolution of 1 ns.
fn time(ms: f64) -> String {
    if ms == 0.0 {
        "0".to_owned()
    } else {
        format!("{ms:.3}")
    }
}

fn size(size: f64) -> String {
    format!("{size:.0}")
}

fn histogram(cells: &[Cell], edge: impl Fn(u64) -> String) -> String {
    if cells.is_empty() {
        return String::new();
    }
    format!("\n{}", bars(cells, edge))
}
