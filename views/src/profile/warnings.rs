//! The warnings of a report: each kind with what can be done about it.

use std::fmt::{self, Write};

use x11prof_analyzer::{Warning, WarningKind};

use crate::table::plain;
use crate::units::counted;

/// Warnings of one kind shown; the JSON has them all.
const SHOWN: usize = 10;

/// The warnings, those of a kind together with what can be done about them.
pub(crate) fn write_warnings(out: &mut String, warnings: &[Warning]) -> fmt::Result {
    for of_kind in warnings.chunk_by(|a, b| a.kind == b.kind) {
        let Some(first) = of_kind.first() else {
            continue;
        };
        let count: u64 = of_kind.iter().map(|warning| warning.count).sum();
        writeln!(
            out,
            "\nWarning: {}: {}",
            heading(first.kind, count),
            advice(first.kind)
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
        WarningKind::Tried => format!("{} changed", counted(count, "request")),
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

/// What it means for the result and what the user can do about it.
fn advice(kind: WarningKind) -> &'static str {
    match kind {
        WarningKind::Unpriced => {
            "no cost known, counted as no time; `x11prof measure --for TRACE` measures them"
        }
        WarningKind::Substituted => {
            "another value's cost stood in; `x11prof measure --for TRACE` measures the real one"
        }
        WarningKind::Extrapolated => {
            "sizes outside the measured ones; `x11prof measure --for TRACE` widens them"
        }
        WarningKind::OneItem => {
            "several items priced as one of their total size; measure the server anew for the \
             fixed part"
        }
        WarningKind::OtherClock => {
            "wall and CPU times are mixed in this result; measure the server anew for both"
        }
        WarningKind::NoTransport => {
            "wakeups, bytes read, replies and events count as no server time; `x11prof measure` \
             measures them"
        }
        WarningKind::Uncorrected => {
            "failed long after they were sent; they keep the price of success"
        }
        WarningKind::UnpairedReply => {
            "replies to requests that are not in the trace; record from the client's start"
        }
        WarningKind::MissingRequest => {
            "answers to requests that are not in the trace; please report this as a bug"
        }
        WarningKind::Malformed => {
            "bytes that are no X11 messages were passed over; what they stood for is missing \
             here"
        }
        WarningKind::LostBytes => "bytes behind a hole in the trace were passed over; record again",
        WarningKind::Incomplete => "the recording was cut off; its last moments may be missing",
        WarningKind::SharedMemory => {
            "no network shares memory; priced as the PutImage and GetImage that a program sends there"
        }
        WarningKind::OtherMachine => {
            "times are that machine's; `x11prof measure` measures this one"
        }
        WarningKind::Tried => {
            "requests changed by the recorder (--try): this is not the program as it is"
        }
        WarningKind::Trouble => "the recorder reported it",
    }
}
