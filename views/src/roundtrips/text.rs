//! The report on round trips as text.

use std::cmp::Reverse;

use x11prof_analyzer::{
    ClientRole, ClientRoundTrips, ForecastCause, ForecastReport, RoundTripsReport, StartUpReport,
    Suggestion, percent, program_of,
};

use crate::callers::{advice_on_names, askers};
use crate::page::{Page, Style, WIDTH, left_out, name, without_others};
use crate::plain::plain;
use crate::table::Table;
use crate::units::{bytes, counted, duration, share, speed};

/// The default number of rows of a table.
const ROWS: usize = 15;
/// The default number of suggestions.
const SUGGESTIONS: usize = 5;

/// The verdict in at most five sentences.
pub(crate) fn verdict(report: &RoundTripsReport) -> Vec<String> {
    let total = &report.total;
    let mut clients: Vec<_> = report.clients.iter().collect();
    clients.sort_by_key(|one| Reverse(one.round_trips));
    let program = |one: &ClientRoundTrips| program_of(&one.client).map(str::to_owned);
    let first = clients.first().and_then(|one| program(one));
    let who = match (clients.as_slice(), first) {
        ([one], _) => one.client.clone(),
        (all, Some(name))
            if all
                .iter()
                .all(|one| program_of(&one.client) == Some(name.as_str())) =>
        {
            format!("{name}, {} connections", all.len())
        }
        (all, _) => format!("{} clients", all.len()),
    };
    let by = |one: &ClientRoundTrips| format!("{} by {}", one.round_trips, one.client);
    let most = match clients.as_slice() {
        [most, second, rest @ ..] if !rest.is_empty() => {
            let others: u64 = rest.iter().map(|one| one.round_trips).sum();
            format!("; {}, {}, {others} by others", by(most), by(second))
        }
        [most, _] => format!("; {}", by(most)),
        _ => String::new(),
    };
    let place = ["", " at start-up"][usize::from(report.start_up_only)];
    let forecast = report.forecast.as_ref();
    let mut lines: Vec<String> = forecast.and_then(never_came).into_iter().collect();
    lines.push(format!(
        "{who}: {}{place}, which took {}{most}.",
        counted(total.round_trips, "round trip"),
        duration(total.waited_ms),
    ));
    lines.extend(forecast.map(|forecast| over(report, forecast)));
    let best = report.suggestions.first().map_or(0.0, |one| one.saves_ms);
    let pixels = forecast.and_then(|forecast| Some((forecast.pixels_ms?, forecast.pixel_bytes)));
    lines.extend(pixels.filter(|(ms, _)| *ms > best).map(|(ms, sent)| {
        let (saves, of) = (duration(ms), part(report));
        let sent = bytes(sent);
        format!("Fewer or smaller images save at most {saves} of {of} ({sent} of pixels).")
    }));
    match report.suggestions.first() {
        Some(Suggestion {
            delayed_by: Some(other),
            ..
        }) => lines.push(format!(
            "No suggestion saves time while the start-up waits for {other}."
        )),
        Some(first) if first.saves_ms > 0.0 => {
            let saves = duration(first.saves_ms);
            // Suggestions for window managers and tools come last, whatever they save.
            let mut all = report.suggestions.iter();
            let (whose, action) = match all.all(|one| one.saves_ms <= first.saves_ms) {
                true => (String::new(), action(report, first)),
                false => (format!(" for {}", first.client), first.action.clone()),
            };
            let of = part(report);
            lines.push(format!(
                "Best suggestion{whose} (saves {saves} of {of}): {action}."
            ));
        }
        _ => lines.push("No suggestion saves time on this link.".to_owned()),
    }
    lines.extend(forecast.into_iter().flat_map(details));
    lines
}

