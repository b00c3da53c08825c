//! The verdict on a profile in at most five lines: the recording, its start-up, and the distribution of time.

use x11prof_analyzer::{NetworkReport, ProfileReport, StartUpReport, TimeSource, percent};

use super::scales::scaled_text;
use crate::link;
use crate::page::Page;
use crate::plain::plain;
use crate::roundtrips::{cause_words, network, never_came};
use crate::stalls;
use crate::units::{counted, duration, share};

/// The idle share of a start-up, in percent, above which no forecast is printed, because the program probably waited
/// for a user.
const MOSTLY: f64 = 50.0;
/// A share below this percentage is not printed: of captured stacks in the clients' CPU time, and of waits for a free CPU in
/// a start-up.
const LEAST_PERCENT: f64 = 1.0;

pub(super) fn verdict(report: &ProfileReport, page: &Page) -> String {
    let mut lines = vec![recorded(report)];
    lines.extend(report.forecast.as_ref().and_then(never_came));
    lines.extend(start_up(report));
    let slowest = report.slowest_action.as_ref();
    lines.extend(slowest.map(|action| plain(action).into_owned()));
    lines.push(who(report));
    lines.extend(over(report));
    // With a network, or with a slow action, stalls are not the subject.
    let stalls = report.stalls.as_ref();
    let stalls = stalls.filter(|_| !has_network(report) && slowest.is_none());
    lines.extend(stalls.and_then(stalls::sentence));
    lines.push(basis(report));
    let mut text = page.answer(lines.iter().take(5), 2);
    if let Some(link) = &report.link {
        text.push_str(&page.wrap(&plain(&link::line(link)), 2));
    }
    if let Some(line) = stacks(report) {
        text.push_str(&page.wrap(&line, 2));
    }
    for line in scaled_text(&report.scaled).lines() {
        text.push_str(&page.wrap(line, 2));
    }
    text
}

/// Returns a line on the recording, such as `xterm.mcap: 2.05 s, 9713 requests on 2 connections`.
fn recorded(report: &ProfileReport) -> String {
    let trace = &report.trace;
    let part = match (trace.from_s, trace.to_s) {
        (None, None) => String::new(),
        (from, None) => format!(" from {:.3} s on", from.unwrap_or(0.0)),
        (from, Some(to)) => format!(" from {:.3} s to {to:.3} s", from.unwrap_or(0.0)),
    };
    let client = trace.client.as_deref().map(plain);
    let client = client.map_or_else(String::new, |client| format!(", client {client}"));
    // Connections of the whole recording, of which some may be idle or closed in a part.
    let on = match part.is_empty() {
        true => format!(" on {}", counted(trace.connection_count, "connection")),
        false if trace.client.is_none() => " of all clients".to_owned(),
        false => String::new(),
    };
    format!(
        "{}{client}{part}: {}, {}{on}{}",
        plain(&trace.path),
        duration(trace.duration_ms),
        counted(report.total.count, "request"),
        if trace.complete { "" } else { ", cut off" },
    )
}

/// Returns a line on the start-up of the recorded command, or else on the slowest start-up: `Start-up 0.50 s: client
/// CPU 29 %, off-CPU 60 %, server wait 11 %; 135 round trips; over DSL 9.0 s`.
fn start_up(report: &ProfileReport) -> Option<String> {
    let slowest = StartUpReport::first(&report.start_up)?;
    let latency = slowest.latency_ms?;
    let of = |part| share(percent(part, latency));
    let whose = match report.trace.connection_count > 1 {
        true => format!(" of {}", plain(&slowest.client)),
        false => String::new(),
    };
    let idle = slowest.idle_ms.unwrap_or(0.0);
    let part = |(name, ms): (&str, f64)| {
        let mostly = slowest.no_free_cpu_ms(name) > ms / 2.0;
        let no_cpu = ["", " (mostly no free CPU)"][usize::from(mostly)];
        format!("{name} {}{no_cpu}", of(ms))
    };
    let mut parts = slowest.components();
    parts.retain(|(_, ms)| percent(*ms, latency) >= LEAST_PERCENT);
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> = parts.into_iter().map(part).collect();
    // A start-up that waited for a user, or that was recorded over a network, has no forecast for DSL.
    let had = slowest.network_ms > 0.0 || has_network(report);
    let abroad = match had || percent(idle, latency) >= MOSTLY {
        true => None,
        false => abroad(report, slowest),
    };
    let abroad = abroad.map_or_else(String::new, |abroad| format!("; over DSL {abroad}"));
    let before = slowest.parts.as_ref();
    let before = before.and_then(|parts| parts.before_connection_ms);
    let before = before.filter(|before| *before > 0.01 * latency);
    let before = before.map_or_else(String::new, |before| {
        format!(" ({} before it connected)", duration(before))
    });
    let trips = slowest.round_trips_of_program(&report.start_up);
    Some(format!(
        "Start-up{whose} {}{before}: {}; {}{abroad}",
        duration(latency),
        parts.join(", "),
        counted(trips, "round trip"),
    ))
}

