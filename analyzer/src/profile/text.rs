//! The execution profile as text, with the columns of the paper's Tables 2 and 3.

use std::fmt::{self, Write};

use x11prof_cost_model::Clock;

use crate::comparison::text::scaled_text;
use crate::measured::Basis;
use crate::profile::report::{NetworkReport, ProfileReport, RequestReport};
use crate::profile::reporting::percent;
use crate::table::{Table, plain};
use crate::warnings::{Warning, WarningKind};

/// A part of transport as a line of the table.
pub(crate) struct TransportRow {
    pub(crate) name: &'static str,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) server_ms: f64,
    pub(crate) network_ms: f64,
}

/// Warnings of one kind shown; the JSON has them all.
const SHOWN: usize = 10;

impl ProfileReport {
    /// The report for people; of the requests only the first `top`, where that is given.
    pub fn text(&self, top: Option<usize>) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_text(&mut text, top);
        text
    }

    fn write_text(&self, out: &mut String, top: Option<usize>) -> fmt::Result {
        self.head(out)?;
        writeln!(out)?;
        write!(out, "{}", self.table(top))?;
        writeln!(out)?;
        self.round_trips(out)?;
        self.events(out)?;
        self.accuracy(out)?;
        if let Some(resources) = &self.resources {
            out.write_str(&resources.text())?;
        }
        if let Some(grabs) = &self.grabs {
            out.write_str(&grabs.text())?;
        }
        write_warnings(out, &self.warnings)
    }

    fn head(&self, out: &mut String) -> fmt::Result {
        let trace = &self.trace;
        writeln!(
            out,
            "Trace {}: {:.3} s, {} requests on {}{}",
            plain(&trace.path),
            trace.duration_ms / 1e3,
            self.total.count,
            counted(trace.connection_count, "connection"),
            if trace.complete { "" } else { ", cut off" },
        )?;
        let clock = self.server.clock.map_or("", |clock| match clock {
            Clock::Cpu => " (CPU time)",
            Clock::Wall => " (wall clock)",
        });
        writeln!(out, "Server time: {}", self.server.basis.for_people())?;
        writeln!(
            out,
            "Server parameters: {}{clock}",
            plain(&self.server.name)
        )?;
        if let Some(by) = &self.server.brought {
            writeln!(out, "Brought here from {}: {by}", plain(&by.from))?;
        }
        writeln!(out, "{}", self.network)?;
        out.write_str(&scaled_text(&self.scaled))
    }

    /// The parts of transport that there are.
    pub(crate) fn transport_parts(&self) -> impl Iterator<Item = TransportRow> {
        let transport = &self.transport;
        let row = |name, count, bytes: u64, server_ms| {
            let part = percent(bytes as f64, transport.bytes as f64) / 100.0;
            TransportRow {
                name,
                count,
                bytes,
                server_ms,
                network_ms: transport.network_ms * part,
            }
        };
        let connections = self.trace.connection_count;
        let answers = transport.replies + transport.errors;
        [
            row("wakeups", transport.wakeups, 0, transport.wakeup_ms),
            row("bytes read", self.total.bytes, 0, transport.read_ms),
            row(
                "cold code and pixels",
                transport.cold_requests,
                0,
                transport.cold_ms,
            ),
            row(
                "replies",
                answers,
                transport.reply_bytes,
                transport.reply_ms,
            ),
            row(
                "events",
                transport.events,
                transport.event_bytes,
                transport.event_ms,
            ),
            row(
                "updates of the screen",
                transport.updates.unwrap_or_default(),
                0,
                transport.update_ms.unwrap_or_default(),
            ),
            row(
                "for nobody recorded",
                transport.own.as_ref().map_or(0, |own| own.runs),
                0,
                transport.own.as_ref().map_or(0.0, |own| own.ms),
            ),
            row("setups", connections, transport.setup_bytes, 0.0),
        ]
        .into_iter()
        .filter(|row| row.count > 0)
    }

    fn table(&self, top: Option<usize>) -> Table {
        let (heading, lines) = match &self.groups {
            Some(groups) => (group_heading(&groups.by), &groups.lines),
            None => ("Request Name", &self.requests),
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
            table.row(self.row(
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
            table.row(self.row(&name, server, network, count, Some(share)));
        }
        for part in self.transport_parts() {
            let name = format!("Transport: {}", part.name);
            table.row(self.row(&name, part.server_ms, part.network_ms, part.count, None));
        }
        let total = &self.total;
        let all = Some(100.0);
        table.row(self.row(
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
        &self,
        name: &str,
        server: f64,
        network: f64,
        count: u64,
        share: Option<f64>,
    ) -> [String; 8] {
        let total = self.total.time_ms;
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
    fn round_trips(&self, out: &mut String) -> fmt::Result {
        let count: u64 = self.requests.iter().map(|line| line.blocking).sum();
        let latency = count as f64 * self.network.rtt_ms;
        let of = counted(count, "request");
        writeln!(
            out,
            "Round trips: {of} waited for, {latency:.3} ms of latency"
        )
    }

    /// The kinds of events, which the transport's line adds up.
    fn events(&self, out: &mut String) -> fmt::Result {
        let kinds = self.events.iter().take(SHOWN).map(|event| {
            let time = event.server_ms + event.network_ms;
            format!("{} {} ({time:.3} ms)", event.count, plain(&event.name))
        });
        let kinds: Vec<String> = kinds.collect();
        if kinds.is_empty() {
            return Ok(());
        }
        let more = match self.events.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(", {}", counted(more as u64, "more kind")),
        };
        writeln!(out, "Events: {}{more}", kinds.join(", "))
    }

    /// What there is to judge the estimate by.
    fn accuracy(&self, out: &mut String) -> fmt::Result {
        let total = &self.total;
        let sum = |part: fn(&RequestReport) -> u64| self.requests.iter().map(part).sum::<u64>();
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
        if self.server.basis != Basis::Measured {
            writeln!(
                out,
                "Bounds: the calibration allows {:.3} to {:.3} ms in all",
                total.low_ms, total.high_ms,
            )?;
        }
        write!(out, "{}", self.client_and_server)
    }
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
impl fmt::Display for NetworkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes_per_second {
            Some(speed) => write!(f, "Network speed = {:.2} KBytes/sec", speed / 1e3)?,
            None => write!(f, "Network speed = unlimited")?,
        }
        write!(f, ", Latency = {:.2} ms", self.rtt_ms)?;
        match self.compression {
            Some(ratio) => write!(f, ", Compression = {ratio}"),
            None => Ok(()),
        }
    }
}

/// The warnings, those of a kind together with what can be done about them.
fn write_warnings(out: &mut String, warnings: &[Warning]) -> fmt::Result {
    for of_kind in warnings.chunk_by(|a, b| a.kind == b.kind) {
        let Some(first) = of_kind.first() else {
            continue;
        };
        let count: u64 = of_kind.iter().map(|warning| warning.count).sum();
        writeln!(
            out,
            "\nWarning: {}: {}",
            heading(first.kind, count),
            first.kind.advice()
        )?;
        for warning in of_kind.iter().take(SHOWN) {
            if let Some(line) = line(warning) {
                writeln!(out, "  {line}")?;
            }
        }
        if of_kind.len() > SHOWN {
            writeln!(out, "  ... {} more", of_kind.len() - SHOWN)?;
        }
    }
    Ok(())
}

fn heading(kind: WarningKind, count: u64) -> String {
    match kind {
        WarningKind::Unpriced => format!("{} unpriced", counted(count, "request")),
        WarningKind::Substituted => format!("{} substituted", counted(count, "attribute value")),
        WarningKind::Extrapolated => format!("{} extrapolated", counted(count, "request")),
        WarningKind::OneItem => format!("{} of several items", counted(count, "request")),
        WarningKind::OtherClock => format!("{} on another clock", counted(count, "request")),
        WarningKind::NoTransport => "no transport costs in the parameter file".to_owned(),
        WarningKind::Uncorrected => format!("{} uncorrected", counted(count, "failed request")),
        WarningKind::UnpairedReply => format!("{count} unpaired replies"),
        WarningKind::MissingRequest => format!("{} missing", counted(count, "request")),
        WarningKind::Malformed => format!("{} malformed", counted(count, "piece")),
        WarningKind::LostBytes => format!("{} lost", counted(count, "byte")),
        WarningKind::Incomplete => "incomplete trace".to_owned(),
        WarningKind::SharedMemory => format!("{} in shared memory", counted(count, "image")),
        WarningKind::OtherMachine => "prices of another machine".to_owned(),
        WarningKind::Trouble => "trouble while recording".to_owned(),
    }
}

/// `PolyLine fillstyle: FillStippled -> FillOpaqueStippled (12)`; `None` where the heading says
/// all.
fn line(warning: &Warning) -> Option<String> {
    let mut line = String::new();
    match (&warning.request, &warning.from) {
        (Some(request), _) => line.push_str(&plain(request)),
        (None, Some(what)) => return Some(plain(what).into_owned()),
        (None, None) => return None,
    }
    if let Some(attribute) = &warning.attribute {
        line.push_str(&format!(" {}:", plain(attribute)));
    }
    match (&warning.from, &warning.to) {
        (Some(from), Some(to)) => line.push_str(&format!(" {} -> {}", plain(from), plain(to))),
        (Some(from), None) => line.push_str(&format!(" {}", plain(from))),
        (None, Some(to)) if warning.kind == WarningKind::SharedMemory => {
            line.push_str(&format!(": {}", plain(to)));
        }
        (None, Some(to)) => line.push_str(&format!(" unknown -> {}", plain(to))),
        (None, None) => {}
    }
    line.push_str(&format!(" ({})", warning.count));
    Some(line)
}

/// `1 request`, `2 requests`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
