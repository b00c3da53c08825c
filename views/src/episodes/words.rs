//! Formats numbers, names and shares in the text on episodes.

use x11prof_analyzer::{CausesReport, LocationReport, PartsReport, component_name, percent};

use crate::page::{Page, WIDTH};
pub(super) use crate::page::{cut, left_out};
pub(super) use crate::units::three as brief;

/// A latency in milliseconds as text with its unit.
pub(super) fn latency(ms: f64) -> String {
    if ms >= 1000.0 {
        format!("{:.2} s", ms / 1000.0)
    } else {
        format!("{} ms", brief(ms))
    }
}

/// The number of columns by which the page is wider than the default width.
pub(super) fn spare(page: &Page) -> usize {
    page.columns().saturating_sub(WIDTH)
}

/// The components of the latency over 2 %, the largest first, each with its parts over 5 % of the latency: `off-CPU 61 %
/// (50 % file, 9 % lock)`, `client CPU 30 %`.
pub(super) fn causes(parts: &PartsReport, causes: &CausesReport) -> Vec<String> {
    let off_cpu = [
        ("processor", causes.processor_ms),
        ("sleeping", causes.sleeping_ms),
        ("lock", causes.lock_ms),
        ("file", causes.file_ms),
        ("poll", causes.poll_ms),
        ("elsewhere", causes.elsewhere_ms),
    ];
    let server = [
        ("round_trips", causes.reply_ms),
        ("grab", causes.grab_ms),
        ("server_processor", causes.server_processor_ms),
        (
            "drawing",
            parts.server_ms - causes.reply_ms - causes.grab_ms - causes.server_processor_ms,
        ),
    ];
    shares(&[
        ("waiting", parts.waiting_ms, WHOLE),
        ("client", causes.running_ms, WHOLE),
        ("off_cpu", parts.off_cpu_ms, off_cpu.as_slice()),
        ("server", parts.server_ms, server.as_slice()),
        ("network", parts.network_ms, WHOLE),
        (
            "other_clients",
            parts.other_clients_ms,
            [("awaited", causes.awaited_ms)].as_slice(),
        ),
    ])
}

/// A component of a latency: its name, its time in milliseconds, and its parts with their names and times.
type Component<'a> = (&'a str, f64, &'a [(&'a str, f64)]);

/// The parts of a component that is not divided.
const WHOLE: &[(&str, f64)] = &[];

fn shares(all: &[Component<'_>]) -> Vec<String> {
    let sum: f64 = all.iter().map(|(_, ms, _)| ms).sum();
    let mut all: Vec<(f64, &Component<'_>)> = all
        .iter()
        .map(|of| (percent(of.1, sum), of))
        .filter(|(share, _)| *share >= 2.0)
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let one = |(share, (name, _, parts)): (f64, &Component<'_>)| {
        let text = format!("{} {}", component_name(name), crate::units::share(share));
        let mut parts: Vec<_> = parts
            .iter()
            .filter(|of| percent(of.1, sum) >= 5.0)
            .collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let part = |(name, ms): &(&str, f64)| {
            let name = component_name(name).split_once(" (")?.1;
            let name = name.trim_end_matches(')');
            Some(match percent(*ms, sum) {
                of if of > 0.95 * share => name.to_owned(),
                of => format!("{} {name}", crate::units::share(of)),
            })
        };
        let parts: Vec<String> = parts.into_iter().filter_map(part).collect();
        match parts.is_empty() {
            true => text,
            false => format!("{text} ({})", parts.join(", ")),
        }
    };
    all.into_iter().map(one).collect()
}

/// The number as an ordinal, such as `20th`.
pub(super) fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Returns a location of time with its share as text.
pub(super) fn location(of: &LocationReport) -> String {
    format!("{} {}", of.location, crate::units::share(of.percent))
}

#[cfg(test)]
mod tests {
    use super::{brief, latency};

    #[test]
    fn numbers_and_names_are_brief() {
        let written = [0.0, 1.234, 9.999, 99.96, 1234.5].map(brief);
        assert_eq!(written, ["0.00", "1.23", "10.0", "100", "1234"]);
        assert_eq!([12.34, 2345.6].map(latency), ["12.3 ms", "2.35 s"]);
    }
}
