//! Loops of two clients, and backlogs of motion: problems of a client beyond a single episode.

use serde::Serialize;
use x11prof_trace::Timestamp;

use crate::episodes::client_state::Backlog;
use crate::episodes::cross_client::loops::{Loop, Side};
use crate::episodes::findings::Findings;
use crate::text::units::{duration_ms, nanos_ms};

/// Two clients that repeatedly cause each other's messages, without a user or a timer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopReport {
    /// The names of the two programs.
    pub clients: [String; 2],
    /// The numbers of the two programs' connections.
    pub connections: [u32; 2],
    /// The beginning of the loop, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The time in which the loop's steps followed each other, in milliseconds.
    pub duration_ms: f64,
    /// The number of steps: messages that one client caused the other client to send.
    pub steps: u64,
    /// The number of steps per second.
    pub steps_per_s: f64,
    /// A description of the loop in a sentence.
    pub sentence: String,
}

impl LoopReport {
    /// The reports on `loops` of the selected clients.
    pub(crate) fn all<'a>(
        loops: impl IntoIterator<Item = &'a Loop>,
        findings: &Findings,
        first: Timestamp,
    ) -> Vec<LoopReport> {
        let is_wanted = |side: &Side| findings.wanted_client(side.client);
        let wanted = loops
            .into_iter()
            .filter(|one| one.sides.iter().any(is_wanted));
        wanted
            .map(|one| LoopReport::new(one, findings, first))
            .collect()
    }

    fn new(one: &Loop, findings: &Findings, first: Timestamp) -> LoopReport {
        let name = |side: &Side| findings.program(side.client);
        let clients = one.sides.each_ref().map(name);
        let per_s = one.steps as f64 / (one.nanos as f64 / 1e9).max(1e-3);
        let act = |side: &Side| {
            let request = side.request.map_or("a request", |name| name.as_str());
            let event = side.event.as_ref();
            let event = event.map_or("an event", |event| event.as_str());
            format!("{} sends {request} at {event}", name(side))
        };
        let [one_acts, other_acts] = one.sides.each_ref().map(act);
        let [a, b] = &clients;
        LoopReport {
            sentence: format!(
                "{a} and {b} cause each other's messages, {per_s:.0} a second for {:.1} s: {one_acts}, {other_acts}.",
                one.nanos as f64 / 1e9,
            ),
            connections: one.sides.each_ref().map(|side| side.client.0),
            clients,
            start_ms: duration_ms(Timestamp::from_nanos(one.first).since(first)),
            duration_ms: nanos_ms(one.nanos),
            steps: one.steps,
            steps_per_s: per_s,
        }
    }
}

/// Pointer motion that arrived faster than a client handled it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BacklogReport {
    /// The name of the program.
    pub client: String,
    /// The number of the program's connection.
    pub connection: u32,
    /// The motion event, and its window.
    pub landmark: String,
    /// The time of the first motion event, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The number of motion events.
    pub events: u64,
    /// The number of motion events per second during the backlog.
    pub events_per_s: f64,
    /// The mean time in which the client handled a motion event, in milliseconds.
    pub each_ms: f64,
    /// The age of the oldest motion event when the client had handled it, in milliseconds.
    pub oldest_ms: f64,
    /// A description of the backlog in a sentence.
    pub sentence: String,
}

impl BacklogReport {
    /// The reports on `all` backlogs of the selected clients, the oldest motion first.
    pub(crate) fn all(
        mut all: Vec<Backlog>,
        findings: &Findings,
        first: Timestamp,
    ) -> Vec<BacklogReport> {
        all.retain(|one| findings.wanted_client(one.client));
        all.sort_by_key(|one| std::cmp::Reverse(one.oldest));
        let report = |one: &Backlog| BacklogReport::new(one, findings, first);
        all.iter().map(report).collect()
    }

    fn new(one: &Backlog, findings: &Findings, first: Timestamp) -> BacklogReport {
        let client = findings.program(one.client);
        let per_s = one.events as f64 / (one.came_in as f64 / 1e9).max(1e-3);
        let (each_ms, oldest_ms) = (nanos_ms(one.each), nanos_ms(one.oldest));
        BacklogReport {
            sentence: format!(
                "{client} handles motion in {each_ms:.1} ms, and {per_s:.0} motions a second came: it falls behind, up to {:.2} s.",
                oldest_ms / 1e3
            ),
            connection: one.client.0,
            client,
            landmark: one.landmark.to_string(),
            start_ms: duration_ms(Timestamp::from_nanos(one.start).since(first)),
            events: one.events,
            events_per_s: per_s,
            each_ms,
            oldest_ms,
        }
    }
}
