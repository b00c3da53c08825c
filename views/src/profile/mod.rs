//! The execution profile, as text and CSV.

mod caveats;
mod details;
mod scales;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod transport;
mod verdict;
mod warnings;

use x11prof_analyzer::ProfileReport;

use crate::Page;
pub use crate::csv_tables::profile as csv;
pub(crate) use caveats::of_warnings as doubts_of;
pub(crate) use scales::scaled_text;
pub use text::text;
pub(crate) use verdict::{basis_word, network_words, server_time};

/// Returns a page that does not wrap lines, for text that is wrapped elsewhere.
pub(crate) fn endless() -> Page {
    Page {
        width: usize::MAX,
        ..Page::default()
    }
    .whole()
}

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// The sentences of the verdict, without the first line, which only names the recording.
pub fn verdict_lines(report: &ProfileReport) -> Vec<String> {
    let mut lines = lines(&verdict::verdict(report, &endless()));
    lines.drain(..lines.len().min(1));
    lines
}

/// The caveats of the report, one line for each kind.
pub fn doubt_lines(report: &ProfileReport) -> Vec<String> {
    lines(&caveats::caveats(report, &endless()))
}
