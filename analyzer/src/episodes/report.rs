//! The report on episodes as data (docs/JSON.md).

use std::time::Duration;

use serde::Serialize;
use x11prof_trace::Timestamp;

use super::cumulative::{STEPS, at_least, percentile};
use super::episode::{Asked, Cause, Episode, Owner, Parts, Trigger, Unsure};
use super::findings::Findings;
use super::further::{ApartReport, BurstReport, DurationReport, ThinkReport};
use super::landmarks::{Landmark, Landmarks, phases};
use crate::facts::Facts;
use crate::profile::reporting::{duration_ms, percent};

/// The version of the JSON.
const FORMAT: u32 = 1;

/// What `x11prof episodes` found.
#[derive(Debug, Clone, Serialize)]
pub struct EpisodesReport {
    /// The version of this layout.
    pub format: u32,
    /// The trace.
    pub trace: String,
    /// LagAlyzer's Table 4.2 of it.
    pub summary: SummaryReport,
    /// The cumulative latency distribution.
    pub distribution: Vec<CumulativeReport>,
    /// By trigger, location and cause.
    pub triggers: Vec<TriggerReport>,
    /// Landmarks put together by the kind of action and the class of the window, the most time first.
    pub groups: Vec<LandmarkReport>,
    /// The landmark profile, the most time first.
    pub landmarks: Vec<LandmarkReport>,
    /// Contiguous short episodes.
    pub bursts: Vec<BurstReport>,
    /// Think and wait time.
    pub think_and_wait: ThinkReport,
    /// The share of all latency, by the episodes' duration.
    pub durations: Vec<DurationReport>,
    /// How far apart long episodes begin (the latency-benchmark paper's Table 2).
    pub long_apart: Vec<ApartReport>,
    /// The episodes, in the order of time; with `--worst` the longest first.
    pub episodes: Vec<EpisodeReport>,
    /// Episodes that are not in the list.
    pub omitted: u64,
}

/// The thesis's Table 4.2.
#[derive(Debug, Clone, Serialize)]
pub struct SummaryReport {
    /// From the first connection to the last thing that a client did.
    pub end_to_end_ms: f64,
    /// The latencies of all episodes together.
    pub latency_ms: f64,
    /// The time in which at least one of them went on.
    pub in_episode_ms: f64,
    /// The same as a share of the end-to-end time.
    pub in_episode_percent: f64,
    /// All of them.
    pub count: u64,
    /// Those under 3 ms.
    pub under_3_ms: u64,
    /// Those of 3 ms and more.
    pub from_3_ms: u64,
    /// Those of 100 ms and more.
    pub from_100_ms: u64,
    /// Those over their threshold.
    pub perceptible: u64,
    /// Those of 100 ms and more for each minute in episodes; null where there was none.
    pub long_per_minute: Option<f64>,
    /// The 75th percentile of the latency.
    pub p75_ms: Option<f64>,
    /// The 98th.
    pub p98_ms: Option<f64>,
    /// How parts were told: `switches`, `silence`, or `both`.
    pub basis: &'static str,
}

/// A step of the cumulative latency distribution.
#[derive(Debug, Clone, Serialize)]
pub struct CumulativeReport {
    /// Episodes at least this long,
    pub at_least_ms: f64,
    /// so many,
    pub count: u64,
    /// and for each second in episodes; null where there was none.
    pub per_second: Option<f64>,
}

/// Who owns the time of an episode; together its latency.
#[derive(Debug, Clone, Serialize)]
pub struct PartsReport {
    /// Nobody had begun with it.
    pub waiting_ms: f64,
    /// The client ran.
    pub client_ms: f64,
    /// The client did not run.
    pub off_cpu_ms: f64,
    /// The server's.
    pub server_ms: f64,
    /// On the way.
    pub network_ms: f64,
}

/// Why it took time (thesis, section 4.3.4).
#[derive(Debug, Clone, Serialize)]
pub struct CausesReport {
    /// The client ran.
    pub running_ms: f64,
    /// It could run, and others did.
    pub processor_ms: f64,
    /// It waited for a reply.
    pub reply_ms: f64,
    /// The same, while another client had grabbed the server.
    pub grab_ms: f64,
    /// It slept.
    pub sleeping_ms: f64,
    /// It waited for another thread.
    pub lock_ms: f64,
    /// It was blocked elsewhere.
    pub elsewhere_ms: f64,
}

/// The episodes of one trigger.
#[derive(Debug, Clone, Serialize)]
pub struct TriggerReport {
    /// `input`, `output`, `asynchronous`.
    pub trigger: &'static str,
    /// How many.
    pub count: u64,
    /// Those over their threshold.
    pub perceptible: u64,
    /// Where their time went.
    pub parts: PartsReport,
    /// Why.
    pub causes: CausesReport,
    /// Threads of the client that could run, on average; null without context switches.
    pub runnable_threads: Option<f64>,
    /// The same of those over their threshold.
    pub perceptible_parts: PartsReport,
    /// The same of those over their threshold.
    pub perceptible_causes: CausesReport,
}

