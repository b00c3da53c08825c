//! The blame of an episode over its threshold, and the chain of waits that it is based on.

use serde::Serialize;
use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

use crate::episodes::cross_client::blame::{Blame, BlameContext, BlameKind};
use crate::episodes::cross_client::path_step::PathStep;
use crate::episodes::episode::Episode;
use crate::episodes::findings::Findings;
use crate::episodes::latency_component::LatencyComponent;
use crate::episodes::location::Location;
use crate::episodes::obstacles::Obstacle;
use crate::text::units::{duration_ms, nanos_ms};

/// The owner of the most time in an episode's chain of waits, up to the end of all effects.
#[derive(Debug, Clone, Serialize)]
pub struct BlameReport {
    /// The kind of owner: `client` (the episode's client), `queue` (the client handled earlier input), `other_client`,
    /// `server`, `network`, `grab`, `disk`, `sleep`, `lock`, `elsewhere`, `processor`, `server_processor`, `awaited` (reply
    /// to an open request, which comes from no known client).
    pub kind: &'static str,
    /// The program that worked or waited; for `grab`, the program that had grabbed the server, or `an unknown client`.
    pub client: String,
    /// The number of the program's connection.
    pub connection: u32,
    /// The request that blocked the client, or that caused another client to act; null if there is none.
    pub request: Option<String>,
    /// The time that the owner has in the chain of waits, in milliseconds.
    pub ms: f64,
    /// The blame as a sentence, with a remedy.
    pub sentence: String,
    /// The chain of waits in time order.
    pub path: Vec<PathReport>,
}

/// The owner of the most time in any episode, over its threshold or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blamed {
    /// The owner's kind, as in [`BlameReport`].
    pub kind: &'static str,
    /// The client that worked or waited; for `grab`, the client that had grabbed the server.
    pub client: ConnectionId,
    /// The request that took the server's time, that blocked the client, or that caused another client to act; `None` if
    /// there is none.
    pub request: Option<Symbol>,
}

impl Blamed {
    /// The owner of the most time in the episode's chain of waits; `None` for an episode without time. Time in which no
    /// processor was free counts as the work that it delayed, so that a busy machine does not change the owner.
    pub fn of(episode: &Episode) -> Option<Blamed> {
        let blame = Blame::most_work(episode)?;
        Some(Blamed {
            kind: blame.kind.name(),
            client: blame.client,
            request: earlier_request(&blame, episode).map_or(blame.request, |(name, _)| Some(name)),
        })
    }
}

/// A step of the chain of waits from the stimulus to the end of all effects.
#[derive(Debug, Clone, Serialize)]
pub struct PathReport {
    /// The kind of the step's owner, as in [`BlameReport`].
    pub kind: &'static str,
    /// The program that worked or waited, as in [`BlameReport`].
    pub client: String,
    /// The number of the program's connection.
    pub connection: u32,
    /// The request that blocked the client, or that caused another client to act; null if there is none.
    pub request: Option<String>,
    /// The location of the step's time, as named in patterns: `client`, `sleeping`, `round_trips` …
    pub what: &'static str,
    /// The location of the step's time as text.
    #[serde(skip)]
    pub location: String,
    /// The beginning of the step, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The length of the step in milliseconds.
    pub ms: f64,
}

impl BlameReport {
    /// The blame of an episode over its threshold; `None` for other episodes.
    pub(super) fn of(
        episode: &Episode,
        findings: &Findings,
        first: Timestamp,
    ) -> Option<BlameReport> {
        let blame = Blame::most(episode)?;
        let whole = BlameContext::of(episode);
        let link = |step: &PathStep| {
            let blame = Blame::of(step, &whole);
            PathReport::of(step, &blame, findings, first)
        };
        // A client cannot hold up itself by a grab.
        let is_unknown = blame.kind == BlameKind::Grab && blame.client == episode.client;
        Some(BlameReport {
            kind: blame.kind.name(),
            client: match is_unknown {
                true => "an unknown client".to_owned(),
                false => findings.program(blame.client),
            },
            connection: blame.client.0,
            request: blame.request.map(|name| name.to_string()),
            ms: nanos_ms(blame.nanos),
            sentence: sentence(&blame, episode, findings),
            path: episode.path.iter().map(link).collect(),
        })
    }
}

