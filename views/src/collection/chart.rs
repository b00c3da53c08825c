//! Draws latency curves as a picture (SVG): the number of episodes by minimum latency (the LiLa thesis, Figure 9.1).
//! Both axes are logarithmic, so that a few long episodes among thousands are visible.

use x11prof_collection::PointReport;

use crate::plain::markup as safe;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
/// The space at the left for the labels of the axis, in pixels.
const LEFT: f64 = 52.0;
const BELOW: f64 = 24.0;
/// The range of the latency axis, in milliseconds: from a millisecond to a minute.
const LATENCIES: (f64, f64) = (1.0, 60_000.0);
const LEAST: f64 = 1e-4;
const COLOURS: [&str; 6] = ["client", "server", "network", "waiting", "good", "off"];

/// A curve of a chart: the number of episodes by minimum latency.
pub(super) struct Curve<'a> {
    pub(super) name: &'a str,
    /// The number of episodes of any latency, which is the maximum of the curve.
    pub(super) all: u64,
    pub(super) points: &'a [PointReport],
}

/// Returns the curves in one chart, as SVG.
pub(super) fn curves(list: &[Curve<'_>]) -> String {
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"100%\" style=\"max-width: {WIDTH}px\" role=\"img\">"
    );
    for (ms, name) in [
        (1, "1 ms"),
        (10, "10 ms"),
        (100, "100 ms"),
        (1000, "1 s"),
        (10_000, "10 s"),
    ] {
        let x = across(f64::from(ms));
        svg.push_str(&format!(
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\" stroke=\"var(--line)\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            HEIGHT - BELOW,
            HEIGHT - 8.0
        ));
    }
    for (part, name) in [
        (1.0, "100 %"),
        (0.1, "10 %"),
        (0.01, "1 %"),
        (0.001, "0.1 %"),
    ] {
        let y = down(part);
        svg.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--line)\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
            LEFT - 4.0,
            y + 10.0
        ));
    }
    for (curve, colour) in list.iter().zip(COLOURS.iter().cycle()) {
        let points = curve.points.iter().filter(|point| point.at_least_ms > 0);
        let points: Vec<String> = points
            .map(|point| {
                let part = point.count as f64 / curve.all.max(1) as f64;
                format!("{:.1},{:.1}", across(point.at_least_ms as f64), down(part))
            })
            .collect();
        svg.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--{colour})\" stroke-width=\"2\"/>",
            points.join(" ")
        ));
    }
    svg.push_str("</svg><div class=\"key\">");
    for (curve, colour) in list.iter().zip(COLOURS.iter().cycle()) {
        svg.push_str(&format!(
            "<span><i style=\"background: var(--{colour})\"></i>{} ({})</span>",
            safe(curve.name),
            curve.all
        ));
    }
    svg.push_str("</div>");
    svg
}

fn across(ms: f64) -> f64 {
    let (from, to) = LATENCIES;
    let part = (ms.clamp(from, to) / from).ln() / (to / from).ln();
    LEFT + part * (WIDTH - LEFT)
}

fn down(part: f64) -> f64 {
    let part = part.clamp(LEAST, 1.0).ln() / LEAST.ln();
    part * (HEIGHT - BELOW)
}