/// The forecast, and its main causes.
fn over(report: &RoundTripsReport, forecast: &ForecastReport) -> String {
    let recorded = match forecast.recorded_rtt_ms {
        Some(rtt) => format!("recorded with {} a round trip", duration(rtt)),
        None => "recorded here".to_owned(),
    };
    let first = StartUpReport::first(&report.start_ups);
    let mut start_ups = forecast.start_ups.iter();
    let first = first.and_then(|first| start_ups.find(|one| one.connection == first.connection));
    let start_up = first.map(|one| {
        let whose = match forecast.start_ups.len() {
            1 => String::new(),
            _ => format!(" of {}", one.client),
        };
        // The client cannot save this time by following its own suggestions.
        let waits = one.delayed_by().map_or_else(String::new, |other| {
            let there = duration(one.awaited_ms);
            format!(", of which it waits {there} for {other}")
        });
        format!("start-up{whose} {}{waits}", duration(one.forecast_ms))
    });
    let session = (!report.start_up_only || start_up.is_none()).then(|| {
        let (there, here) = (
            duration(forecast.forecast_ms),
            duration(forecast.recorded_ms),
        );
        format!("whole session {there} ({recorded}: {here})")
    });
    let both: Vec<String> = start_up.into_iter().chain(session).collect();
    let causes = forecast.causes.iter().take(2);
    let causes: Vec<String> = causes
        .map(|cause| {
            let other = first.is_none_or(|one| one.connection != cause.connection);
            let other = other && has_several_clients(forecast);
            let by = match (other, cause.kind.as_str()) {
                (true, "bytes-back") => format!(" to {}", cause.client),
                (true, _)
                    if !report
                        .clients
                        .iter()
                        .any(|one| one.connection == cause.connection) =>
                {
                    let waits = first.map_or("start-up", |one| one.client.as_str());
                    format!(" by {}, before {waits} continues", cause.client)
                }
                (true, _) => format!(" by {}", cause.client),
                (false, _) => String::new(),
            };
            format!("{} {}{by}", duration(cause.ms), cause_words(cause))
        })
        .collect();
    let causes = match causes.is_empty() {
        true => String::new(),
        false => format!(
            " Main causes on the critical path: {}.",
            causes.join(" and ")
        ),
    };
    format!(
        "With {}: {}.{causes}",
        link_words(forecast),
        both.join(", ")
    )
}

/// Returns a sentence about a reply that never arrived, or that arrived without its file descriptor; `None` if there is
/// no such reply.
pub(crate) fn never_came(forecast: &ForecastReport) -> Option<String> {
    let one = forecast.never_came.first()?;
    let missing = match one.missing.as_str() {
        "descriptor" => {
            "the reply arrived without its file descriptor, which a relay does not pass"
        }
        _ => "the reply never arrived",
    };
    Some(format!(
        "Client {} has waited for the reply to {} since {} after the start, for {}: {missing}.",
        one.connection,
        one.request,
        duration(one.since_ms),
        duration(one.waited_ms),
    ))
}

/// Returns sentences about the round-trip time and the speed at which a start-up takes more than a second longer, and
/// about the limits of the forecast.
fn details(forecast: &ForecastReport) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(limits) = forecast.limits {
        let rtt = limits.rtt_ms;
        let rtt = rtt.map(|rtt| {
            format!(
                "a round trip takes over {} (at unlimited speed)",
                duration(rtt)
            )
        });
        let least = limits.bytes_per_second;
        let least =
            least.map(|least| format!("the link has less than {} (without delay)", speed(least)));
        let both: Vec<String> = rtt.into_iter().chain(least).collect();
        if !both.is_empty() {
            let when = both.join(", or if ");
            lines.push(format!(
                "The network adds more than a second to start-up if {when}."
            ));
        }
    }
    let cause = forecast.causes.first();
    if cause.is_some_and(|one| one.kind.starts_with("bytes") && one.name.starts_with("MIT-SHM:")) {
        lines.push(format!(
            "Images in shared memory cannot cross a link: their pixels count as sent ({}).",
            bytes(forecast.shared_bytes)
        ));
    }
    if forecast.is_cut {
        lines.push("The recording is too long: this forecasts its first part.".to_owned());
    }
    lines
}

/// Returns a network as text, such as `1.50 Mbit/s and 50.0 ms a round trip`.
pub(crate) fn network(bytes_per_second: Option<f64>, rtt_ms: f64) -> String {
    let bits = bytes_per_second.map_or_else(String::new, |bytes| format!("{} and ", speed(bytes)));
    format!("{bits}{} a round trip", duration(rtt_ms))
}

fn link_words(forecast: &ForecastReport) -> String {
    let (all, rtt) = (forecast.bytes_per_second, forecast.rtt_ms);
    match forecast.compression {
        Some(ratio) => format!(
            "{}, compressed {ratio}:1",
            network(all.map(|all| all / ratio), rtt)
        ),
        None => network(all, rtt),
    }
}

/// True if the causes in the forecast belong to several clients.
fn has_several_clients(forecast: &ForecastReport) -> bool {
    let mut clients = forecast.causes.iter().map(|cause| &cause.client);
    let first = clients.next();
    clients.any(|client| Some(client) != first)
}

