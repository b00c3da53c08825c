//! The waits of an episode for other clients or the screen's clock.

use serde::Serialize;
use x11prof_trace::{ConnectionId, Timestamp};

use crate::episodes::awaited::{AwaitedOutcome, AwaitedRequest};
use crate::episodes::episode::Episode;
use crate::episodes::findings::Findings;
use crate::episodes::obstacles::Obstacle;
use crate::pipeline::open_requests::{OpenKind, OpenRequest};
use crate::text::units::{duration_ms, nanos_ms};

/// A request of an episode that another client, or the screen's clock, had to reply to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AwaitedReport {
    /// The kind of request, with the name that docs/CONCEPTS.md lists.
    pub kind: &'static str,
    /// The name of the request or the message.
    pub request: &'static str,
    /// The name of the selection; null for other kinds of request.
    pub subject: Option<String>,
    /// The program that had to reply; null if unknown or not a client.
    pub client: Option<String>,
    /// The number of the connection of the program that had to reply; null if unknown.
    pub connection: Option<u32>,
    /// The time of the request, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The time from the request until the reply arrived, the client gave up, or the recording or connection ended, in
    /// milliseconds.
    pub ms: f64,
    /// The end of the wait: `answered`, `gave_up` or `unanswered`.
    pub outcome: &'static str,
    /// A sentence about the wait, and what the other program waited for in the meantime.
    pub sentence: String,
}

impl AwaitedReport {
    /// The reports on the waits `all`.
    pub(crate) fn all(
        all: &[AwaitedRequest],
        findings: &Findings,
        first: Timestamp,
    ) -> Vec<AwaitedReport> {
        let report = |wait| AwaitedReport::new(wait, findings, first);
        all.iter().map(report).collect()
    }

    fn new(wait: &AwaitedRequest, findings: &Findings, first: Timestamp) -> AwaitedReport {
        let request = &wait.request;
        let definition = request.kind.definition();
        AwaitedReport {
            kind: definition.name,
            request: definition.request,
            subject: request.subject.map(|subject| subject.to_string()),
            client: request.party.map(|party| findings.program(party)),
            connection: request.party.map(|party| party.0),
            start_ms: duration_ms(request.since.since(first)),
            ms: nanos_ms(wait.nanos()),
            outcome: match wait.outcome {
                AwaitedOutcome::Answered => "answered",
                AwaitedOutcome::GaveUp => "gave_up",
                AwaitedOutcome::Unanswered => "unanswered",
            },
            sentence: sentence(wait, findings),
        }
    }
}

/// A sentence about the episode's longest wait for `client` (for anyone, if `client` is the episode's client); `None`
/// without such a wait, or if it is shorter than half of the latency.
pub(super) fn longest(of: &Episode, client: ConnectionId, findings: &Findings) -> Option<String> {
    let mut all = of.awaited.iter();
    // The one that has to answer may itself wait for the episode's client.
    let is_own = client == of.client;
    let longest = all.find(|wait| is_own || wait.request.party == Some(client))?;
    (longest.nanos() >= of.latency() / 2).then(|| sentence(longest, findings))
}

fn sentence(wait: &AwaitedRequest, findings: &Findings) -> String {
    let ms = nanos_ms(wait.nanos());
    let time = match ms >= 1000.0 {
        true => format!("{:.2} s", ms / 1e3),
        false => format!("{ms:.1} ms"),
    };
    let outcome = match wait.outcome {
        AwaitedOutcome::Answered => "",
        AwaitedOutcome::GaveUp => ", and gave up",
        AwaitedOutcome::Unanswered => "; no reply arrived",
    };
    let behind = wait.behind.as_ref().map(|request| {
        let waits = waits(request, "", findings);
        format!("; {waits}")
    });
    let waited = waits(&wait.request, &format!(" {time}"), findings);
    let stopped = wait.request.party.and_then(|party| {
        let (from, to) = (wait.request.since.as_nanos(), wait.until.as_nanos());
        let (obstacle, nanos) = findings.obstacles.of(party, from, to)?;
        let is_most = *obstacle == Obstacle::Stopped && nanos > wait.nanos() / 2;
        is_most.then(|| {
            format!(
                "; {} was stopped (by a signal or a debugger)",
                findings.program(party)
            )
        })
    });
    let behind = stopped.or(behind);
    format!("{waited}{outcome}{}.", behind.unwrap_or_default())
}

/// `paster waited 5.00 s for xclip to send the selection CLIPBOARD`.
fn waits(request: &OpenRequest, time: &str, findings: &Findings) -> String {
    let definition = request.kind.definition();
    let own = findings.program(request.client);
    let party = match (request.party, request.kind) {
        (Some(party), _) => match findings.program(party) {
            // Two of one program.
            name if name == own => findings.client(party),
            name => name,
        },
        (None, OpenKind::ScreenClock) => "the screen's clock".to_owned(),
        (None, _) => "an unknown client".to_owned(),
    };
    let subject = request.subject;
    let subject = subject.map_or_else(String::new, |subject| format!(" {subject}"));
    format!(
        "{own} waited{time} for {party} to {}{subject}",
        definition.clause
    )
}
