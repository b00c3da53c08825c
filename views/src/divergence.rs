//! The differences between two recordings of one program, as text.

mod html;

use x11prof_analyzer::{
    ClientDivergence, DivergenceReport, ReceivedDifference, RequestDifference, RequestSide,
};

pub use html::html;

use crate::page::{Page, Style};
use crate::plain::plain;
use crate::table::Table;
use crate::units::{counted, duration};

/// The default number of clients and of received differences.
const ROWS: usize = 5;
/// The maximum number of characters of a value by default.
const VALUE: usize = 60;

/// Returns the text of the report: the first difference of each client, and the received messages that differ earlier.
/// `names` are the names of the two recordings.
pub fn text(report: &DivergenceReport, names: [&str; 2], page: &Page) -> String {
    let names = names.map(plain);
    let names = names.each_ref().map(|name| &**name);
    let text = page.answer(verdict(report, names).iter().map(|line| plain(line)), 2);
    format!("{text}{}", differences(report, names, page))
}

/// Returns the text of a report on a replay: the number of equal replies and errors, the requests whose replies or errors
/// differ, and the received messages that differ. `server` is the name of the server of the replay.
pub fn answers(report: &DivergenceReport, server: &str, page: &Page) -> String {
    let names = ["the recording", server];
    let answers = report.answers.iter();
    let equal: u64 = answers.clone().map(|one| one.equal).sum();
    let all: u64 = answers.map(|one| one.equal + one.differ + one.failed).sum();
    let mut lines = vec![match all {
        0 => format!("{server}: nothing was compared, because no client received a message."),
        _ => format!(
            "{server}: {equal} of {} have the recorded replies and errors.",
            counted(all, "request")
        ),
    }];
    let clients = report.clients.iter();
    lines.extend(clients.filter_map(|client| end(client, names)));
    let mut text = page.answer(lines.iter().map(|line| plain(line)), 2);
    let rows = report.answers.iter();
    let rows = rows.filter(|one| page.all || one.differ + one.failed > 0);
    let mut table = Table::new(["Request", "Equal", "Differ", "Fail"]);
    let mut is_empty = true;
    for one in rows.take(if page.all { usize::MAX } else { page.rows }) {
        let numbers = [one.equal, one.differ, one.failed].map(|number| number.to_string());
        table.row([one.request.clone()].into_iter().chain(numbers));
        is_empty = false;
    }
    if !is_empty {
        text.push_str(&format!("\n{}", table.on(page)));
    }
    format!("{text}{}", differences(report, names, page))
}

/// Returns the differences of the first clients, and the caveats.
fn differences(report: &DivergenceReport, names: [&str; 2], page: &Page) -> String {
    let mut text = String::new();
    let shown = if page.all { usize::MAX } else { ROWS };
    for client in report.clients.iter().take(shown) {
        text.push('\n');
        text.push_str(&page.fold(&self::client(client, names, page)));
    }
    if report.clients.len() > shown {
        let rest = report.clients.len() - shown;
        text.push_str(&format!(
            "\n{} differ too (--all prints them).\n",
            counted(rest as u64, "client")
        ));
    }
    for line in caveats(report, names) {
        text.push_str(&page.wrap_in(Style::Caveat, &plain(&line), 2));
    }
    text
}