pub(crate) fn cause_words(cause: &ForecastCause) -> String {
    let name = &cause.name;
    match cause.kind.as_str() {
        "round-trips" => format!("for {} of {name}", counted(cause.count, "round trip")),
        "events" => format!(
            "waiting for {}",
            counted(cause.count, &format!("{name} event"))
        ),
        "connection" => "to connect".to_owned(),
        "bytes-back" => format!("for the bytes that {name} returns"),
        _ => format!("for the bytes of {name}"),
    }
}

fn action(report: &RoundTripsReport, one: &Suggestion) -> String {
    match report.clients.len() > 1 {
        true => format!("{}, in {}", one.action, one.client),
        false => one.action.clone(),
    }
}

/// Returns a suggestion as text, with the time that it saves.
pub(crate) fn line(report: &RoundTripsReport, one: &Suggestion) -> String {
    let (all, more) = (duration(one.saves_ms), duration(one.adds_ms));
    let mut saves = match &one.delayed_by {
        Some(other) => {
            format!("Saves nothing while the start-up waits for {other}")
        }
        None if one.adds_ms > 1.01 * one.saves_ms => {
            format!("Saves {all} alone, {more} in addition to the suggestions above")
        }
        None if one.adds_ms < 0.99 * one.saves_ms => format!("Saves {all} alone"),
        None => format!("Saves {all}"),
    };
    let waits = one.round_trips as f64 * report.rtt_ms;
    if one.delayed_by.is_none() && one.saves_ms.max(one.adds_ms) < 0.9 * waits {
        let all = duration(waits);
        saves.push_str(&format!(
            " (its round trips take {all}, but overlap other waits)"
        ));
    }
    if one.delayed_by.is_none() && one.adds_ms < 0.99 * one.saves_ms {
        saves.push_str(&format!(", {more} in addition to the suggestions above"));
    }
    format!("{saves}: {}.", action(report, one))
}

/// The report on round trips as text. A page with all results also has the lines that are otherwise omitted.
pub fn text(report: &RoundTripsReport, page: &Page) -> String {
    let mut out = page.answer(verdict(report).iter().map(|line| plain(line)), 0);
    suggested(report, &mut out, page);
    causes(report, &mut out, page);
    if let Some(callers) = &report.callers {
        out.push('\n');
        out.push_str(&crate::callers::text(callers, page));
    }
    out.push_str(&advice_on_names(&out, page));
    requests(report, &mut out, page);
    start_up_lines(report, &mut out, page);
    let clients = report.clients.iter();
    let programs = clients.map(|one| program_of(&one.client).unwrap_or_default());
    if let Some(advice) = without_others(&report.start_ups, programs) {
        out.push_str(&page.wrap_in(Style::Faint, &advice, 0));
    }
    out
}

/// Returns the part of the recording to which the forecast and the savings apply.
fn part(report: &RoundTripsReport) -> &'static str {
    ["the session", "start-up"][usize::from(report.start_up_only)]
}

/// Writes the causes of the additional time over the network to `out`.
fn causes(report: &RoundTripsReport, out: &mut String, page: &Page) {
    let Some(forecast) = report
        .forecast
        .as_ref()
        .filter(|one| !one.causes.is_empty())
    else {
        return;
    };
    let (of, link) = (part(report), link_words(forecast));
    let several = has_several_clients(forecast);
    let whose = ["", " of all clients"][usize::from(several)];
    let heading = format!("Time of {of} over {link}, by cause (critical path{whose}):");
    out.push_str(&format!("\n{}", page.wrap(&heading, 0)));
    let mut table = Table::new(["Cause", "Count", "Time"]).left([3]);
    if several {
        table.headings(["Client".to_owned()]);
    }
    let shown = if page.all { usize::MAX } else { ROWS };
    for cause in forecast.causes.iter().take(shown) {
        let cause_name = match cause.name.as_str() {
            "(setup)" => "connection setup",
            name => name,
        };
        let words = match cause.kind.as_str() {
            "round-trips" => format!("{cause_name}: reply awaited"),
            "events" => format!("{cause_name}: event awaited"),
            "connection" => format!("{cause_name}: reply awaited"),
            "bytes-back" => format!("{cause_name}: bytes returned"),
            _ => format!("{cause_name}: bytes sent"),
        };
        let cells = [
            name(&words, if several { 36 } else { 50 }),
            cause.count.to_string(),
            duration(cause.ms),
        ];
        let client = several.then(|| name(&cause.client, 24));
        table.row(cells.into_iter().chain(client));
    }
    out.push_str(&table.on(page));
    rest(out, forecast.causes.len(), shown);
}

