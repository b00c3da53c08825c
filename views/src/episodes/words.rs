//! Formats numbers, names and shares in the text on episodes.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use x11prof_analyzer::{CausesReport, LocationReport, PartsReport, component_name, percent};

pub(super) use crate::page::left_out;
use crate::page::{Page, WIDTH};
pub(super) use crate::units::three as brief;

/// A latency in milliseconds as text with its unit.
pub(super) fn latency(ms: f64) -> String {
    if ms >= 1000.0 {
        format!("{:.2} s", ms / 1000.0)
    } else {
        format!("{} ms", brief(ms))
    }
}

/// The number of columns of the page beyond the narrowest width that fits all columns of a table.
pub(super) fn spare(page: &Page) -> usize {
    page.columns().saturating_sub(WIDTH)
}

/// `text`, shortened to at most `width` columns.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if kept.width() + c.width().unwrap_or_default() >= width {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// The causes of the latency, as many as fit, the largest first: `client CPU 61 %, drawing 30 %`.
pub(super) fn causes(
    before: &str,
    parts: &PartsReport,
    causes: &CausesReport,
    room: usize,
) -> String {
    let shares = shares(&[
        ("waiting", parts.waiting_ms),
        ("client", causes.running_ms),
        ("processor", causes.processor_ms),
        ("sleeping", causes.sleeping_ms),
        ("lock", causes.lock_ms),
        ("file", causes.file_ms),
        ("poll", causes.poll_ms),
        ("elsewhere", causes.elsewhere_ms),
        ("round trips", causes.reply_ms),
        ("grab", causes.grab_ms),
        ("server_processor", causes.server_processor_ms),
        (
            "drawing",
            parts.server_ms - causes.reply_ms - causes.grab_ms - causes.server_processor_ms,
        ),
        ("network", parts.network_ms),
        ("other_clients", parts.other_clients_ms - causes.awaited_ms),
        ("awaited", causes.awaited_ms),
    ]);
    let mut line = before.to_owned();
    for (number, share) in shares.iter().enumerate() {
        let next = format!("{}{share}", if number == 0 { "" } else { ", " });
        if number > 0 && line.width() + next.width() > room {
            break;
        }
        line.push_str(&next);
    }
    line
}

fn shares(all: &[(&str, f64)]) -> Vec<String> {
    let sum: f64 = all.iter().map(|(_, ms)| ms).sum();
    let mut all: Vec<(&str, f64)> = all
        .iter()
        .map(|(name, ms)| (*name, percent(*ms, sum)))
        .filter(|(_, share)| *share >= 2.0)
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named = all.into_iter().take(3);
    named
        .map(|(name, share)| format!("{} {share:.0} %", component_name(name)))
        .collect()
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

/// A location of time as text, with its share.
pub(super) fn location(of: &LocationReport) -> String {
    format!("{} {:.0} %", of.location, of.percent)
}

#[cfg(test)]
mod tests {
    use super::{brief, fit, latency};

    #[test]
    fn numbers_and_names_are_brief() {
        let written = [0.0, 1.234, 9.999, 99.96, 1234.5].map(brief);
        assert_eq!(written, ["0.00", "1.23", "10.0", "100", "1234"]);
        assert_eq!([12.34, 2345.6].map(latency), ["12.3 ms", "2.35 s"]);
        assert_eq!([fit("abcdef", 6), fit("abcdef", 4)], ["abcdef", "abc…"]);
        assert_eq!(fit("日本語日本語", 6), "日本…");
    }
}
