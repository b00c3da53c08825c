//! The caveats of a report as text: one line for each kind, with its remedy.

use x11prof_analyzer::{ProfileReport, Warning, WarningKind};

use crate::page::{Page, Style};
use crate::plain::plain;
use crate::units::counted;

pub(super) fn caveats(report: &ProfileReport, page: &Page) -> String {
    // X errors are on the first page. Pages about one grouping need not repeat them.
    let is_here =
        |warning: &&Warning| report.groups.is_none() || warning.kind != WarningKind::Errors;
    let warnings: Vec<Warning> = report.warnings.iter().filter(is_here).cloned().collect();
    let text = of_warnings(&warnings, page);
    match text.is_empty() {
        true => text,
        false => format!("\n{text}"),
    }
}

/// The warnings as text, one line for each kind.
pub(crate) fn of_warnings(warnings: &[Warning], page: &Page) -> String {
    let mut text = String::new();
    for of_kind in warnings.chunk_by(|a, b| a.kind == b.kind) {
        let Some(first) = of_kind.first() else {
            continue;
        };
        // A request may have several substituted attributes, so only the largest count of its warnings is added.
        let by_request = of_kind.chunk_by(|a, b| a.request == b.request);
        let most = by_request.filter_map(|of| of.iter().map(|warning| warning.count).max());
        let count = most.sum();
        let (what, mend) = doubt(first.kind, count);
        // The line also contains details of warnings about the whole recording.
        let whole = of_kind.iter().filter(|of| of.request.is_none());
        let details: Vec<_> = whole
            .filter_map(|of| of.from.as_deref().map(plain))
            .collect();
        let details = details.join("; ");
        // Errors are a fact about the programs, not a caveat about the figures.
        let line = match (first.kind, details.is_empty()) {
            (WarningKind::Errors, _) => format!("! {what}: {details}; {mend}"),
            (_, true) => format!("? {what}; {mend}"),
            (_, false) => format!("? {what} ({details}); {mend}"),
        };
        text.push_str(&page.wrap_in(Style::Caveat, &line, 2));
    }
    text
}

/// Returns the text of a caveat that applies to `count` items, and its remedy or consequence.
pub(super) fn doubt(kind: WarningKind, count: u64) -> (String, &'static str) {
    let of = |noun| counted(count, noun);
    let calibrate = "run `x11prof calibrate`";
    match kind {
        WarningKind::NoCost => (
            format!("{} without cost data, counted as 0 ms", of("request")),
            calibrate,
        ),
        WarningKind::Substituted => (
            format!("{} with the cost of a similar request", of("request")),
            "the total is less certain",
        ),
        WarningKind::Extrapolated => (
            format!("{} outside of the calibrated sizes", of("request")),
            "the total is less certain",
        ),
        WarningKind::OneItem => (
            format!(
                "{} with several items, estimated as one item",
                of("request")
            ),
            "calibrate the server again",
        ),
        WarningKind::OtherClock => (
            format!("{} with costs of another clock", of("request")),
            "calibrate the server again",
        ),
        WarningKind::NoTransport => (
            "the cost table has no transport costs, which count as 0".to_owned(),
            "calibrate the server",
        ),
        WarningKind::Uncorrected => (
            format!("{} failed too late for a correction", of("request")),
            "they count as successful",
        ),
        WarningKind::UnpairedReply => (
            format!("{} without a request in the trace", of("reply")),
            "record from the start of the client",
        ),
        WarningKind::MissingRequest => (
            format!("{} missing in the trace", of("request")),
            "please report this bug",
        ),
        WarningKind::Malformed => (
            format!("{} of data that are not X11 messages", of("piece")),
            "the report ignores them",
        ),
        WarningKind::ClocksDiffer => (
            "server times may be too high: two clocks of the kernel differ".to_owned(),
            "the time of each request is by the CPU clock; record on an idle machine",
        ),
        WarningKind::LostBytes => (
            format!("{} after a hole in the trace cannot be decoded", of("byte")),
            "record again",
        ),
        WarningKind::Incomplete => (
            "the recording was cut off".to_owned(),
            "its last moments may be missing; `x11prof recover` writes a complete copy",
        ),
        WarningKind::OtherMachine => (
            "the cost table is from another machine and not rescaled".to_owned(),
            "`x11prof calibrate` measures this machine",
        ),
        WarningKind::OtherServer => (
            "the cost table is of another server".to_owned(),
            "`x11prof calibrate` measures the recorded server",
        ),
        WarningKind::Tried => (
            format!("{} changed by --try", of("request")),
            "results include these changes",
        ),
        WarningKind::EmulatedNetwork => (
            "recorded over an emulated network".to_owned(),
            "waits include its delays",
        ),
        WarningKind::Attached => (
            "recorded with --attach".to_owned(),
            "waits for grabs and other clients, passed file descriptors and XKB events are not visible",
        ),
        WarningKind::Joined => (
            format!("{} began before the recording", of("connection")),
            "earlier GCs, pictures and fonts are unknown",
        ),
        WarningKind::Trouble => (
            "the recorder reported a problem".to_owned(),
            "figures may be incomplete",
        ),
        WarningKind::Errors => (of("X error"), "see `x11prof dump --message '*Bad*'`"),
    }
}