/// A landmark.
#[derive(Debug, Clone, Serialize)]
pub struct LandmarkReport {
    /// Its name.
    pub landmark: String,
    /// The kind of action and the class of the window.
    pub group: String,
    /// What began the first of its episodes.
    pub trigger: &'static str,
    /// Episodes.
    pub count: u64,
    /// Those over their threshold.
    pub perceptible: u64,
    /// Their latencies.
    pub max_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The least.
    pub min_ms: f64,
    /// Together.
    pub total_ms: f64,
    /// The 75th percentile.
    pub p75_ms: f64,
    /// The 98th.
    pub p98_ms: f64,
    /// The same without what its episodes had to handle of their own doing.
    pub exclusive: ExclusiveReport,
    /// INP's phases, on average.
    pub phases: PhasesReport,
}

/// Exclusive latencies of a landmark.
#[derive(Debug, Clone, Serialize)]
pub struct ExclusiveReport {
    /// The greatest.
    pub max_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The least.
    pub min_ms: f64,
    /// Together.
    pub total_ms: f64,
}

/// INP's three phases.
#[derive(Debug, Clone, Serialize)]
pub struct PhasesReport {
    /// Until the client began with it.
    pub input_delay_ms: f64,
    /// Until its last request.
    pub processing_ms: f64,
    /// Until that was drawn.
    pub presentation_delay_ms: f64,
}

