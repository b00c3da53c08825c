//! The verdict on a display's current activity: a sentence for each client that slows the display down.

use std::collections::BTreeMap;

use x11prof_analyzer::{ClientNow, NowReport, StallLine};

use super::name;
use crate::plain::plain;
use crate::units::{bytes, counted, duration, number, share};

/// The maximum number of sentences of the summary.
const SENTENCES: usize = 5;
/// The server time above which the summary names a client, in milliseconds per second.
const MUCH: f64 = 100.0;
/// The duration above which the summary names a grab of the pointer or keyboard, in milliseconds.
const LONG_MS: f64 = 1000.0;
/// The number of starts per second above which the summary names a program.
const OFTEN: f64 = 2.0;
/// The duration above which the summary names a server grab, in milliseconds: three frames at 60 frames per second.
const LONG_GRAB_MS: f64 = 50.0;

/// The sentences of the verdict: on clients that occupied the server, that use much server time, whose resources grow,
/// or that poll. If there are no such clients, one sentence on the load of the server.
pub fn answer(report: &NowReport) -> Vec<String> {
    let mut lines = stalls(report);
    let clients = || report.clients.iter();
    lines.extend(clients().filter_map(|one| device_grabs(one, report)));
    let waits = report.waits.iter().map(|one| &one.sentence);
    let loops = report.loops.iter().map(|one| &one.sentence);
    let backlogs = report.backlogs.iter().map(|one| &one.sentence);
    let all = waits.chain(loops).chain(backlogs);
    lines.extend(all.map(|one| plain(one.trim_end_matches('.')).into_owned()));
    let much = clients().filter(|one| one.server_ms_per_s >= MUCH);
    lines.extend(much.map(|one| cost(one, report)));
    lines.extend(clients().filter_map(|one| growth(one, report)));
    lines.extend(clients().filter_map(|one| {
        let polls = one.polls.as_ref()?;
        let (name, per_s) = (name(one, report), number(polls.per_s));
        let place = one.polls_in.as_ref();
        let place = place.map_or_else(String::new, |place| format!(", in {}", plain(place)));
        Some(format!(
            "{name} polls: {per_s} {} per second{place}",
            plain(&polls.request)
        ))
    }));
    lines.extend(clients().filter_map(|one| {
        let per_s = one.connections as f64 / report.seconds;
        (one.connections > 1 && per_s >= OFTEN).then(|| {
            let (name, times) = (plain(&one.name), one.connections);
            let (per_s, sent) = (number(per_s), number(one.requests_per_s));
            format!("{name} started {times} times, {per_s} per second: {sent} requests per second")
        })
    }));
    if lines.is_empty() {
        lines.push(quiet(report));
    }
    lines.truncate(SENTENCES);
    lines
}

/// Returns a sentence on the input devices that a client has grabbed. Other clients receive no input from these
/// devices.
fn device_grabs(client: &ClientNow, report: &NowReport) -> Option<String> {
    let grabs = client.grabs.iter();
    let held = grabs.filter(|one| one.goes_on && one.what != "server" && one.held_ms >= LONG_MS);
    let held: Vec<_> = held.collect();
    let longest = held.iter().map(|one| one.held_ms).max_by(f64::total_cmp)?;
    let what: Vec<&str> = held.iter().map(|one| one.what.as_str()).collect();
    let (name, what) = (name(client, report), what.join(" and "));
    Some(format!(
        "{name} has grabbed the {what} for {}",
        duration(longest)
    ))
}

fn cost(client: &ClientNow, report: &NowReport) -> String {
    let percent = share(client.server_ms_per_s / 10.0);
    let mostly = client.mostly.as_ref().map_or_else(String::new, |one| {
        format!(": {} {} per second", number(one.per_s), plain(&one.request))
    });
    format!(
        "{} uses {percent} of the server{mostly}",
        name(client, report)
    )
}

/// Returns a sentence on the kind of the client's resources that grows fastest; `None` if no kind grows.
fn growth(client: &ClientNow, report: &NowReport) -> Option<String> {
    let grows = client.held.iter().filter(|(_, held)| held.grows);
    let (kind, held) = grows.max_by(|(_, a), (_, b)| {
        let by_bytes = a.bytes_per_s.total_cmp(&b.bytes_per_s);
        by_bytes.then(a.count_per_s.total_cmp(&b.count_per_s))
    })?;
    let by = match held.bytes_per_s >= 1.0 {
        true => bytes(held.bytes_per_s as u64),
        false => number(held.count_per_s),
    };
    Some(format!(
        "{}'s {kind}s grow by {by} a second",
        name(client, report)
    ))
}