impl PathReport {
    fn of(step: &PathStep, blame: &Blame, findings: &Findings, first: Timestamp) -> PathReport {
        let location = Location::Of(step.owner);
        let client = match blame.kind {
            // The blame has the whole episode's client.
            BlameKind::ServerProcessor => step.client,
            _ => blame.client,
        };
        PathReport {
            kind: blame.kind.name(),
            client: findings.program(client),
            connection: client.0,
            request: blame.request.map(|name| name.to_string()),
            what: location.kind(),
            location: location.to_string(),
            start_ms: duration_ms(Timestamp::from_nanos(step.start).since(first)),
            ms: nanos_ms(step.nanos),
        }
    }
}

/// A sentence about the process that kept the client from working for most of the time: the client itself, which was
/// stopped, or another process; `None` if there is none. `names` has the episode's program, the blamed program and the
/// share of the latency.
fn hindered(
    blame: &Blame,
    episode: &Episode,
    findings: &Findings,
    (own, who, part): (&str, &str, &str),
) -> Option<String> {
    let start = episode.start.as_nanos();
    let end = start.saturating_add(episode.latency());
    let obstacle = findings.obstacles.of(blame.client, start, end);
    let (obstacle, _) = obstacle.filter(|(_, nanos)| *nanos > blame.nanos / 2)?;
    match (obstacle, blame.kind) {
        (Obstacle::Stopped, BlameKind::OtherClient | BlameKind::Elsewhere | BlameKind::Client) => {
            Some(format!(
                "{who} was stopped (by a signal or a debugger) for {part}. Find out what stopped it."
            ))
        }
        (Obstacle::Peer { process, stopped }, BlameKind::Elsewhere) => {
            let stopped = if *stopped { ", which was stopped" } else { "" };
            Some(format!(
                "{own} waited {part} for process {process}{stopped}. Look at that process first."
            ))
        }
        _ => None,
    }
}

/// The earlier request of the client that kept the server busy for most of the time until the reply that the client
/// waited for, and its time in nanoseconds; `None` if that was the awaited request.
fn earlier_request(blame: &Blame, episode: &Episode) -> Option<(Symbol, u64)> {
    let awaited = blame.request?;
    let is_own = blame.kind == BlameKind::Server && blame.client == episode.client;
    let handled = episode.handled.iter().filter(|_| is_own);
    let (longest, nanos) = handled.max_by_key(|(_, nanos)| *nanos)?;
    (*longest != awaited && *nanos > blame.nanos / 2).then_some((*longest, *nanos))
}

