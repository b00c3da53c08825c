//! User-defined events: a row of text or CSV for each type, and the XML of Reiss's Figure 5.

use ::csv::Writer;
use x11prof_analyzer::{EpisodesReport, EventTypeReport, ResourceUse};

use super::words::{brief, cut, spare};
use crate::csv_tables::text as csv_text;
use crate::page::Page;
use crate::plain::xml_text;
use crate::table::Table;

/// The width of the name column on the narrowest page, in characters.
const NAME: usize = 16;

/// The types of user-defined events as text. A row has the number of events, and the mean of each resource.
pub(super) fn text(report: &EpisodesReport, page: &Page) -> String {
    let mut table = Table::new([
        "Event (ms)",
        "Count",
        "Mean",
        "Std dev",
        "Client",
        "Server",
        "Requests",
        "Trips",
        "Left",
    ]);
    let mean = |of: &ResourceUse| of.mean.map_or_else(|| "-".to_owned(), brief);
    for of in &report.events {
        let deviation = of.time_ms.standard_deviation;
        table.row([
            cut(&of.name, NAME + spare(page)),
            of.count.to_string(),
            mean(&of.time_ms),
            deviation.map_or_else(|| "-".to_owned(), brief),
            mean(&of.client_ms),
            of.server_ms.as_ref().map_or_else(|| "-".to_owned(), mean),
            mean(&of.requests),
            mean(&of.round_trips),
            format!("{:.0}", of.unfreed.total),
        ]);
    }
    format!(
        "{}Means per event; left: resources created by all events and not freed.\n",
        table.on(page)
    )
}

/// A resource of an event: its name in JSON, its name in Reiss's XML, the factor from x11prof's unit to Reiss's unit,
/// and the use of the resource; `None` if unknown.
type Resource<'a> = (&'static str, &'static str, f64, Option<&'a ResourceUse>);

/// Returns the resources of an event type.
fn resources(of: &EventTypeReport) -> [Resource<'_>; 10] {
    /// Nanoseconds per millisecond. Times in Reiss's XML are in nanoseconds.
    const NANOS: f64 = 1e6;
    [
        ("client_ms", "TOTAL", NANOS, Some(&of.client_ms)),
        ("time_ms", "REAL", NANOS, Some(&of.time_ms)),
        ("server_ms", "SERVER", NANOS, of.server_ms.as_ref()),
        ("requests", "REQUESTS", 1.0, Some(&of.requests)),
        ("bytes", "BYTES", 1.0, Some(&of.bytes)),
        ("round_trips", "TRIPS", 1.0, Some(&of.round_trips)),
        ("allocated", "ALLOCS", 1.0, Some(&of.allocated)),
        ("allocated_bytes", "ASIZE", 1.0, Some(&of.allocated_bytes)),
        ("unfreed", "UNFREES", 1.0, Some(&of.unfreed)),
        ("unfreed_bytes", "UFSIZE", 1.0, Some(&of.unfreed_bytes)),
    ]
}

/// The types of user-defined events as CSV, one line for each type.
pub fn events_csv(report: &EpisodesReport) -> String {
    let mut out = Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    for (number, of) in report.events.iter().enumerate() {
        let all = resources(of);
        if number == 0 {
            let names = all.iter().flat_map(|(name, ..)| {
                ["", "_mean", "_standard_deviation"].map(|what| format!("{name}{what}"))
            });
            let head = ["name", "type", "count"].map(str::to_owned).into_iter();
            let _ = out.write_record(head.chain(names));
        }
        let figures = all.iter().flat_map(|(.., used)| {
            let figures = used.map_or([None; 3], |used| {
                [Some(used.total), used.mean, used.standard_deviation]
            });
            figures.map(|figure| figure.map_or_else(String::new, |value| value.to_string()))
        });
        let head = [of.name.clone(), of.kind.clone(), of.count.to_string()];
        let _ = out.write_record(head.into_iter().chain(figures));
    }
    csv_text(out)
}

/// The types of user-defined events as the XML of Reiss's Figure 5: an element for each type, with the sum of each
/// resource, its average (A) and its standard deviation (D). Times are nanoseconds.
pub fn events_xml(report: &EpisodesReport) -> String {
    let mut xml = String::from("<?xml version='1.0' encoding='UTF-8'?>\n<EVENTS>\n");
    for of in &report.events {
        let time = |ms: Option<f64>| format!("{:.0}", ms.unwrap_or_default() * 1e6);
        xml.push_str(&format!(
            "<EVENT START='{}' END='{}' NAME='{}' TYPE='{}'>\n  <STATS CALLS='{}'",
            time(of.start_ms),
            time(of.end_ms),
            xml_text(&of.name),
            xml_text(&of.kind),
            of.count
        ));
        for (_, name, scale, used) in resources(of) {
            let Some(used) = used else {
                continue;
            };
            xml.push_str(&format!("\n    {name}='{}'", figure(used.total * scale)));
            for (what, value) in [("A", used.mean), ("D", used.standard_deviation)] {
                if let Some(value) = value {
                    xml.push_str(&format!(" {name}{what}='{}'", figure(value * scale)));
                }
            }
        }
        xml.push_str(" />\n</EVENT>\n");
    }
    xml.push_str("</EVENTS>\n");
    xml
}

/// Formats a number with three decimals, or without decimals if all three are 0.
fn figure(value: f64) -> String {
    let text = format!("{value:.3}");
    text.strip_suffix(".000").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_are_integers_or_have_three_decimals() {
        assert_eq!(
            [0.0, 12.0, 0.5, 854_401.000_000_1].map(figure),
            ["0", "12", "0.500", "854401"]
        );
    }
}