fn verdict(report: &DivergenceReport, [reference, other]: [&str; 2]) -> Vec<String> {
    let requests = equal_requests(report, [reference, other]);
    let Some(first) = report.clients.first() else {
        let is_one_sided = !report.only_reference.is_empty() || !report.only_other.is_empty();
        return vec![match (is_one_sided, report.requests) {
            (false, _) => format!("No difference: {requests}."),
            (true, 0) => "No client is in both recordings.".to_owned(),
            (true, _) => format!("The clients in both recordings do not differ: {requests}."),
        }];
    };
    let client = plain(&first.client);
    let mut lines = vec![match (&first.first_request, first.received.first()) {
        (Some(request), Some(cause)) => format!(
            "{client} diverges at request {}. Before it, {}.",
            request.requests_before + 1,
            sentence(cause, [reference, other]),
        ),
        (Some(request), None) => format!(
            "{client} diverges at request {}. The messages that it received before are equal.",
            request.requests_before + 1
        ),
        (None, Some(cause)) => format!(
            "{client} sends the same requests, but {}.",
            sentence(cause, [reference, other])
        ),
        // Only the end of the connection differs.
        (None, None) => String::new(),
    }];
    lines.extend(end(first, [reference, other]));
    lines.retain(|line| !line.is_empty());
    let sides = first.first_request.iter();
    let sides =
        sides.flat_map(|request| [(&request.reference, reference), (&request.other, other)]);
    for (side, name) in sides {
        if let Some(repeated) = &side.repeated {
            lines.push(format!(
                "In {name} {client} repeats {} {} times, {:.0} a second.",
                repeated.request, repeated.count, repeated.per_second
            ));
        }
    }
    lines.push(format!("{requests}."));
    lines
}

/// Returns a clause such as `218 of 219 requests are equal in A and B (1 after the end of B)`.
fn equal_requests(report: &DivergenceReport, [reference, other]: [&str; 2]) -> String {
    let unequal = &report.unequal_requests;
    let reasons = [
        (
            unequal.moved,
            "in another order or without an effect".to_owned(),
        ),
        (unequal.varying, "vary from run to run".to_owned()),
        (unequal.after_end, format!("after the end of {other}")),
    ];
    // Otherwise the differing requests are the reason.
    let is_same = report.clients.iter().all(|one| one.first_request.is_none());
    let reasons = reasons.iter().filter(|(count, _)| is_same && *count > 0);
    let reasons = reasons.map(|(count, reason)| format!("{count} {reason}"));
    let reasons = reasons.collect::<Vec<_>>().join(", ");
    let (equal, all) = (report.equal_requests, counted(report.requests, "request"));
    match reasons.as_str() {
        "" => format!("{equal} of {all} are equal in {reference} and {other}"),
        reasons => format!("{equal} of {all} are equal in {reference} and {other} ({reasons})"),
    }
}

/// Returns a sentence if the client's end differs: the server closed the connection, or never sent a reply.
fn end(client: &ClientDivergence, names: [&str; 2]) -> Option<String> {
    closed(client, names).or_else(|| waits(client, names))
}

/// Returns a sentence if the client waits for the reply to its last request in only one of the recordings.
fn waits(client: &ClientDivergence, [reference, other]: [&str; 2]) -> Option<String> {
    let waits = client.waits_for.as_ref()?;
    Some(format!(
        "In {other} {} never gets the reply to {}, which it requested at {}; {reference} has it.",
        client.client,
        waits.request,
        duration(waits.since_ms)
    ))
}

/// Returns a sentence if only one of the servers closed the client's connection.
fn closed(client: &ClientDivergence, [reference, other]: [&str; 2]) -> Option<String> {
    let closed = client.closed_by_server.as_ref()?;
    let name = [other, reference][usize::from(closed.in_reference)];
    Some(format!(
        "The server of {name} closed the connection of {} after {}: it ended, or it refused the client.",
        client.client,
        duration(closed.since_ms)
    ))
}

/// Returns a sentence such as `the reply to GetOutputInfo differs: crtc is 0x4f in A and 0 in B (42 times)`.
fn sentence(one: &ReceivedDifference, [reference, other]: [&str; 2]) -> String {
    let message = message(one);
    let times = (one.count > 1).then(|| format!(" ({} times)", one.count));
    let times = times.unwrap_or_default();
    match (&one.field, &one.reference, &one.other) {
        (Some(field), Some(a), Some(b)) if field == ReceivedDifference::MOVED => format!(
            "the {message} comes in another order: {field} {a} in {reference}, {b} in {other}{times}"
        ),
        (Some(field), Some(a), Some(b)) => format!(
            "the {message} differs: {field} is {} in {reference} and {} in {other}{times}",
            short(a, b, false),
            short(b, a, false)
        ),
        (_, Some(_), None) => format!("the {message} is only in {reference}{times}"),
        (_, None, _) => format!("the {message} is only in {other}{times}"),
        (None, Some(a), Some(b)) => format!(
            "{} gets {} in {reference} and {} in {other}{times}",
            plain(&one.message),
            article(a),
            article(b)
        ),
    }
}

