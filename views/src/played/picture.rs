//! The distributions of keys' latencies as a picture (SVG), with a row of bars for each run on one logarithmic axis.

use x11prof_analyzer::{PlaysReport, RunReport};

use crate::plain::markup as safe;
use crate::units::{counted, duration};

const WIDTH: f64 = 720.0;
/// The height of the bars for one recording, in pixels.
const BARS: f64 = 110.0;
const HEADING: f64 = 24.0;
/// The space below the bars for the labels of the axis, in pixels.
const BELOW: f64 = 22.0;
const EDGE: f64 = 12.0;

/// The picture as SVG; only text if no run has a latency.
pub fn svg(report: &PlaysReport) -> String {
    let cells = || report.plays.iter().flat_map(|run| &run.histogram);
    let least = cells()
        .map(|cell| cell.from_ms)
        .fold(f64::INFINITY, f64::min);
    let most = cells().map(|cell| cell.to_ms).fold(0.0, f64::max);
    let across = |ms: f64| {
        let part = (ms / least).ln() / (most / least).ln();
        EDGE + part * (WIDTH - 2.0 * EDGE)
    };
    let height = report.plays.len() as f64 * (HEADING + BARS) + BELOW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    for (at, run) in report.plays.iter().enumerate() {
        let top = at as f64 * (HEADING + BARS);
        svg.push_str(&format!(
            "<text x=\"{EDGE}\" y=\"{:.1}\" font-weight=\"bold\">{}</text>",
            top + 16.0,
            safe(&words(run))
        ));
        let highest = run
            .histogram
            .iter()
            .map(|cell| cell.count)
            .max()
            .unwrap_or(1);
        for cell in run.histogram.iter().filter(|cell| cell.count > 0) {
            let high = BARS * cell.count as f64 / highest.max(1) as f64;
            let (left, right) = (across(cell.from_ms), across(cell.to_ms));
            svg.push_str(&format!(
                "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{high:.1}\" fill=\"#4878a8\"><title>{} keys, {} \
                 to {}</title></rect>",
                top + HEADING + BARS - high,
                (right - left - 1.0).max(0.5),
                cell.count,
                duration(cell.from_ms),
                duration(cell.to_ms)
            ));
        }
    }
    // Labels are at the powers of ten. If the axis contains fewer than two powers of ten, the labels are at both ends.
    let bottom = height - BELOW;
    let tens = (-3..6).map(|power| 10f64.powi(power));
    let mut ticks: Vec<f64> = tens.filter(|ms| (least..=most).contains(ms)).collect();
    if ticks.len() < 2 && least < most {
        ticks = vec![least, most];
    }
    for ms in ticks {
        let x = across(ms);
        let anchor = match x {
            x if x < 2.0 * EDGE => "start",
            x if x > WIDTH - 2.0 * EDGE => "end",
            _ => "middle",
        };
        svg.push_str(&format!(
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{HEADING}\" y2=\"{bottom:.1}\" stroke=\"#ccc\"/><text x=\"{x:.1}\" \
             y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            height - 6.0,
            duration(ms)
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

fn words(run: &RunReport) -> String {
    match &run.latency {
        Some(of) => format!(
            "{}: {}, p50 {}, p95 {}",
            run.trace,
            counted(of.count as u64, "key"),
            duration(of.median_ms),
            duration(of.p95_ms)
        ),
        None => format!("{}: the program answered no key", run.trace),
    }
}
