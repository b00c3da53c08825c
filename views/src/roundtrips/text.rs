//! Round trips as text.

use std::fmt::Write;

use x11prof_analyzer::{RoundTripsReport, StartUpReport, Suggestion};

use crate::callers::askers;
use crate::page::{Page, WIDTH, name};
use crate::plain::plain;
use crate::table::Table;
use crate::units::{bytes, counted};

/// Rows of a table, suggestions that are printed unless all are asked for.
const ROWS: usize = 15;
const SUGGESTIONS: usize = 5;

/// The answer in at most three sentences.
fn verdict(report: &RoundTripsReport) -> Vec<String> {
    let total = &report.total;
    let who = match report.clients.as_slice() {
        [one] => one.client.clone(),
        all => format!("{} clients", all.len()),
    };
    let place = if report.start_up_only {
        " at start-up"
    } else {
        ""
    };
    let mut lines = vec![format!(
        "{who}: {}{place}, {} waited; {} with {} each.",
        counted(total.round_trips, "round trip"),
        time(total.waited_ms),
        time(total.before_ms),
        time(report.rtt_ms),
    )];
    match report.suggestions.first() {
        Some(first) if first.saves_ms > 0.0 => lines.push(format!("{}.", line(report, first))),
        _ => lines.push("No way was found to save one.".to_owned()),
    }
    lines
}

fn line(report: &RoundTripsReport, one: &Suggestion) -> String {
    let whose = match report.clients.len() > 1 {
        true => format!(", {}", one.client),
        false => String::new(),
    };
    let saves = match one.saves_ms - one.adds_ms < 0.01 * one.saves_ms {
        // Nobody waited for these replies.
        _ if one.saves_ms == 0.0 => format!("Saves {}", bytes(one.bytes)),
        true => format!("Saves {}", time(one.saves_ms)),
        false => format!(
            "Saves {} more, {} alone",
            time(one.adds_ms),
            time(one.saves_ms)
        ),
    };
    format!("{saves}: {}{whose}", one.action)
}

/// The page for people; `all` prints the lines that are left out otherwise.
pub fn text(report: &RoundTripsReport, page: &Page) -> String {
    let mut out = page.answer(verdict(report).iter().map(|line| plain(line)), 0);
    suggested(report, &mut out, page);
    if let Some(callers) = &report.callers {
        out.push('\n');
        out.push_str(&crate::callers::text(callers, page));
    }
    requests(report, &mut out, page);
    start_up_lines(report, &mut out, page);
    out
}

fn suggested(report: &RoundTripsReport, out: &mut String, page: &Page) {
    if report.suggestions.is_empty() {
        return;
    }
    let total = &report.total;
    let together = format!(
        "Suggestions; all of them: {} → {}, {} → {} round trips:",
        time(total.before_ms),
        time(total.after_ms),
        total.round_trips,
        total.round_trips_after
    );
    out.push_str(&format!("\n{}", page.wrap(&together, 0)));
    let shown = if page.all { usize::MAX } else { SUGGESTIONS };
    // What adds nothing is another way to save the same.
    let adds = |one: &&Suggestion| page.all || one.adds_ms > 0.0 || one.saves_ms == 0.0;
    let mut listed = 0;
    for (number, one) in report
        .suggestions
        .iter()
        .filter(adds)
        .take(shown)
        .enumerate()
    {
        listed += 1;
        let line = format!("{}. {}.", number + 1, line(report, one));
        out.push_str(&page.wrap(&plain(&line), 3));
        out.push_str(&indented(&sentence(&one.why), page));
        if let Some(askers) = askers(&one.callers) {
            out.push_str(&indented(&format!("Asked by {askers}."), page));
        }
        if one.round_trips > 0 {
            if let Some(fix) = &one.fix {
                out.push_str(&indented(&format!("Try it: record --try {fix}."), page));
            }
            let at = one.at.iter();
            let at: Vec<String> = at
                .map(|at| format!("{} at {}", time(at.saves_ms), time(at.rtt_ms)))
                .collect();
            out.push_str(&indented(&format!("Saves {}.", at.join(", ")), page));
        }
    }
    rest(out, report.suggestions.len(), listed, "suggestion");
}

fn requests(report: &RoundTripsReport, out: &mut String, page: &Page) {
    if report.places.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\nReplies that were waited for, at a round trip of {}:",
        time(report.rtt_ms)
    );
    // A wider page has room for more of the place.
    let room = 24 + page.columns().saturating_sub(WIDTH);
    let mut table = Table::new(["Request", "n", "waited ms", "network ms", "where"]).left([4]);
    let rows = report.places.iter().flat_map(|place| {
        let rows = place.requests.iter();
        rows.map(|row| (row, place.place.as_str()))
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|(a, _), (b, _)| {
        b.count
            .cmp(&a.count)
            .then_with(|| a.request.cmp(&b.request))
    });
    let shown = if page.all { usize::MAX } else { ROWS };
    for (row, place) in rows.iter().take(shown) {
        let request = match row.kind.as_str() {
            "synchronisation" => format!("{} (XSync)", row.request),
            _ => row.request.clone(),
        };
        table.row([
            name(&request, 30),
            row.count.to_string(),
            format!("{:.1}", row.waited_ms),
            format!("{:.0}", row.at_rtt_ms),
            name(place, room),
        ]);
    }
    out.push_str(&table.on(page));
    rest(out, rows.len(), shown, "row");
    if report.total.ahead > 0 {
        let ahead = counted(report.total.ahead, "question");
        let _ = writeln!(out, "{ahead} asked ahead, without a wait for the reply.");
    }
}