/// Returns the forecast duration of the start-up.
fn abroad(report: &ProfileReport, of: &StartUpReport) -> Option<String> {
    let forecast = report.forecast.as_ref()?;
    let mut start_ups = forecast.start_ups.iter();
    let there = start_ups.find(|one| one.connection == of.connection)?;
    let waits = there.delayed_by().map_or_else(String::new, |other| {
        let awaited = duration(there.awaited_ms);
        format!(", {awaited} of it waiting for {}", plain(other))
    });
    Some(format!("{}{waits}", duration(there.forecast_ms)))
}

/// Returns a line such as `Connected for 1.98 s: client CPU 369 ms (19 %), server CPU 40.6 ms (2.1 %)`. The CPU time of
/// the client is omitted if the line on the start-up already contains it.
fn who(report: &ProfileReport) -> String {
    let total = &report.total;
    let wall = total.wall_ms;
    // Times above the elapsed time have no share. Such times occur in a forecast for a slower server, and with clients
    // on several processors.
    let of_wall = |time: f64| match time <= wall {
        true => format!("{} ({})", duration(time), share(percent(time, wall))),
        false => duration(time),
    };
    let server = match &report.server.relay {
        Some(relay) => format!("unknown (behind {})", plain(relay)),
        None => of_wall(total.server_ms),
    };
    let clients = match (total.client_cpu_ms, report.client_and_server.client_ran_ms) {
        (Some(client), _) => format!("client CPU {}", of_wall(client)),
        // CPU clocks are read only at the ends of a recording, so only a lower bound is known.
        (None, Some(0.0)) => "no client CPU seen".to_owned(),
        (None, Some(ran)) => format!("client CPU at least {}", of_wall(ran)),
        (None, None) => "client CPU unknown".to_owned(),
    };
    // The context switches of a part are those of all clients.
    let is_known = report.start_up.is_empty() && report.trace.client.is_none();
    match (is_part(report), is_known) {
        (false, _) => format!(
            "Connected for {}: {clients}, server CPU {server}",
            duration(wall)
        ),
        (true, true) => format!("In this part: {clients}, server CPU {server}"),
        (true, false) => format!("In this part: server CPU {server}"),
    }
}

/// Returns a line such as `Capturing stacks used up to 6.85 ms of the clients' CPU time`; `None` if the overhead is small or
/// unknown.
fn stacks(report: &ProfileReport) -> Option<String> {
    let took = report.client_and_server.stacks_ms?;
    let of_clients = percent(took, report.total.client_cpu_ms?);
    (of_clients >= LEAST_PERCENT).then(|| {
        format!(
            "Capturing stacks used up to {} of the clients' CPU time",
            duration(took)
        )
    })
}

