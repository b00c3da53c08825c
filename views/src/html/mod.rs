//! A report as one self-contained HTML file.
//!
//! The parts of the page are in `assets/html`: the template, a style sheet, scripts, and uPlot with its licence. The
//! page contains those results that it shows, as JSON with the names of `--format json`.

mod code;
mod page_data;
mod sweep;

use std::io::{self, Write};

use serde::Serialize;
use x11prof_analyzer::{
    Comparison, EpisodesReport, ProfileReport, RoundTripsReport, StatisticsReport,
};

pub use code::Code;
pub use sweep::{Sweep, SweepLine};

use crate::EscapedJson;
use crate::plain::markup;

const PAGE: &str = include_str!("../../assets/html/page.html");

/// The scripts, in the order in which they depend on each other.
const SCRIPTS: [&str; 9] = [
    include_str!("../../assets/html/js/base.js"),
    include_str!("../../assets/html/js/table.js"),
    include_str!("../../assets/html/js/overview.js"),
    include_str!("../../assets/html/js/requests.js"),
    include_str!("../../assets/html/js/timeline.js"),
    include_str!("../../assets/html/js/episodes.js"),
    include_str!("../../assets/html/js/rest.js"),
    include_str!("../../assets/html/js/code.js"),
    include_str!("../../assets/html/js/main.js"),
];

/// The contents of the HTML page of a recording.
#[derive(Debug)]
pub struct Page<'a> {
    /// The title of the page.
    pub title: &'a str,
    /// Random letters and digits. A browser runs only scripts with this nonce, so a script in a recorded name does not
    /// run.
    pub nonce: &'a str,
    /// The version of x11prof that writes the page.
    pub made: &'a str,
    /// The first lines of the page: the distribution of the time.
    pub verdict: Vec<String>,
    /// One line for each kind of caveat, with its remedy.
    pub doubts: Vec<String>,
    /// The profile, with resources and grabs.
    pub report: &'a ProfileReport,
    /// The comparison with other servers; `None` if the user named none.
    pub compare: Option<&'a Comparison>,
    /// The message statistics with histograms: sizes, and times between messages.
    pub stats: &'a StatisticsReport,
    /// The episodes. The longest episodes contain their messages.
    pub episodes: &'a EpisodesReport,
    /// The round trips, and ways to avoid them.
    pub roundtrips: &'a RoundTripsReport,
    /// The time of the session over other networks.
    pub sweep: Sweep,
    /// The program's functions as a tree; `None` without stacks of requests.
    pub code: Option<Code>,
    /// The number of episodes whose messages are on the page.
    pub with_messages: usize,
}

/// The JSON that the HTML page contains.
#[derive(Debug, Serialize)]
struct Data<'a> {
    made: &'a str,
    verdict: &'a [String],
    doubts: &'a [String],
    thinned: Vec<String>,
    report: page_data::Profile<'a>,
    compare: Option<&'a Comparison>,
    stats: &'a StatisticsReport,
    episodes: page_data::Episodes<'a>,
    roundtrips: page_data::RoundTrips<'a>,
    sweep: &'a Sweep,
    code: Option<&'a Code>,
}

impl Page<'_> {
    fn data(&self) -> Data<'_> {
        Data {
            made: self.made,
            verdict: &self.verdict,
            doubts: &self.doubts,
            thinned: page_data::thinned(
                self.report,
                self.episodes,
                self.roundtrips,
                self.with_messages,
            ),
            report: page_data::Profile::of(self.report),
            compare: self.compare,
            stats: self.stats,
            episodes: page_data::Episodes::of(self.episodes),
            roundtrips: page_data::RoundTrips::of(self.roundtrips),
            sweep: &self.sweep,
            code: self.code.as_ref(),
        }
    }

    /// Writes the page to `out`.
    ///
    /// # Errors
    ///
    /// `out` reports an error.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        for part in PAGE.split("{{") {
            let Some((slot, rest)) = part.split_once("}}") else {
                out.write_all(part.as_bytes())?;
                continue;
            };
            match slot {
                "nonce" => out.write_all(markup(self.nonce).as_bytes())?,
                "title" => out.write_all(markup(self.title).as_bytes())?,
                "uplot_style" => {
                    out.write_all(include_bytes!("../../assets/html/uplot/uPlot.min.css"))?
                }
                "style" => out.write_all(include_bytes!("../../assets/html/style.css"))?,
                "uplot" => {
                    out.write_all(include_bytes!("../../assets/html/uplot/uPlot.iife.min.js"))?
                }
                "scripts" => SCRIPTS
                    .iter()
                    .try_for_each(|script| out.write_all(script.as_bytes()))?,
                "data" => serde_json::to_writer(EscapedJson::in_script(&mut out), &self.data())?,
                // The page's own text. The test below checks its slots.
                _ => {}
            }
            out.write_all(rest.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::PAGE;

    #[test]
    fn template_has_only_known_slots() {
        let slots: Vec<&str> = PAGE
            .split("{{")
            .skip(1)
            .filter_map(|part| Some(part.split_once("}}")?.0))
            .collect();
        let known = [
            "nonce",
            "title",
            "uplot_style",
            "style",
            "title",
            "data",
            "nonce",
            "uplot",
            "nonce",
            "scripts",
        ];
        assert_eq!(slots, known);
        assert!(!PAGE.contains("script-src 'unsafe-inline'"));
    }
}
