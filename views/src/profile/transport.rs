//! The parts of transport, as rows of text and CSV.

use x11prof_analyzer::{ProfileReport, percent};

/// A part of transport as a row of the table.
pub(crate) struct TransportRow {
    pub(crate) name: &'static str,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) server_ms: f64,
    pub(crate) network_ms: f64,
}

/// The parts of transport that the report has, as rows.
pub(crate) fn transport_parts(report: &ProfileReport) -> impl Iterator<Item = TransportRow> {
    let transport = &report.transport;
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
    let connections = report.trace.connection_count;
    let answers = transport.replies + transport.errors;
    [
        row("wakeups", transport.wakeups, 0, transport.wakeup_ms),
        TransportRow {
            bytes: report.total.bytes,
            ..row("bytes read", report.total.count, 0, transport.read_ms)
        },
        row("cold pixels", transport.cold_requests, 0, transport.cold_ms),
        row(
            match transport.errors {
                0 => "replies",
                _ => "replies, errors",
            },
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
            "server's own work",
            transport.own.as_ref().map_or(0, |own| own.runs),
            0,
            transport.own.as_ref().map_or(0.0, |own| own.ms),
        ),
        row("connections", connections, transport.setup_bytes, 0.0),
    ]
    .into_iter()
    .filter(|row| row.count > 0)
}
