//! One episode, as listed in the report.

use serde::Serialize;
use x11prof_trace::Timestamp;

use super::awaited::AwaitedReport;
use super::blame::BlameReport;
use super::landmark::{PhasesReport, phase_report};
use super::modal::ModalReport;
use super::parts::{CausesReport, PartsReport, causes, parts};
use super::pattern::LocationReport;
use crate::callers::CallerReport;
use crate::callers::blocked::BlockedIn;
use crate::callers::running::RanIn;
use crate::episodes::cause::Cause;
use crate::episodes::episode::{Child, Episode, LatencyComponent, Unsure};
use crate::episodes::findings::Findings;
use crate::episodes::landmarks::phases;
use crate::episodes::location::Location;
use crate::text::units::{duration_ms, nanos_ms};

/// An episode in the report's list.
#[derive(Debug, Clone, Serialize)]
pub struct EpisodeReport {
    /// The number of the client's connection.
    pub client: u32,
    /// The name of the client that handled the episode.
    pub client_name: String,
    /// The landmark of the episode.
    pub landmark: String,
    /// The kind of stimulus: `input`, `output` or `asynchronous`.
    pub trigger: &'static str,
    /// The beginning of the episode, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The time in milliseconds from the beginning of the episode to the end of all effects, including other clients'
    /// work.
    pub latency_ms: f64,
    /// The latency without the latencies of `children`, in milliseconds.
    pub exclusive_ms: f64,
    /// The request of another client's episode that caused this one and includes its time; null otherwise.
    #[serde(rename = "caused_by")]
    pub led_to_by: Option<String>,
    /// True if the latency is over its threshold; false for episodes that another client's episode caused.
    pub perceptible: bool,
    /// The owner of the most time in the chain of waits; null if the episode is not perceptible.
    pub blame: Option<BlameReport>,
    /// The number of the episode's pattern; null if there are too many patterns.
    pub pattern: Option<u64>,
    /// The components of the latency by owner.
    pub parts: PartsReport,
    /// The components of the latency by cause.
    pub causes: CausesReport,
    /// The latency in INP's three phases.
    pub phases: PhasesReport,
    /// The number of round trips of the client during the episode.
    pub round_trips: u64,
    /// The time in which the client was blocked on replies, in milliseconds.
    pub blocked_ms: f64,
    /// The name of the largest component: `waiting`, `client`, `off_cpu`, `server`, `network` or `other_clients`.
    pub culprit: &'static str,
    /// The location at which most of the latency was spent; null if the latency is 0.
    #[serde(rename = "main_cause")]
    pub mostly: Option<LocationReport>,
    /// The number of requests that the client sent.
    pub requests: u64,
    /// The number of bytes of the requests.
    pub bytes: u64,
    /// The number of events that the client handled.
    pub events: u64,
    /// The time source of the components: `switches` (context switches) or `silence` (messages only).
    #[serde(rename = "idle_detection")]
    pub basis: &'static str,
    /// The reason why the end of the episode is uncertain; null if it is certain.
    #[serde(rename = "uncertain")]
    pub unsure: Option<&'static str>,
    /// The open requests that other clients had to reply to, the longest waits first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<AwaitedReport>,
    /// The longest server stall that delayed the episode; null if there is none.
    #[serde(rename = "stall")]
    pub held_up: Option<HeldUpReport>,
    /// The effects of the episode: events that the client's own requests caused, and episodes of other clients.
    pub children: Vec<ChildReport>,
    /// The modal phases that began in the episode; they are not part of its latency.
    pub modal: Vec<ModalReport>,
    /// The call sites of waits for replies, the longest waits first, for the worst episodes of a recording with
    /// stacks, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<CallerReport>,
    /// The functions in which the program ran, the most time first, for the worst episodes of a recording with CPU
    /// samples, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "cpu_at")]
    pub ran_in: Vec<RanIn>,
    /// The functions in which the program was off the processor, the longest time first, for the worst episodes of a
    /// recording with `--stacks`, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "off_cpu_at")]
    pub blocked_in: Vec<BlockedIn>,
    /// The beginning and the recorded end of the episode, in nanoseconds of the trace.
    #[serde(skip)]
    pub recorded: (u64, u64),
    /// The part of `recorded` in which the client handled the event; before, the event was queued.
    #[serde(skip)]
    pub handled: (u64, u64),
    /// The intervals in which the client was off the processor: start and end, in nanoseconds of the trace.
    #[serde(skip)]
    pub off_cpu_spans: Vec<(u64, u64)>,
    /// The episode's messages in text form, with `--worst`; otherwise empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

/// A wait of an episode during a stall by another client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldUpReport {
    /// The name of the client that caused the stall.
    pub by: String,
    /// The kind of stall: `busy` (with the client's work) or `grabbed`.
    #[serde(rename = "kind")]
    pub how: String,
    /// The request that caused the stall; null for none.
    pub request: Option<String>,
    /// The part of the stall in which the episode's client waited, in milliseconds.
    pub waited_ms: f64,
}