/// Returns the kind of a message with its article, such as `a reply` or `the error BadWindow`.
fn article(kind: &str) -> String {
    match kind.split_once(' ') {
        None => format!("a {kind}"),
        Some(_) => format!("the {}", plain(kind)),
    }
}

fn message(one: &ReceivedDifference) -> String {
    let name = plain(&one.message);
    let message = match one.kind.as_str() {
        "reply" => format!("reply to {name}"),
        "setup" => "connection setup".to_owned(),
        kind => format!("{kind} {name}"),
    };
    match &one.field {
        Some(field) if one.reference.is_none() || one.other.is_none() => {
            format!("field {field} of the {message}")
        }
        _ => message,
    }
}

fn client(client: &ClientDivergence, names: [&str; 2], page: &Page) -> String {
    let mut text = format!(
        "{}: first difference at {:.3} s\n",
        plain(&client.client),
        client.since_ms / 1e3
    );
    if let Some(request) = &client.first_request {
        text.push_str(&requests(request, names, page));
    }
    if !client.received.is_empty() {
        let before = match &client.first_request {
            Some(request) => format!("before request {}", request.requests_before + 1),
            None => "that differ".to_owned(),
        };
        text.push_str(&format!(
            "  Received messages {before} ({} | {}):\n",
            names[0], names[1]
        ));
    }
    let shown = if page.all { usize::MAX } else { ROWS };
    for one in client.received.iter().take(shown) {
        text.push_str(&received(one, page));
    }
    if client.received.len() > shown {
        text.push_str(&format!(
            "    {} more (--all prints them)\n",
            client.received.len() - shown
        ));
    }
    text
}

fn requests(request: &RequestDifference, names: [&str; 2], page: &Page) -> String {
    let mut text = format!("  Request {}:\n", request.requests_before + 1);
    let [a, b] = [&request.reference, &request.other];
    text.push_str(&side(a, b, names[0], page));
    text.push_str(&side(b, a, names[1], page));
    text
}

fn side(side: &RequestSide, other: &RequestSide, name: &str, page: &Page) -> String {
    if side.requests.is_empty() {
        return format!("    {name}: no request\n");
    }
    let mut text = String::new();
    let indent = " ".repeat(name.len() + 6);
    for (index, request) in side.requests.iter().enumerate() {
        let partner = other.requests.get(index).map_or("", String::as_str);
        // The name stays, also if the first differing field is far behind it.
        let [(request, fields), (_, partner)] =
            [request.as_str(), partner].map(|text| text.split_once(' ').unwrap_or((text, "")));
        let width = VALUE.saturating_sub(request.len() + 1).max(VALUE / 3);
        let fields = part(fields, partner, if page.all { usize::MAX } else { width });
        let before = match index {
            0 => format!("    {name}: "),
            _ => indent.clone(),
        };
        text.push_str(format!("{before}{} {fields}", plain(request)).trim_end());
        text.push('\n');
    }
    let more = side.count - side.requests.len() as u64;
    if more > 0 {
        text.push_str(&format!("{indent}and {}\n", counted(more, "more request")));
    }
    text
}

fn received(one: &ReceivedDifference, page: &Page) -> String {
    let value = |value: &Option<String>, other: &Option<String>| match value {
        Some(value) => short(value, other.as_deref().unwrap_or_default(), page.all),
        None => "none".to_owned(),
    };
    let place = match one.requests_between {
        Some(0) => "just before".to_owned(),
        Some(between) => format!("{} before", counted(between, "request")),
        None if one.requests_before == 0 => "before the first request".to_owned(),
        None => format!("after request {}", one.requests_before),
    };
    let name = match one.kind.as_str() {
        _ if one.field.is_none() && one.reference.is_some() && one.other.is_some() => {
            plain(&one.message).into_owned()
        }
        "reply" => format!("{} reply", plain(&one.message)),
        "setup" => "connection setup".to_owned(),
        kind => format!("{} {kind}", plain(&one.message)),
    };
    let field = one.field.iter().map(|field| format!(" {field}"));
    let field: String = field.collect();
    let count = (one.count > 1).then(|| format!(", {} times", one.count));
    let count = count.unwrap_or_default();
    let used = if one.in_request {
        ", used in the request"
    } else {
        ""
    };
    format!(
        "    {name}{field}: {} | {} ({place}{count}{used})\n",
        value(&one.reference, &one.other),
        value(&one.other, &one.reference)
    )
}

