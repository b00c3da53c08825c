//! The parts of the report that look across episodes: bursts, think and wait time, long episodes.

use serde::Serialize;
use x11prof_trace::Timestamp;

use crate::episodes::bursts::Burst;
use crate::episodes::findings::Findings;
use crate::episodes::long_episodes::{EDGES, THRESHOLDS};
use crate::recording::trace_summary::TraceSummary;
use crate::text::units::{duration_ms, nanos_ms, percent};

/// Contiguous short episodes: an animation, a drag.
#[derive(Debug, Clone, Serialize)]
pub struct BurstReport {
    /// The number of its client's connection.
    pub client: u32,
    /// The client.
    pub client_name: String,
    /// The frames' landmark.
    pub landmark: String,
    /// The beginning, since the trace's first record.
    pub start_ms: f64,
    /// The length.
    pub duration_ms: f64,
    /// Frames.
    pub frames: u64,
    /// Frames in each second.
    pub frames_per_second: f64,
    /// Frames that took longer than the budget.
    pub over_budget: u64,
    /// Frames that were complete over one and a half budgets after the previous frame.
    pub late: u64,
    /// The mean latency of a frame.
    pub mean_ms: f64,
    /// The greatest.
    pub max_ms: f64,
}

impl BurstReport {
    pub(crate) fn new(of: &Burst, findings: &Findings, first: Timestamp) -> BurstReport {
        let duration = duration_ms(of.end.since(of.start));
        BurstReport {
            client: of.client.0,
            client_name: findings.client(of.client),
            landmark: of.landmark.to_string(),
            start_ms: duration_ms(of.start.since(first)),
            duration_ms: duration,
            frames: of.frames,
            frames_per_second: of.frames as f64 * 1000.0 / duration.max(1e-6),
            over_budget: of.over,
            late: of.late,
            mean_ms: nanos_ms(of.total / of.frames.max(1)),
            max_ms: nanos_ms(of.longest),
        }
    }
}

/// Think and wait time.
#[derive(Debug, Clone, Serialize)]
pub struct ThinkReport {
    /// The time covered by episodes that the user caused.
    pub wait_ms: f64,
    /// The rest of the end-to-end time.
    pub think_ms: f64,
    /// The share of waiting.
    pub wait_percent: f64,
    /// The time of all clients by state.
    pub states: Vec<StateReport>,
    /// The longest waits, in the order of time.
    pub waits: Vec<WaitReport>,
}

/// A state of the latency-benchmark paper's machine.
#[derive(Debug, Clone, Serialize)]
pub struct StateReport {
    /// True if an episode of the client was in progress.
    pub busy: bool,
    /// Events of the user waited.
    pub events_waiting: bool,
    /// A reply was outstanding.
    pub outstanding: bool,
    /// The client was blocked on a file.
    pub file: bool,
    /// The time of all clients in it.
    pub time_ms: f64,
}

/// A stretch of waiting.
#[derive(Debug, Clone, Serialize)]
pub struct WaitReport {
    /// The beginning, since the trace's first record.
    pub start_ms: f64,
    /// The length.
    pub duration_ms: f64,
}

impl ThinkReport {
    pub(crate) fn new(
        summary: &TraceSummary,
        findings: &Findings,
        first: Timestamp,
    ) -> ThinkReport {
        let all = duration_ms(summary.wall()) + nanos_ms(findings.added[0]);
        let wait_ms = nanos_ms(findings.waits.total()) + nanos_ms(findings.added[1]);
        let of_busy = findings.busy.times().map(|(state, time)| StateReport {
            busy: true,
            events_waiting: state.events,
            outstanding: state.outstanding,
            file: state.file,
            time_ms: nanos_ms(time),
        });
        let handled = findings.busy.total().saturating_add(findings.waited_idle);
        let idle = findings.connected_for.saturating_sub(handled);
        let of_idle = [(false, idle), (true, findings.waited_idle)];
        let states = of_idle
            .into_iter()
            .map(|(events_waiting, time)| StateReport {
                busy: false,
                events_waiting,
                outstanding: false,
                file: false,
                time_ms: nanos_ms(time),
            });
        let waits = findings.waits.longest().into_iter();
        ThinkReport {
            wait_ms,
            think_ms: (all - wait_ms).max(0.0),
            wait_percent: percent(wait_ms, all),
            states: states.chain(of_busy).collect(),
            waits: waits
                .map(|wait| WaitReport {
                    start_ms: duration_ms(Timestamp::from_nanos(wait.start).since(first)),
                    duration_ms: nanos_ms(wait.length),
                })
                .collect(),
        }
    }
}

/// The episodes of a class of duration.
#[derive(Debug, Clone, Serialize)]
pub struct DurationReport {
    /// The lower bound of the class.
    pub from_ms: f64,
    /// The upper limit of the latency; null for no limit.
    pub to_ms: Option<f64>,
    /// Episodes.
    pub count: u64,
    /// The sum of their latencies.
    pub total_ms: f64,
    /// The percentage of all latency.
    pub percent: f64,
}

impl DurationReport {
    pub(crate) fn all(findings: &Findings) -> Vec<DurationReport> {
        let classes = EDGES.iter().zip(&findings.long.classes).enumerate();
        let class = |(n, (from, (count, total))): (usize, (&f64, &(u64, u64)))| DurationReport {
            from_ms: *from,
            to_ms: EDGES.get(n + 1).copied(),
            count: *count,
            total_ms: nanos_ms(*total),
            percent: percent(*total as f64, findings.total as f64),
        };
        classes.map(class).collect()
    }
}

/// Episodes above a threshold, and the time between their beginnings.
#[derive(Debug, Clone, Serialize)]
pub struct ApartReport {
    /// The lower limit of the latency; null if each episode's own threshold applies.
    pub above_ms: Option<f64>,
    /// The number.
    pub count: u64,
    /// The mean time between two such episodes; null for fewer than two.
    pub mean_ms: Option<f64>,
    /// The standard deviation; null for fewer than three.
    pub standard_deviation_ms: Option<f64>,
}

impl ApartReport {
    pub(crate) fn all(findings: &Findings) -> Vec<ApartReport> {
        let mut thresholds = THRESHOLDS.to_vec();
        let own = findings.options.thresholds.general;
        if !thresholds.contains(&own) {
            thresholds.push(own);
            thresholds.sort_by(f64::total_cmp);
        }
        let report = |above_ms: Option<f64>| {
            let (count, apart) = findings.long.apart(above_ms);
            ApartReport {
                above_ms,
                count,
                mean_ms: apart.mean().map(|mean| mean / 1e6),
                standard_deviation_ms: apart.standard_deviation().map(|sd| sd / 1e6),
            }
        };
        let all = thresholds.into_iter().map(Some).chain([None]);
        all.map(report).collect()
    }
}