/// True if a suggestion saves additional time after the suggestions before it. Otherwise it is an alternative to an
/// earlier suggestion.
fn adds(one: &Suggestion) -> bool {
    one.delayed_by.is_some() || one.adds_ms > 0.01 * one.saves_ms
}

/// The suggestions in the order of a page, with the alternatives at the end.
pub(crate) fn suggestions(report: &RoundTripsReport) -> impl Iterator<Item = &Suggestion> {
    let all = || report.suggestions.iter();
    let first = all().filter(|one| adds(one));
    first.chain(all().filter(|one| !adds(one)))
}

/// The heading of the suggestions.
pub(crate) fn heading(report: &RoundTripsReport) -> String {
    let total = &report.total;
    let times = total.before_ms.zip(total.after_ms);
    let times = times.filter(|(before, after)| before - after > 0.01 * before);
    let times = times.map_or_else(String::new, |(before, after)| match report.start_up_only {
        true => format!("{} less, ", duration(before - after)),
        false => format!("{} → {}, ", duration(before), duration(after)),
    });
    let [trips, left] = [total.round_trips, total.round_trips_after];
    let of = part(report);
    let helpers = report.start_ups.iter();
    let mut helpers = helpers.filter(|up| up.role == ClientRole::Helper);
    let last = match helpers.any(|up| report.suggestions.iter().any(|one| one.client == up.client))
    {
        true => "; window managers and tools last",
        false => "",
    };
    format!(
        "Suggestions, with the time that each saves of {of} (with all of them {times}{trips} → \
         {left} round trips){last}:"
    )
}

fn suggested(report: &RoundTripsReport, out: &mut String, page: &Page) {
    if report.suggestions.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}", page.wrap(&plain(&heading(report)), 0)));
    let shown = if page.all { usize::MAX } else { SUGGESTIONS };
    let listed = suggestions(report).filter(|one| page.all || adds(one));
    let listed: Vec<&Suggestion> = listed.take(shown).collect();
    for (number, one) in listed.iter().enumerate() {
        let line = format!("{}. {}", number + 1, line(report, one));
        out.push_str(&page.wrap(&plain(&line), 3));
        out.push_str(&indented(&sentence(&one.why), page));
        if let Some(askers) = askers(&one.callers, one.round_trips) {
            out.push_str(&indented(&askers, page));
        }
        if let Some(fix) = &one.fix {
            out.push_str(&indented(
                &format!("Try it without changing the program: record --try {fix}."),
                page,
            ));
        }
    }
    let mut hidden: Vec<&Suggestion> = report.suggestions.iter().collect();
    hidden.retain(|one| !listed.contains(one));
    let adding = hidden.iter().filter(|one| adds(one));
    let most = adding.max_by(|a, b| a.adds_ms.total_cmp(&b.adds_ms));
    let most = most.map_or_else(String::new, |most| {
        format!(
            " (at most {}, {})",
            duration(most.adds_ms),
            plain(&most.client)
        )
    });
    let last = "window managers and tools last";
    out.push_str(&left_out(
        hidden.len(),
        &format!(" with --all, {last}{most}"),
    ));
}

fn requests(report: &RoundTripsReport, out: &mut String, page: &Page) {
    if report.places.is_empty() {
        return;
    }
    out.push_str("\nAwaited replies:\n");
    // A wider page shows more of the call site.
    let room = 24 + page.columns().saturating_sub(WIDTH);
    let mut table = Table::new(["Request", "Count", "Client waited ms", "When"]).left([3]);
    let rows = report.places.iter().flat_map(|place| {
        let rows = place.requests.iter();
        rows.map(|row| (row, place.place.as_str()))
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|(a, _), (b, _)| (b.count, &a.request).cmp(&(a.count, &b.request)));
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
            name(place, room),
        ]);
    }
    out.push_str(&table.on(page));
    rest(out, rows.len(), shown);
    let mut legend = "When: the episode that waited; a start-up ends with the first frame, or when the client disconnects. A wait includes the server's time for earlier requests.".to_owned();
    if report.total.ahead > 0 {
        let ahead = counted(report.total.ahead, "reply");
        legend.push_str(&format!(" Pipelined: {ahead} arrived without a wait."));
    }
    out.push_str(&page.wrap_in(Style::Faint, &legend, 0));
}

