//! A line for each kind of doubt, with what mends it.

use x11prof_analyzer::{ProfileReport, Warning, WarningKind};

use crate::page::{Page, Style};
use crate::plain::plain;
use crate::units::counted;

pub(super) fn doubts(report: &ProfileReport, page: &Page) -> String {
    let text = of_warnings(&report.warnings, page);
    match text.is_empty() {
        true => text,
        false => format!("\n{text}"),
    }
}

/// A line for each kind of these warnings.
pub(crate) fn of_warnings(warnings: &[Warning], page: &Page) -> String {
    let mut text = String::new();
    for of_kind in warnings.chunk_by(|a, b| a.kind == b.kind) {
        let Some(first) = of_kind.first() else {
            continue;
        };
        let count = of_kind.iter().map(|warning| warning.count).sum();
        let (what, mend) = doubt(first.kind, count);
        let mut line = format!("? {what}; {mend}");
        // What is of the whole recording says what it was itself.
        if let (None, Some(what)) = (&first.request, &first.from) {
            line.push_str(&format!(" ({})", plain(what)));
        }
        text.push_str(&page.wrap_in(Style::Doubt, &line, 2));
    }
    text
}

/// A doubt, and its remedy or its meaning.
pub(super) fn doubt(kind: WarningKind, count: u64) -> (String, &'static str) {
    let of = |noun| counted(count, noun);
    let measure = "`x11prof calibrate --for TRACE`";
    match kind {
        WarningKind::Unpriced => (
            format!(
                "{} without a price {} as 0",
                of("request"),
                if count == 1 { "counts" } else { "count" }
            ),
            measure,
        ),
        WarningKind::Substituted => (
            format!("{} priced as another one", of("attribute value")),
            measure,
        ),
        WarningKind::Extrapolated => (
            format!("{} of sizes that are not measured", of("request")),
            measure,
        ),
        WarningKind::OneItem => (
            format!("{} of several items priced as one", of("request")),
            "measure the server again",
        ),
        WarningKind::OtherClock => (
            format!("{} measured on another clock", of("request")),
            "measure the server again",
        ),
        WarningKind::NoTransport => (
            "no prices of messages themselves, which count as 0".to_owned(),
            "measure the server",
        ),
        WarningKind::Uncorrected => (
            format!("{} whose error came late", of("request")),
            "they keep the price of a success",
        ),
        WarningKind::UnpairedReply => (
            format!("{count} replies to requests not in the trace"),
            "record from the client's start",
        ),
        WarningKind::MissingRequest => (
            format!("{} missing in the trace", of("request")),
            "please report this bug",
        ),
        WarningKind::Malformed => (
            format!("{} of bytes that are not X11", of("piece")),
            "what they did is not in this report",
        ),
        WarningKind::ClocksDiffer => (
            "the server's clock and its context switches tell different times".to_owned(),
            "the report takes the clock's",
        ),
        WarningKind::LostBytes => (
            format!("{} after a hole in the trace", of("byte")),
            "record again",
        ),
        WarningKind::Incomplete => (
            "the recording was cut off".to_owned(),
            "its last moments may be missing",
        ),
        WarningKind::SharedMemory => (
            format!("{} in shared memory", of("image")),
            "priced as sent by PutImage and GetImage",
        ),
        WarningKind::OtherMachine => (
            "prices of another machine".to_owned(),
            "`x11prof calibrate` measures this one",
        ),
        WarningKind::OtherServer => (
            "prices of another server".to_owned(),
            "`x11prof calibrate` measures the recorded one",
        ),
        WarningKind::Tried => (
            format!("{} changed by the recorder (--try)", of("request")),
            "this is not the program as it is",
        ),
        WarningKind::EmulatedNetwork => (
            "recorded over an emulated network".to_owned(),
            "waits are real",
        ),
        WarningKind::Attached => (
            "recorded by attaching".to_owned(),
            "waits for a grab or for others are not seen, nor are file descriptors",
        ),
        WarningKind::Joined => (
            format!("{} from before the recording", of("connection")),
            "their GCs, pictures and fonts from before it are not known",
        ),
        WarningKind::Errors => (
            of("X error"),
            "the server refused these requests, which `x11prof dump --message NAME` shows",
        ),
        WarningKind::Trouble => ("trouble while recording".to_owned(), "the recorder said"),
    }
}