/// An episode.
#[derive(Debug, Clone, Serialize)]
pub struct EpisodeReport {
    /// The connection's number.
    pub client: u32,
    /// The client's name.
    pub client_name: String,
    /// What it was about.
    pub landmark: String,
    /// `input`, `output`, `asynchronous`.
    pub trigger: &'static str,
    /// Since the trace's first record.
    pub start_ms: f64,
    /// Its latency.
    pub latency_ms: f64,
    /// Over its threshold.
    pub perceptible: bool,
    /// Its parts.
    pub parts: PartsReport,
    /// Why it took time.
    pub causes: CausesReport,
    /// INP's phases.
    pub phases: PhasesReport,
    /// Times that the client waited for a reply.
    pub round_trips: u64,
    /// How long it did.
    pub blocked_ms: f64,
    /// The largest part.
    pub culprit: &'static str,
    /// Requests sent.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Events handled.
    pub events: u64,
    /// `switches`, or `silence` where the wire alone told.
    pub basis: &'static str,
    /// Why it may have ended elsewhere; null where nothing speaks for it.
    pub unsure: Option<&'static str>,
    /// What it had to handle of its own doing.
    pub children: Vec<ChildReport>,
    /// Its messages, where the worst are wanted: a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

/// An event of an episode's own doing.
#[derive(Debug, Clone, Serialize)]
pub struct ChildReport {
    /// The event and its window.
    pub landmark: String,
    /// Since the trace's first record.
    pub start_ms: f64,
    /// Until the next one, or the last request.
    pub latency_ms: f64,
}

pub(crate) fn nanos_ms(nanos: u64) -> f64 {
    duration_ms(Duration::from_nanos(nanos))
}

fn parts(parts: &Parts) -> PartsReport {
    PartsReport {
        waiting_ms: nanos_ms(parts.of(Owner::Waiting)),
        client_ms: nanos_ms(parts.of(Owner::Client)),
        off_cpu_ms: nanos_ms(parts.off_cpu()),
        server_ms: nanos_ms(parts.server()),
        network_ms: nanos_ms(parts.of(Owner::Network)),
    }
}

fn causes(parts: &Parts) -> CausesReport {
    let of = |owner| nanos_ms(parts.of(owner));
    CausesReport {
        running_ms: of(Owner::Client),
        processor_ms: of(Owner::OffCpu(Cause::Processor)),
        reply_ms: of(Owner::Server(Asked::Reply)),
        grab_ms: of(Owner::Server(Asked::Grabbed)),
        sleeping_ms: of(Owner::OffCpu(Cause::Sleeping)),
        lock_ms: of(Owner::OffCpu(Cause::Synchronisation)),
        elsewhere_ms: of(Owner::OffCpu(Cause::Elsewhere)),
    }
}

fn phase_report(phases: [u64; 3], of: u64) -> PhasesReport {
    let mean = |nanos: u64| nanos_ms(nanos / of.max(1));
    PhasesReport {
        input_delay_ms: mean(phases[0]),
        processing_ms: mean(phases[1]),
        presentation_delay_ms: mean(phases[2]),
    }
}

impl EpisodesReport {
    /// The report on `findings`, in a trace of which `facts` tell; `path` is how the user named it.
    pub fn new(path: &str, facts: &Facts, findings: &Findings) -> EpisodesReport {
        let first = facts.first().unwrap_or_default();
        EpisodesReport {
            format: FORMAT,
            trace: path.to_owned(),
            summary: summary(facts, findings),
            distribution: distribution(findings),
            triggers: triggers(findings),
            groups: landmarks(&findings.groups),
            landmarks: landmarks(&findings.landmarks),
            bursts: findings
                .bursts
                .list()
                .into_iter()
                .map(|burst| BurstReport::new(burst, findings, first))
                .collect(),
            think_and_wait: ThinkReport::new(facts, findings, first),
            durations: DurationReport::all(findings),
            long_apart: ApartReport::all(findings),
            episodes: findings
                .episodes()
                .into_iter()
                .map(|one| episode(one, findings, first))
                .collect(),
            omitted: findings.omitted,
        }
    }
}

fn summary(facts: &Facts, findings: &Findings) -> SummaryReport {
    // Over the network that was asked for, a session takes longer by what that adds.
    let added_ms = nanos_ms(findings.added[0]);
    let end_to_end_ms = duration_ms(facts.wall()) + added_ms;
    let in_episode_ms = nanos_ms(findings.covered.total()) + added_ms;
    let from_100_ms = at_least(&findings.latencies, 100.0);
    let minutes = in_episode_ms / 60_000.0;
    SummaryReport {
        end_to_end_ms,
        latency_ms: nanos_ms(findings.total),
        in_episode_ms,
        in_episode_percent: percent(in_episode_ms, end_to_end_ms),
        count: findings.count(),
        under_3_ms: findings.under_3,
        from_3_ms: findings.count() - findings.under_3,
        from_100_ms,
        perceptible: findings.perceptible,
        long_per_minute: (minutes > 0.0).then(|| from_100_ms as f64 / minutes),
        p75_ms: percentile(&findings.latencies, 0.75).map(nanos_ms),
        p98_ms: percentile(&findings.latencies, 0.98).map(nanos_ms),
        basis: match findings.unscheduled {
            0 => "switches",
            none if none == findings.count() => "silence",
            _ => "both",
        },
    }
}

fn distribution(findings: &Findings) -> Vec<CumulativeReport> {
    let seconds = findings.covered.total().saturating_add(findings.added[0]) as f64 / 1e9;
    let step = |ms: &f64| {
        let count = at_least(&findings.latencies, *ms);
        CumulativeReport {
            at_least_ms: *ms,
            count,
            per_second: (seconds > 0.0).then(|| count as f64 / seconds),
        }
    };
    STEPS.iter().map(step).collect()
}

fn triggers(findings: &Findings) -> Vec<TriggerReport> {
    let all = Trigger::ALL.into_iter().zip(&findings.triggers);
    all.map(|(trigger, of)| TriggerReport {
        trigger: trigger.name(),
        count: of.count,
        perceptible: of.perceptible,
        parts: parts(&of.parts),
        causes: causes(&of.parts),
        runnable_threads: (of.counted > 0).then(|| of.runnable as f64 / of.counted as f64),
        perceptible_parts: parts(&of.perceptible_parts),
        perceptible_causes: causes(&of.perceptible_parts),
    })
    .collect()
}

fn landmarks(of: &Landmarks) -> Vec<LandmarkReport> {
    let list = of.list().into_iter();
    list.map(|(name, of)| landmark(name.as_str(), of)).collect()
}

fn landmark(name: &str, of: &Landmark) -> LandmarkReport {
    let count = of.latencies.number();
    let (least, most) = of.latencies.range().unwrap_or((0, 0));
    let at = |share| nanos_ms(percentile(&of.latencies, share).unwrap_or(0));
    LandmarkReport {
        landmark: name.to_owned(),
        group: of.group.to_string(),
        trigger: of.trigger.name(),
        count,
        perceptible: of.perceptible,
        max_ms: nanos_ms(most),
        mean_ms: nanos_ms(of.total / count.max(1)),
        min_ms: nanos_ms(least),
        total_ms: nanos_ms(of.total),
        p75_ms: at(0.75),
        p98_ms: at(0.98),
        exclusive: ExclusiveReport {
            max_ms: nanos_ms(of.exclusive.2),
            mean_ms: nanos_ms(of.exclusive.1 / count.max(1)),
            min_ms: nanos_ms(of.exclusive.0),
            total_ms: nanos_ms(of.exclusive.1),
        },
        phases: phase_report(of.phases, count),
    }
}

fn episode(of: &Episode, findings: &Findings, first: Timestamp) -> EpisodeReport {
    EpisodeReport {
        client: of.client.0,
        client_name: findings.client(of.client),
        landmark: of.landmark.to_string(),
        trigger: of.trigger.name(),
        start_ms: duration_ms(of.start.since(first)),
        latency_ms: nanos_ms(of.latency()),
        perceptible: findings.is_perceptible(of),
        parts: parts(&of.parts),
        causes: causes(&of.parts),
        phases: phase_report(phases(of), 1),
        round_trips: of.round_trips,
        blocked_ms: nanos_ms(of.parts.blocked()),
        culprit: of.parts.culprit(),
        requests: of.requests,
        bytes: of.bytes,
        events: of.events,
        basis: if of.scheduled { "switches" } else { "silence" },
        unsure: of.unsure.map(Unsure::why),
        children: of
            .children
            .iter()
            .map(|child| ChildReport {
                landmark: child.landmark.to_string(),
                start_ms: duration_ms(child.start.since(first)),
                latency_ms: nanos_ms(child.latency),
            })
            .collect(),
        messages: Vec::new(),
    }
}