fn start_up_lines(report: &RoundTripsReport, out: &mut String, page: &Page) {
    // Without `--all`, the table has the programs that have drawn. If there are none, it has the first client.
    let start_ups = &report.start_ups;
    let has_drawn =
        |one: &&StartUpReport| one.role != ClientRole::Helper && one.latency_ms.is_some();
    let shown: Vec<&StartUpReport> = match (page.all, start_ups.iter().any(|one| has_drawn(&one))) {
        (true, _) => start_ups.iter().collect(),
        (false, true) => start_ups
            .iter()
            .filter(has_drawn)
            .take(SUGGESTIONS)
            .collect(),
        (false, false) => start_ups.iter().take(1).collect(),
    };
    for one in &shown {
        out.push('\n');
        let heading = plain(&start_up(one, report.forecast.as_ref())).into_owned();
        out.push_str(&page.wrap(&heading, 2));
        if let Some(parts) = start_up_parts(one, page) {
            out.push_str(&parts);
        }
    }
    let more = start_ups.len().saturating_sub(shown.len());
    out.push_str(&left_out(more, " start-ups with --all"));
}

/// Returns the start-up of a client in one sentence, with its forecast if there is one.
fn start_up(one: &StartUpReport, forecast: Option<&ForecastReport>) -> String {
    let trips = counted(one.round_trips, "round trip");
    let Some(latency) = one.latency_ms else {
        let why = one.why_none.as_deref().unwrap_or_default();
        return format!(
            "Start-up of {}: no first frame: {why}; {trips}.",
            one.client
        );
    };
    let over = forecast.and_then(|forecast| {
        let mut start_ups = forecast.start_ups.iter();
        let over = start_ups.find(|there| there.connection == one.connection)?;
        let link = link_words(forecast);
        Some(format!("; over {link} {}", duration(over.forecast_ms)))
    });
    format!(
        "Start-up of {}, from its {}'s start to its first frame: {}, {trips}{}.",
        one.client,
        one.since,
        duration(latency),
        over.unwrap_or_default(),
    )
}

/// Returns a table of the components of a start-up; `None` if the start-up has no first frame.
fn start_up_parts(one: &StartUpReport, page: &Page) -> Option<String> {
    let (latency, parts) = (one.latency_ms?, one.parts.as_ref()?);
    let mut table = Table::new(["Part of start-up", "ms", "Share"]);
    let mut row = |part: &str, ms: f64| {
        table.row([
            part.to_owned(),
            format!("{ms:.1}"),
            share(percent(ms, latency)),
        ]);
    };
    for (part, ms) in one.components() {
        if ms >= 0.05 {
            row(part, ms);
        }
        let no_cpu = one.no_free_cpu_ms(part);
        if no_cpu >= 0.05 {
            row("  no free CPU", no_cpu);
        }
    }
    row("Total", latency);
    table.bold();
    let before = parts.before_connection_ms.filter(|ms| *ms > 0.0);
    let before = before.map_or_else(String::new, |ms| {
        format!(
            "{} of it passed before the client connected.\n",
            duration(ms)
        )
    });
    Some(format!("{}{before}", table.on(page)))
}

fn rest(out: &mut String, number: usize, shown: usize) {
    out.push_str(&left_out(number.saturating_sub(shown), " with --all"));
}

/// Returns the text of a suggestion, indented below the suggestion's first line.
fn indented(text: &str, page: &Page) -> String {
    page.wrap(&format!("   {}", plain(text)), 3)
}

/// The text with an initial capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
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
    use x11prof_cost_model::Network;

    use crate::Page;

    #[test]
    fn advice_states_savings_and_the_try_option() {
        let mut trace = Synthetic::new();
        for number in 1..=3 {
            trace.wait(10).client_sends(&[request(98, 0, &[4, 7])]);
            trace.wait(50).server_sends(&[reply(number)]);
        }
        let options = RoundTripOptions {
            link: Network::parse("none,10ms").ok(),
            ..RoundTripOptions::default()
        };
        let mut found = RoundTrips::new(&options);
        Pipeline::new().run_records(trace.records, |seen| found.observe(seen));
        let text = super::text(&found.finish("it"), &Page::default().whole());
        assert!(text.contains("--try answer-queries."), "{text}");
        assert!(text.contains("3 → 1 round trips"), "{text}");
    }
}