fn start_up_lines(report: &RoundTripsReport, out: &mut String, page: &Page) {
    let shown = if page.all { usize::MAX } else { SUGGESTIONS };
    if !report.start_ups.is_empty() {
        out.push('\n');
    }
    for one in report.start_ups.iter().take(shown) {
        out.push_str(&page.wrap(&plain(&start_up(one, report.rtt_ms)), 2));
    }
    rest(out, report.start_ups.len(), shown, "client");
}

/// The start-up of a client in one sentence.
fn start_up(one: &StartUpReport, rtt_ms: f64) -> String {
    let trips = counted(one.round_trips, "round trip");
    let Some(latency) = one.latency_ms else {
        let why = one.why_none.as_deref().unwrap_or_default();
        return format!(
            "Start-up of {}: no first frame, for {why}; {trips}.",
            one.client
        );
    };
    let parts = one.parts.as_ref().map_or(String::new(), |parts| {
        let within = |details: &[(Option<f64>, &str)]| {
            let details = details.iter();
            let details =
                details.filter_map(|(ms, words)| Some((ms.filter(|ms| *ms > 0.0)?, words)));
            let details: Vec<String> = details
                .map(|(ms, words)| format!("{} {words}", time(ms)))
                .collect();
            match details.is_empty() {
                true => String::new(),
                false => format!(" ({})", details.join(", ")),
            }
        };
        let waited = within(&[(
            Some(one.processor_ms),
            "without a free processor for the server",
        )]);
        // Setup, waits and the last drawing each have a part of it.
        let on_link = match one.network_ms > 0.0 {
            true => format!(
                " Of all this, {} on the emulated link.",
                time(one.network_ms)
            ),
            false => String::new(),
        };
        let own = within(&[(one.idle_ms, "idle")]);
        let mut all = Vec::new();
        let before = parts.before_connection_ms;
        all.extend(before.map(|before| format!("{} until it connected", time(before))));
        all.push(format!("{} connection setup", time(parts.setup_ms)));
        all.push(format!(
            "{} waiting for replies{waited}",
            time(parts.waited_ms)
        ));
        all.push(format!("{} in the client{own}", time(parts.client_ms)));
        let server = parts.server_ms;
        all.extend(server.map(|server| format!("{} until the server had drawn it", time(server))));
        let ran = one.ran_ms;
        let ran = ran.map(|ran| format!(" The client ran for {}.", time(ran)));
        format!(": {}.{on_link}{}", all.join(", "), ran.unwrap_or_default())
    });
    let end = if parts.is_empty() { "." } else { "" };
    format!(
        "Start-up of {}: {} from its {}'s start to its first frame{parts}{end} At {} each, its {trips} add {}.",
        one.client,
        time(latency),
        one.since,
        time(rtt_ms),
        time(one.round_trips as f64 * rtt_ms),
    )
}

/// Milliseconds with three digits or more.
fn time(ms: f64) -> String {
    match ms {
        ms if ms == 0.0 || ms.fract() == 0.0 && ms < 10_000.0 => format!("{ms:.0} ms"),
        ms if ms < 1.0 => format!("{ms:.2} ms"),
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms if ms < 10_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

fn rest(out: &mut String, number: usize, shown: usize, noun: &str) {
    if number > shown {
        let left = counted((number - shown) as u64, noun);
        let _ = writeln!(out, "{left} more: --all");
    }
}

/// The text below the line of its suggestion.
fn indented(text: &str, page: &Page) -> String {
    page.wrap(&format!("   {}", plain(text)), 3)
}

/// The text with a capital at the beginning and a point at the end.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first
        .into_iter()
        .flatten()
        .chain(letters)
        .chain(['.'])
        .collect()
}

#[cfg(test)]
mod tests {
    use x11prof_analyzer::testing::{Synthetic, reply, request};
    use x11prof_analyzer::{Pipeline, RoundTripOptions, RoundTrips};

    use crate::Page;

    #[test]
    fn advice_says_what_all_of_it_saves_and_how_to_try_it() {
        let mut trace = Synthetic::new();
        for number in 1..=3 {
            trace.wait(10).client_sends(&[request(98, 0, &[4, 7])]);
            trace.wait(50).server_sends(&[reply(number)]);
        }
        let options = RoundTripOptions {
            rtt_ms: 10.0,
            client: None,
            start_up: false,
        };
        let mut found = RoundTrips::new(&options);
        Pipeline::new().run_records(trace.records, |seen| found.observe(seen));
        let text = super::text(&found.finish("it"), &Page::default().whole());
        assert!(
            text.contains("Try it: record --try answer-queries."),
            "{text}"
        );
        assert!(text.contains("3 → 1 round trips"), "{text}");
    }
}
