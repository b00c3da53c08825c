//! The execution profile as text, with the columns of the paper's Tables 2 and 3.

use std::fmt::{self, Write};

use x11prof_analyzer::{Basis, NetworkReport, ProfileReport, RequestReport, percent};
use x11prof_cost_model::Clock;

use super::partition::write_partition;
use super::transport::transport_parts;
use super::warnings::write_warnings;
use crate::comparison::text::scaled_text;
use crate::table::{Table, plain};
use crate::units::counted;
use crate::{grabs, resources};

/// Kinds of events shown; the JSON has them all.
const SHOWN: usize = 10;

/// The report for people; of the requests only the first `top`, where that is given.
pub fn text(report: &ProfileReport, top: Option<usize>) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_text(report, &mut text, top);
    text
}

fn write_text(report: &ProfileReport, out: &mut String, top: Option<usize>) -> fmt::Result {
    head(report, out)?;
    writeln!(out)?;
    write!(out, "{}", table(report, top))?;
    writeln!(out)?;
    round_trips(report, out)?;
    events(report, out)?;
    accuracy(report, out)?;
    if let Some(held) = &report.resources {
        out.write_str(&resources::text(held))?;
    }
    if let Some(report) = &report.grabs {
        out.write_str(&grabs::text(report))?;
    }
    write_warnings(out, &report.warnings)
}

fn head(report: &ProfileReport, out: &mut String) -> fmt::Result {
    let trace = &report.trace;
    writeln!(
        out,
        "Trace {}: {:.3} s, {} requests on {}{}",
        plain(&trace.path),
        trace.duration_ms / 1e3,
        report.total.count,
        counted(trace.connection_count, "connection"),
        if trace.complete { "" } else { ", cut off" },
    )?;
    let clock = report.server.clock.map_or("", |clock| match clock {
        Clock::Cpu => " (CPU time)",
        Clock::Wall => " (wall clock)",
    });
    writeln!(out, "Server time: {}", basis(report.server.basis))?;
    writeln!(
        out,
        "Server parameters: {}{clock}",
        plain(&report.server.name)
    )?;
    if let Some(by) = &report.server.brought {
        writeln!(out, "Brought here from {}: {by}", plain(&by.from))?;
    }
    writeln!(out, "{}", network(&report.network))?;
    out.write_str(&scaled_text(&report.scaled))
}

fn table(report: &ProfileReport, top: Option<usize>) -> Table {
    let (heading, lines) = match &report.groups {
        Some(groups) => (group_heading(&groups.by), &groups.lines),
        None => ("Request Name", &report.requests),
    };
    let mut table = Table::new([
        heading,
        "Time (ms)",
        "% of total",
        "Compute part (%)",
        "Network part (%)",
        "No. of msgs",
        "% of total",
        "Time/call (ms)",
    ]);
    let shown = top.unwrap_or(usize::MAX).min(lines.len());
    let (first, rest) = lines.split_at(shown);
    for line in first {
        let (count, share) = (line.count, line.percent_of_count);
        table.row(row(
            report,
            &line.name,
            line.server_ms,
            line.network_ms,
            count,
            Some(share),
        ));
    }
    if !rest.is_empty() {
        let sum = |part: fn(&RequestReport) -> f64| rest.iter().map(part).sum::<f64>();
        let (server, network) = (sum(|line| line.server_ms), sum(|line| line.network_ms));
        let count = rest.iter().map(|line| line.count).sum();
        let share = sum(|line| line.percent_of_count);
        let name = format!("... {} more", rest.len());
        table.row(row(report, &name, server, network, count, Some(share)));
    }
    for part in transport_parts(report) {
        let name = format!("Transport: {}", part.name);
        table.row(row(
            report,
            &name,
            part.server_ms,
            part.network_ms,
            part.count,
            None,
        ));
    }
    let total = &report.total;
    let all = Some(100.0);
    table.row(row(
        report,
        "Grand Total",
        total.server_ms,
        total.network_ms,
        total.count,
        all,
    ));
    table
}