/// Returns the sentences on clients that held the server while other clients waited, or that still hold the server.
fn stalls(report: &NowReport) -> Vec<String> {
    let mut by_client: BTreeMap<(u32, &str), Vec<&StallLine>> = BTreeMap::new();
    for stall in &report.stalls {
        by_client
            .entry((stall.connection, &stall.how))
            .or_default()
            .push(stall);
    }
    let mut sentences: Vec<(f64, String)> = by_client
        .into_iter()
        .filter_map(|((connection, how), stalls)| {
            let waits = || stalls.iter().flat_map(|one| &one.waited);
            let mut waiters: Vec<u32> = waits().map(|one| one.connection).collect();
            waiters.sort_unstable();
            waiters.dedup();
            let waited: f64 = waits().map(|one| one.waited_ms).sum();
            let held: f64 = stalls.iter().map(|one| one.held_ms).sum();
            let longest = stalls.iter().map(|one| one.held_ms).fold(0.0, f64::max);
            // A grab blocks all other clients, even if no client is known to wait.
            let long =
                how == "grabbed" && (held >= MUCH * report.seconds || longest >= LONG_GRAB_MS);
            let waited_for = match waiters.len() {
                0 => String::new(),
                n => {
                    let waiters = counted(n as u64, "client");
                    format!("; {waiters} waited {}", duration(waited))
                }
            };
            (long || !waiters.is_empty()).then(|| {
                let client = report
                    .clients
                    .iter()
                    .find(|one| one.client == Some(connection));
                let client = client.map(|one| name(one, report));
                let client = client.or(Some(plain(&stalls.first()?.client).into_owned()));
                let what = match how {
                    "grabbed" => "grabbed the server".to_owned(),
                    _ => held_by(&stalls),
                };
                let times = match stalls.len() {
                    1 => String::new(),
                    n => format!(" {n} times,"),
                };
                Some((
                    waited,
                    format!(
                        "{} {what}{times} for {}{waited_for}",
                        client?,
                        duration(held),
                    ),
                ))
            })?
        })
        .collect();
    sentences.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    sentences
        .into_iter()
        .map(|(_, sentence)| sentence)
        .collect()
}

/// Returns a clause that names the request of the longest stall.
fn held_by(stalls: &[&StallLine]) -> String {
    let longest = stalls.iter().max_by(|a, b| a.held_ms.total_cmp(&b.held_ms));
    match longest.and_then(|one| one.request.as_deref()) {
        Some(request) => format!("held the server with {}", plain(request)),
        None => "held the server".to_owned(),
    }
}

fn quiet(report: &NowReport) -> String {
    let busy = share(report.server_ms_per_s / 10.0);
    match report
        .clients
        .first()
        .filter(|one| one.server_ms_per_s > 0.0)
    {
        Some(first) => format!(
            "The server is busy {busy} of the time; {} uses most ({} per second)",
            name(first, report),
            duration(first.server_ms_per_s)
        ),
        None => format!("The server is busy {busy} of the time"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use x11prof_analyzer::{ClientNow, GrabNow, NowReport, TimeSource};

    use super::answer;

    fn client(connections: usize, grabs: Vec<GrabNow>) -> ClientNow {
        ClientNow {
            client: Some(1),
            connections,
            name: "one".to_owned(),
            pid: None,
            command: Vec::new(),
            server_ms_per_s: 0.0,
            requests_per_s: 350.0,
            round_trips_per_s: 0.0,
            waited_ms_per_s: 0.0,
            bytes_per_s: 0.0,
            mostly: None,
            polls: None,
            polls_in: None,
            joined: false,
            connected: connections == 1,
            held: BTreeMap::new(),
            grabs,
        }
    }

    fn first_sentence(client: ClientNow) -> String {
        let report = NowReport {
            format: 1,
            seconds: 5.0,
            at_s: 5.0,
            basis: TimeSource::Modelled,
            costs: String::new(),
            server_ms_per_s: 0.0,
            own_ms_per_s: 0.0,
            requests_per_s: 0.0,
            clients: vec![client],
            windows: Vec::new(),
            requests: Vec::new(),
            stalls: Vec::new(),
            waits: Vec::new(),
            loops: Vec::new(),
            backlogs: Vec::new(),
        };
        answer(&report).remove(0)
    }

    #[test]
    fn held_devices_are_named() {
        let grab = |what: &str, goes_on| GrabNow {
            what: what.to_owned(),
            since_ms: 0.0,
            held_ms: 2400.0,
            goes_on,
        };
        let held = vec![grab("pointer", true), grab("keyboard", true)];
        assert_eq!(
            first_sentence(client(1, held)),
            "one has grabbed the pointer and keyboard for 2.40 s"
        );
        let ended = client(1, vec![grab("pointer", false)]);
        assert_eq!(
            first_sentence(ended),
            "The server is busy 0.0 % of the time"
        );
    }

    #[test]
    fn programs_that_start_again_and_again_are_named() {
        assert_eq!(
            first_sentence(client(90, Vec::new())),
            "one started 90 times, 18 per second: 350 requests per second"
        );
    }
}
