//! Round trips: suggestions as text, and the requests as CSV.

mod text;

use csv::Writer;
use serde::Serialize;
use x11prof_analyzer::RoundTripsReport;

use crate::csv_tables;
pub use text::text;
pub(crate) use text::{
    cause_words, heading, line, network, never_came, sentence, suggestions, verdict,
};

/// A line of the table.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(rename = "phase")]
    place: &'a str,
    request: &'a str,
    kind: &'a str,
    count: u64,
    waited_ms: f64,
}

/// The requests that clients waited for, as CSV.
pub fn csv(report: &RoundTripsReport) -> String {
    let mut out = Writer::from_writer(Vec::new());
    for place in &report.places {
        for one in &place.requests {
            let line = Row {
                place: &place.place,
                request: &one.request,
                kind: &one.kind,
                count: one.count,
                waited_ms: one.waited_ms,
            };
            csv_tables::row(&mut out, &line);
        }
    }
    csv_tables::text(out)
}