/// A line of the table: server's and network's time, number of messages and their share.
fn row(
    report: &ProfileReport,
    name: &str,
    server: f64,
    network: f64,
    count: u64,
    share: Option<f64>,
) -> [String; 8] {
    let total = report.total.time_ms;
    let time = server + network;
    let per_call = if count > 0 { time / count as f64 } else { 0.0 };
    [
        plain(name).into_owned(),
        format!("{time:.3}"),
        format!("{:.2}%", percent(time, total)),
        format!("{:.2}%", percent(server, total)),
        format!("{:.2}%", percent(network, total)),
        count.to_string(),
        share
            .map(|share| format!("{share:.2}%"))
            .unwrap_or_default(),
        format!("{per_call:.6}"),
    ]
}

/// How many requests are charged the latency (equation 7), and what that comes to.
fn round_trips(report: &ProfileReport, out: &mut String) -> fmt::Result {
    let count: u64 = report.requests.iter().map(|line| line.blocking).sum();
    let latency = count as f64 * report.network.rtt_ms;
    let of = counted(count, "request");
    writeln!(
        out,
        "Round trips: {of} waited for, {latency:.3} ms of latency"
    )
}

/// The kinds of events, which the transport's line adds up.
fn events(report: &ProfileReport, out: &mut String) -> fmt::Result {
    let kinds = report.events.iter().take(SHOWN).map(|event| {
        let time = event.server_ms + event.network_ms;
        format!("{} {} ({time:.3} ms)", event.count, plain(&event.name))
    });
    let kinds: Vec<String> = kinds.collect();
    if kinds.is_empty() {
        return Ok(());
    }
    let more = match report.events.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(", {}", counted(more as u64, "more kind")),
    };
    writeln!(out, "Events: {}{more}", kinds.join(", "))
}

/// What there is to judge the estimate by.
fn accuracy(report: &ProfileReport, out: &mut String) -> fmt::Result {
    let total = &report.total;
    let sum = |part: fn(&RequestReport) -> u64| report.requests.iter().map(part).sum::<u64>();
    writeln!(
        out,
        "Priced: {} of {} requests ({} exact, {} interpolated, {} substituted)",
        total.count - total.unpriced.min(total.count),
        total.count,
        sum(|line| line.exact),
        sum(|line| line.interpolated),
        sum(|line| line.substituted),
    )?;
    // The kernel's total has no bounds.
    if report.server.basis != Basis::Measured {
        writeln!(
            out,
            "Bounds: the calibration allows {:.3} to {:.3} ms in all",
            total.low_ms, total.high_ms,
        )?;
    }
    write_partition(out, &report.client_and_server)
}

fn group_heading(by: &str) -> &'static str {
    match by {
        "client" => "Client",
        "window" => "Window",
        "drawable" => "Drawable",
        _ => "Atom",
    }
}

/// `Network speed = 100.00 KBytes/sec, Latency = 10.00 ms`, as the paper prints it.
pub(crate) fn network(of: &NetworkReport) -> String {
    let speed = match of.bytes_per_second {
        Some(speed) => format!("{:.2} KBytes/sec", speed / 1e3),
        None => "unlimited".to_owned(),
    };
    let compression = match of.compression {
        Some(ratio) => format!(", Compression = {ratio}"),
        None => String::new(),
    };
    format!(
        "Network speed = {speed}, Latency = {:.2} ms{compression}",
        of.rtt_ms
    )
}

/// In a line of a report.
pub(crate) fn basis(of: Basis) -> &'static str {
    match of {
        Basis::Measured => "measured (the kernel's clock, divided by prices)",
        Basis::Carried => "carried over (measured, times price there / price here)",
        Basis::Modelled => "modelled (prices alone)",
    }
}