/// An effect of an episode: an event that the client's own requests caused, or an episode of another client.
#[derive(Debug, Clone, Serialize)]
pub struct ChildReport {
    /// The number of the other client's connection; null for an event of the same client.
    pub client: Option<u32>,
    /// The name of the other client; null for an event of the same client.
    pub client_name: Option<String>,
    /// The request that caused the other client's episode; null for an event of the same client.
    pub request: Option<String>,
    /// The event that began the child, and its window.
    pub landmark: String,
    /// The beginning of the child, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The time from the beginning to the next event that is not nested in this one, or to the last request, in
    /// milliseconds. For another client's episode, the time to the end of all its effects.
    pub latency_ms: f64,
    /// The latency without the latencies of `children`, in milliseconds.
    pub exclusive_ms: f64,
    /// The effects of the child's own requests.
    pub children: Vec<ChildReport>,
}

pub(super) fn episode(of: &Episode, findings: &Findings, first: Timestamp) -> EpisodeReport {
    let start = of.start.as_nanos();
    let end = start.saturating_add(of.latency().saturating_sub(of.added));
    let queued = of.parts.of(LatencyComponent::Waiting);
    EpisodeReport {
        client: of.client.0,
        client_name: findings.client(of.client),
        landmark: of.landmark.to_string(),
        trigger: of.trigger.name(),
        start_ms: duration_ms(of.start.since(first)),
        latency_ms: nanos_ms(of.latency()),
        exclusive_ms: nanos_ms(of.exclusive()),
        led_to_by: of
            .asked()
            .filter(|_| !findings.counts(of))
            .map(|request| request.to_string()),
        perceptible: findings.is_perceptible(of),
        blame: BlameReport::of(of, findings, first),
        pattern: of.pattern,
        parts: parts(&of.parts),
        causes: causes(&of.parts),
        phases: phase_report(phases(of), 1),
        round_trips: of.round_trips,
        blocked_ms: nanos_ms(of.blocked()),
        culprit: of.parts.culprit(),
        mostly: Location::of(of)
            .into_iter()
            .max_by_key(|(_, nanos)| *nanos)
            .map(|(location, nanos)| LocationReport::new(location, nanos, of.latency())),
        requests: of.requests,
        bytes: of.bytes,
        events: of.events,
        basis: if of.scheduled { "switches" } else { "silence" },
        unsure: of.unsure.map(Unsure::why),
        awaited: AwaitedReport::all(&of.awaited, findings, first),
        held_up: None,
        children: children(&of.children, findings, first),
        modal: ModalReport::of(of, findings, first),
        callers: Vec::new(),
        ran_in: Vec::new(),
        blocked_in: Vec::new(),
        recorded: (start, end),
        handled: (end.min(start.saturating_add(queued)), end),
        off_cpu_spans: off_cpu_spans(of),
        messages: Vec::new(),
    }
}

/// The times (start and end in nanoseconds) in the episode's chain of waits at which no thread of its client could run,
/// and the client waited for no reply.
fn off_cpu_spans(of: &Episode) -> Vec<(u64, u64)> {
    let steps = of.path.iter().filter(|step| step.client == of.client);
    let off = steps.filter(
        |step| matches!(step.owner, LatencyComponent::OffCpu(cause) if cause != Cause::Processor),
    );
    off.map(|step| (step.start, step.start + step.nanos))
        .collect()
}

fn children(of: &[Child], findings: &Findings, first: Timestamp) -> Vec<ChildReport> {
    let one = |child: &Child| ChildReport {
        client: child.client.map(|client| client.0),
        client_name: child.client.map(|client| findings.client(client)),
        request: child.request.map(|name| name.to_string()),
        landmark: child.landmark.to_string(),
        start_ms: duration_ms(child.start.since(first)),
        latency_ms: nanos_ms(child.latency),
        exclusive_ms: nanos_ms(child.exclusive),
        children: children(&child.children, findings, first),
    };
    of.iter().map(one).collect()
}
