//! The message statistics of a recording on one screen: the four categories, and the messages with the most bytes.

use x11prof_analyzer::{DistributionReport, StatisticsReport, percent};

use crate::page::{Page, Style};
use crate::plain::plain;
use crate::table::Table;
use crate::units::{bytes, duration, share};

pub(super) fn summary(report: &StatisticsReport, page: &Page) -> String {
    let all: u64 = report.categories.iter().map(|of| of.total_bytes).sum();
    let (name, took) = (plain(&report.trace), duration(report.duration_ms));
    let rate = bytes((all as f64 / (report.duration_ms / 1e3).max(1e-3)) as u64);
    let head = format!("{name}: {took}, {} ({rate} per second)", bytes(all));
    let mut text = page.wrap_in(Style::Bold, &head, 2);
    text.push('\n');
    let mut table = Table::new([
        "Category",
        "Count",
        "Bytes",
        "Mean size",
        "Largest",
        "Median gap",
        "Longest gap",
    ])
    .spare([4]);
    for of in &report.categories {
        let size = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| bytes(v as u64));
        table.row([
            of.name.clone(),
            of.bytes.number.to_string(),
            bytes(of.total_bytes),
            size(of.bytes.mean),
            size(of.bytes.max),
            time(&of.inter_arrival_ms, |of| of.median),
            time(&of.inter_arrival_ms, |of| of.max),
        ]);
    }
    text.push_str(&table.on(page));
    text.push('\n');
    let mut kinds: Vec<(&str, &str, u64, u64)> = Vec::new();
    for of in &report.categories {
        let lines = of.by_message.iter();
        kinds.extend(lines.map(|line| {
            (
                of.name.as_str(),
                line.name.as_str(),
                line.total_bytes,
                line.count,
            )
        }));
    }
    kinds.sort_by_key(|(_, _, bytes, _)| std::cmp::Reverse(*bytes));
    let mut table = Table::new(["Message", "Category", "Count", "Bytes", "Of all"]).left([1]);
    let shown = match kinds.len() <= page.rows.saturating_add(1) {
        true => kinds.len(),
        false => page.rows,
    };
    let mut row = |name: &str, category: &str, total: u64, count: u64| {
        let part = percent(total as f64, all as f64);
        table.row([
            name.to_owned(),
            category.to_owned(),
            count.to_string(),
            bytes(total),
            share(part),
        ]);
        table.bar(part / 100.0);
    };
    let (first, others) = kinds.split_at(shown);
    for (category, name, total, count) in first {
        row(name, category, *total, *count);
    }
    if !others.is_empty() {
        let total = others.iter().map(|(_, _, total, _)| total).sum();
        let count = others.iter().map(|(_, _, _, count)| count).sum();
        row(&format!("… {} more", others.len()), "", total, count);
    }
    text.push_str(&table.on(page));
    let legend = "Without the connections' setup. Gap: time between messages. More: --message NAME, --histograms, --all";
    text + &page.wrap_in(Style::Faint, legend, 0)
}

fn time(of: &DistributionReport, which: fn(&DistributionReport) -> Option<f64>) -> String {
    which(of).map_or_else(|| "-".to_owned(), duration)
}