/// Returns a part of a long value that contains the first difference from `other`. If `all` is true, returns the whole
/// value.
fn short(value: &str, other: &str, all: bool) -> String {
    part(value, other, if all { usize::MAX } else { VALUE })
}

/// Returns `width` characters of a value that contain the first difference from `other`.
fn part(value: &str, other: &str, width: usize) -> String {
    let (value, other) = (plain(value), plain(other));
    let count = value.chars().count();
    if count <= width {
        return value.into_owned();
    }
    let same = equal_start(&value, &other);
    let skipped = match same < width - 10 || same == count {
        true => 0,
        false => same - width / 3,
    };
    let kept: String = value.chars().skip(skipped).take(width).collect();
    let [before, after] =
        [skipped > 0, skipped + width < count].map(|cut| if cut { "…" } else { "" });
    format!("{before}{kept}{after}")
}

/// The number of characters of `value` before the first field that differs from `other` by more than an id.
fn equal_start(value: &str, other: &str) -> usize {
    let without_ids = |field: &str| field.split_once("=0x").map(|(name, _)| name.to_owned());
    let pairs = value.split(' ').zip(other.split(' '));
    let mut same = 0;
    for (a, b) in pairs {
        let ids = without_ids(a);
        if a != b && (ids.is_none() || ids != without_ids(b)) {
            let equal = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
            return same + equal.count();
        }
        same += a.chars().count() + 1;
    }
    same.min(value.chars().count())
}

fn caveats(report: &DivergenceReport, [reference, other]: [&str; 2]) -> Vec<String> {
    let mut lines = Vec::new();
    match report.varying {
        Some(0) => {}
        // The first lines then have their number of requests.
        Some(_) if report.clients.is_empty() && report.unequal_requests.varying > 0 => {}
        Some(varying) => lines.push(format!(
            "{} left out: they vary among recordings of {reference}, or do not occur again in {other}.",
            counted(varying, "difference")
        )),
        // A replay is compared with one recording only.
        None if !report.clients.is_empty() && report.answers.is_empty() => lines.push(format!(
            "Some of these differences can vary from run to run. Record {reference} again and add --again FILE, or \
             {other} and --other-again FILE, to leave them out."
        )),
        None => {}
    }
    for (clients, name) in [
        (&report.only_reference, reference),
        (&report.only_other, other),
    ] {
        if !clients.is_empty() {
            lines.push(format!("Only in {name}: {}.", clients.join(", ")));
        }
    }
    if !report.drivers.is_empty() {
        let drivers = report.drivers.join(", ");
        lines.push(format!("Not compared, since it sends input: {drivers}."));
    }
    if report.left_out > 0 {
        lines.push(format!(
            "{} at the end were not compared: a recording ended while the program was active, is too long, or differs \
             too often.",
            counted(report.left_out, "message")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn long_values_are_cut_around_their_difference() {
        let value = |end: &str| format!("{}{end}", "0123456789".repeat(20));
        let (a, b) = (value("first"), value("other"));
        let kept = short(&a, &b, false);
        assert!(kept.starts_with("…0") && kept.ends_with("9first"), "{kept}");
        assert!(short(&b, &a, false).ends_with("9other"));
        assert_eq!(short(&a, &a, false), format!("{}…", &a[..60]));
        assert_eq!(short(&a, &b, true), a);
        // Ids are chosen by the server, so they are no difference.
        let request = |id: &str, at: u32| format!("gc={id} values={} at={at}", "0".repeat(80));
        let kept = short(&request("0x50d", 7), &request("0x3ff0", 8), false);
        assert!(kept.ends_with("00 at=7"), "{kept}");
    }
}
