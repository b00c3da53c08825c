//! The properties of a connection to a display, as text.

use x11prof_analyzer::{LinkKind, LinkReport, SpreadReport};

use crate::page::{Page, Style};
use crate::plain::plain;
use crate::table::Table;
use crate::units::duration;

/// The number of replies for which xterm waits before it shows its window (validation/results).
const XTERM: f64 = 260.0;

/// The report on a connection as text.
pub fn text(report: &LinkReport, page: &Page) -> String {
    let mut text = String::new();
    if let Some(median) = report.round_trips.median_ms {
        let through = report.relay.as_deref().map_or_else(
            || match report.transport.as_str() {
                "unix" => "over a Unix socket".to_owned(),
                other => format!("over {other}"),
            },
            |relay| format!("through {}, which is no X server", plain(relay)),
        );
        let line = format!(
            "Display {}: {} a round trip {through}{}.",
            plain(&report.display),
            duration(median),
            share(report)
        );
        text.push_str(&page.wrap_in(Style::Bold, &line, 2));
    }
    for finding in &report.findings {
        let line = format!("Display {}: {}.", plain(&report.display), finding.what);
        text.push_str(&page.wrap_in(Style::Bold, &line, 2));
        let advice = finding
            .advice
            .as_ref()
            .map(|advice| format!("To do: {advice}."));
        let source = finding
            .source
            .as_ref()
            .map(|source| format!("Source: {source}"));
        for line in advice.into_iter().chain(source) {
            text.push_str(&page.wrap(&format!("  {line}"), 2));
        }
    }
    let mut table = Table::new(["Round trips, ms", "Count", "Min", "p50", "p95", "Max"]);
    for (name, times) in [
        ("in a row", &report.round_trips),
        ("after pauses", &report.paced),
    ] {
        table.row(row(name, times));
    }
    text.push_str(&format!("\n{}", table.on(page)));
    let speed = |speed: Option<f64>| {
        speed.map_or_else(
            || "too fast to measure".to_owned(),
            |speed| format!("{:.0} Mbit/s", 8.0 * speed / 1e6),
        )
    };
    text.push_str(&format!(
        "Speed: {} to the server, {} back\n",
        speed(report.to_server_bytes_per_second),
        speed(report.to_client_bytes_per_second)
    ));
    if let Some(median) = report.round_trips.median_ms {
        let waits = XTERM * median / 1e3;
        let line = format!(
            "A program that waits for {XTERM:.0} replies before it shows something, as xterm does, \
             waits {waits:.2} s here."
        );
        text.push_str(&page.wrap(&line, 0));
    }
    text
}

/// The report in one line, with the round-trip time first: `Link: 21.3 ms a round trip through sshd; replies come in
/// steps …`.
pub(crate) fn line(report: &LinkReport) -> String {
    let trip = match report.round_trips.median_ms {
        Some(ms) => format!("{} a round trip", duration(ms)),
        None => "not measured".to_owned(),
    };
    let relay = report.relay.as_deref();
    let relay = relay.map_or_else(String::new, |relay| format!(" through {}", plain(relay)));
    let is_line = |kind| !matches!(kind, LinkKind::Far | LinkKind::Good);
    let more = report.findings.iter().filter(|one| is_line(one.kind));
    let more: String = more.map(|one| format!("; {}", one.what)).collect();
    let advice = report
        .findings
        .iter()
        .filter_map(|one| one.advice.as_deref());
    let mut advice: Vec<&str> = advice.collect();
    advice.dedup();
    let advice = match advice.is_empty() {
        true => String::new(),
        false => format!("; to do: {}", advice.join("; ")),
    };
    format!("Link: {trip}{relay}{}{more}{advice}", share(report))
}

/// Returns a clause on the share of the network in the shortest round trip; empty if the share is unknown.
fn share(report: &LinkReport) -> String {
    let (Some(network), Some(shortest)) = (report.network_ms, report.round_trips.min_ms) else {
        return String::new();
    };
    let [network, other] = [network, (shortest - network).max(0.0)].map(duration);
    let rest = if report.relay.is_some() {
        "the tunnel and the server"
    } else {
        "the server"
    };
    format!("; of the shortest, {network} is the network and {other} {rest}")
}

fn row(name: &str, times: &SpreadReport) -> [String; 6] {
    let ms = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"));
    [
        name.to_owned(),
        times.count.to_string(),
        ms(times.min_ms),
        ms(times.median_ms),
        ms(times.p95_ms),
        ms(times.max_ms),
    ]
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::LinkReport;
    use x11prof_trace::Link;

    use super::{line, text};
    use crate::page::Page;

    #[test]
    fn shares_of_network_and_tunnel_are_named() {
        let link = Link {
            display: "localhost:10".to_owned(),
            transport: "tcp".to_owned(),
            relay: Some("sshd".to_owned()),
            tcp_round_trip_ns: Some(50_000_000),
            round_trips_ns: vec![53_000_000, 52_000_000, 60_000_000],
            ..Link::default()
        };
        let share = "of the shortest, 50.0 ms is the network and 2.00 ms the tunnel and the server";
        assert!(line(&LinkReport::new(&link)).contains(share));
        let direct = Link {
            relay: None,
            ..link.clone()
        };
        assert!(line(&LinkReport::new(&direct)).contains("and 2.00 ms the server"));
        let unknown = Link {
            tcp_round_trip_ns: None,
            ..link.clone()
        };
        assert!(!line(&LinkReport::new(&unknown)).contains("shortest"));
        let page = text(&LinkReport::new(&link), &Page::default()).replace("\n  ", " ");
        assert!(page.contains(share), "{page}");
    }
}