/// Returns a line on the recording over the selected network, such as `With 1.50 Mbit/s and 50.0 ms a round trip:
/// start-up 3.20 s, whole session 14.0 s (9.10 s for the bytes of PutImage)`. `None` without a network.
fn over(report: &ProfileReport) -> Option<String> {
    let forecast = report.forecast.as_ref().filter(|_| has_network(report))?;
    let start_up = StartUpReport::first(&report.start_up);
    let start_up = start_up.and_then(|one| abroad(report, one));
    let start_up = start_up.map(|there| format!("start-up {there}"));
    let whole = (!is_part(report)).then(|| duration(forecast.forecast_ms));
    let whole = whole.map(|whole| format!("whole session {whole}"));
    let both: Vec<String> = start_up.into_iter().chain(whole).collect();
    let cause = forecast.causes.first();
    let cause = cause.map_or_else(String::new, |cause| {
        format!(" ({} {})", duration(cause.ms), plain(&cause_words(cause)))
    });
    (!both.is_empty()).then(|| {
        let network = network_words(&report.network);
        format!("With {network}: {}{cause}", both.join(", "))
    })
}

/// True if the report is on a part of the recording.
pub(super) fn is_part(report: &ProfileReport) -> bool {
    report.trace.from_s.is_some() || report.trace.to_s.is_some()
}

/// Returns a network as text, such as `1.50 Mbit/s and 50.0 ms a round trip`.
pub(crate) fn network_words(of: &NetworkReport) -> String {
    if of.bytes_per_second.is_none() && of.rtt_ms <= 0.0 {
        return "no network".to_owned();
    }
    let compression = match of.compression {
        Some(ratio) => format!(", compressed {ratio}:1"),
        None => String::new(),
    };
    format!("{}{compression}", network(of.bytes_per_second, of.rtt_ms))
}

/// The time source as one word.
pub(crate) fn basis_word(of: TimeSource) -> &'static str {
    match of {
        TimeSource::Timed => "timed",
        TimeSource::Attributed => "attributed",
        TimeSource::Extrapolated => "extrapolated",
        TimeSource::Modelled => "modelled",
    }
}

/// The error of a program's shares, in percentage points, if the server's time is attributed by costs. For each
/// program, the error is the largest error among its five most expensive requests. The constant is the median over 28
/// programs on each of four kinds of server (validation/results).
const SHARES_OFF: u32 = 10;

/// Returns a sentence about the source of the server's time.
pub(crate) fn server_time(basis: TimeSource, costs: &str) -> String {
    let source = match basis {
        TimeSource::Timed => "each request timed in the server".to_owned(),
        TimeSource::Attributed => format!("CPU time, attributed by costs of {costs}"),
        TimeSource::Extrapolated => format!("measured in the recording, extrapolated to {costs}"),
        TimeSource::Modelled => format!("modelled from the costs of {costs}"),
    };
    format!("Server time: {source}")
}

/// Returns a sentence about the source of the report's server time, and about the certainty of the figures.
fn basis(report: &ProfileReport) -> String {
    if let Some(relay) = &report.server.relay {
        let relay = plain(relay);
        return match report.server.name.as_str() {
            "" => format!("Server time: unknown behind {relay}; --params NAME estimates it"),
            name => format!(
                "Server time: unknown behind {relay}; estimated from the costs of {}",
                plain(name)
            ),
        };
    }
    let name = plain(&report.server.name);
    let costs = match report.server.brought {
        Some(_) => format!("{name}, rescaled to this machine"),
        None => name.into_owned(),
    };
    let of = server_time(report.server.basis, &costs);
    let sure = match report.server.basis {
        TimeSource::Timed => String::new(),
        TimeSource::Attributed => {
            let not_timed = match &report.server.not_timed {
                Some(why) => format!("; not timed: {}", plain(why)),
                None => String::new(),
            };
            format!(" (median error {SHARES_OFF} points){not_timed}")
        }
        TimeSource::Extrapolated | TimeSource::Modelled => bounds(report),
    };
    format!("{of}{sure}")
}

/// Returns the bounds of the total time, which follow from the calibration; empty if they differ by at most 1 %.
fn bounds(report: &ProfileReport) -> String {
    let total = &report.total;
    if total.high_ms - total.low_ms <= 0.01 * total.time_ms {
        return String::new();
    }
    format!(
        " (total {} to {})",
        duration(total.low_ms),
        duration(total.high_ms)
    )
}

/// True if the report is over a network. Without a network, the network columns are empty.
pub(crate) fn has_network(report: &ProfileReport) -> bool {
    report.network.bytes_per_second.is_some() || report.network.rtt_ms > 0.0
}