/// A sentence about the blame for readers without knowledge of X11.
fn sentence(blame: &Blame, episode: &Episode, findings: &Findings) -> String {
    let own = findings.program(episode.client);
    let who = match findings.program(blame.client) {
        // Two clients of one program.
        who if who == own && blame.client != episode.client => findings.client(blame.client),
        who => who,
    };
    let ms = |nanos: u64| match nanos_ms(nanos) {
        ms if ms >= 10.0 => format!("{ms:.0}"),
        ms => format!("{ms:.1}"),
    };
    // While the client runs, the effects of its earlier requests on other clients may count as theirs.
    let nanos = match (blame.kind, episode.parts.of(LatencyComponent::Client)) {
        (BlameKind::Client, ran) if ran > 0 => ran,
        _ => blame.nanos,
    };
    let part = format!("{} of {} ms", ms(nanos), ms(episode.latency()));
    // The wait would not occur if the program were alone on the machine.
    let is_ready = matches!(
        blame.kind,
        BlameKind::Processor | BlameKind::ServerProcessor
    );
    let ready = match blame.ready > blame.nanos / 10 && !is_ready {
        true => format!(" ({} ms of that waiting for a processor)", ms(blame.ready)),
        false => String::new(),
    };
    // A client may run its own code while it waits: it asks again and again for the reply.
    use BlameKind::{Awaited, Client, OtherClient};
    if matches!(blame.kind, OtherClient | Awaited | Client)
        && let Some(waited) = super::awaited::longest(episode, blame.client, findings)
    {
        return waited;
    }
    if let Some(hindered) = hindered(blame, episode, findings, (&own, &who, &part)) {
        return hindered;
    }
    if let Some((earlier, nanos)) = earlier_request(blame, episode) {
        return format!(
            "The display server took {part} for {who}, {} ms of it for {earlier}. Look at {earlier} first.",
            ms(nanos)
        );
    }
    match (blame.kind, blame.request) {
        (BlameKind::Client, _) => {
            let hints = [" `record --stacks=cpu` shows its functions.", ""];
            let hint = hints[usize::from(findings.has_cpu_stacks)];
            format!("{own} used the CPU for {part}.{hint}")
        }
        (BlameKind::Thread, _) => format!(
            "{own} waited {part} for another of its threads. Look at its locks and threads."
        ),
        (BlameKind::Queue, _) => {
            format!(
                "The input waited {part} while {own} handled earlier events. Look at those first."
            )
        }
        (BlameKind::OtherClient, Some(request)) => format!(
            "{own} waited for {who}, which took {part} to handle {request}{ready}. Look at {who} first."
        ),
        (BlameKind::OtherClient, None) => {
            format!("{own} waited for {who}, which took {part}{ready}. Look at {who} first.")
        }
        (BlameKind::Server, Some(request)) if !episode.handled.is_empty() => format!(
            "The display server took {part} for {request} of {who}. Look at that request first."
        ),
        // Requests before the awaited one can have taken the time.
        (BlameKind::Server, Some(request)) => {
            let start = episode.start.since(findings.first.unwrap_or_default());
            let from = duration_ms(start) / 1e3;
            let to = from + nanos_ms(episode.latency()) / 1e3;
            format!(
                "The display server took {part} for {who} up to the reply to {request}. `report --from {from:.3} --to {to:.3}` shows the time of each request."
            )
        }
        (BlameKind::Server, None) => format!(
            "The display server took {part} to draw for {who}. Draw less, or with cheaper requests."
        ),
        (BlameKind::Network, _) => {
            format!("The network took {part}. Reduce the round trips and the bytes of {who}.")
        }
        // The client that had grabbed the server is unknown.
        (BlameKind::Grab, _) if blame.client == episode.client => format!(
            "The display server slept for {part} although a request of {who} had arrived: a client that is not in the \
             recording had grabbed it, or it was stopped."
        ),
        (BlameKind::Grab, _) => format!(
            "{who} blocked the display server (GrabServer) for {part}. Look at {who} first."
        ),
        (BlameKind::Disk, _) => {
            format!(
                "{own} waited for a file for {part}. Look at the files that it reads and writes."
            )
        }
        (BlameKind::Sleep, _) => {
            format!("{own} slept for {part}, waiting for a timer. Look at its sleeps and timers.")
        }
        (BlameKind::Elsewhere, _) if findings.has_blocked_stacks => {
            format!("{own} waited {part} outside of X.")
        }
        (BlameKind::Elsewhere, _) => {
            format!("{own} waited {part} outside of X. `record --stacks` shows what it waited for.")
        }
        (BlameKind::Processor, _) => format!(
            "{who} was ready to run for {part}, but no processor was free. Look for other busy programs."
        ),
        (BlameKind::Awaited, request) => {
            let request = request.map_or_else(String::new, |name| format!(" to {name}"));
            format!("{own} waited {part} for a reply of another client{request}.")
        }
        (BlameKind::ServerProcessor, _) => format!(
            "The display server was ready to run for {part}, but no processor was free. Look for other busy programs."
        ),
    }
}
