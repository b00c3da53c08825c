//! The parts of the report that look across episodes: bursts, think and wait time, long episodes.

use serde::Serialize;
use x11prof_trace::Timestamp;

use crate::episodes::bursts::Burst;
use crate::episodes::findings::Findings;
use crate::episodes::long_episodes::{EDGES, THRESHOLDS};
use crate::recording::trace_summary::TraceSummary;
use crate::text::units::{duration_ms, nanos_ms, percent};

/// A burst: contiguous short episodes, such as an animation or a drag. Each episode is a frame.
#[derive(Debug, Clone, Serialize)]
pub struct BurstReport {
    /// The number of the client's connection.
    pub client: u32,
    /// The name of the client that handled the episodes.
    pub client_name: String,
    /// The landmark of the frames.
    pub landmark: String,
    /// The beginning of the burst, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The length of the burst in milliseconds.
    pub duration_ms: f64,
    /// The number of frames (episodes) in the burst.
    pub frames: u64,
    /// The number of frames per second.
    pub frames_per_second: f64,
    /// The number of frames that took longer than the budget of a frame.
    pub over_budget: u64,
    /// The number of frames that were complete over one and a half budgets after the previous frame.
    pub late: u64,
    /// The mean latency of a frame in milliseconds.
    pub mean_ms: f64,
    /// The greatest latency of a frame in milliseconds.
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

/// The time in which the user waited, and the time in which the user could think.
#[derive(Debug, Clone, Serialize)]
pub struct ThinkReport {
    /// The time that episodes which the user caused cover, in milliseconds.
    pub wait_ms: f64,
    /// The rest of the end-to-end time, in which the user did not wait, in milliseconds.
    pub think_ms: f64,
    /// `wait_ms` as a percentage of the end-to-end time.
    pub wait_percent: f64,
    /// The time of all clients by state of the client.
    pub states: Vec<StateReport>,
    /// The longest intervals in which the user waited, in time order.
    pub waits: Vec<WaitReport>,
}

/// A state of clients (the states of the latency-benchmark paper), and the time in it.
#[derive(Debug, Clone, Serialize)]
pub struct StateReport {
    /// True for a state in which an episode of the client was in progress.
    pub busy: bool,
    /// True if events of the user waited for the client.
    pub events_waiting: bool,
    /// True if the client waited for a reply.
    pub outstanding: bool,
    /// True if the client was blocked on a file.
    pub file: bool,
    /// The time of all clients in this state, added up, in milliseconds.
    pub time_ms: f64,
}

/// An interval in which the user waited.
#[derive(Debug, Clone, Serialize)]
pub struct WaitReport {
    /// The beginning of the interval, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The length of the interval in milliseconds.
    pub duration_ms: f64,
}

impl ThinkReport {
    pub(crate) fn new(
        summary: &TraceSummary,
        findings: &Findings,
        first: Timestamp,
    ) -> ThinkReport {
        let all = duration_ms(summary.wall()) + nanos_ms(findings.added);
        let wait_ms = nanos_ms(findings.waits.total());
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

/// The episodes of one class of duration.
#[derive(Debug, Clone, Serialize)]
pub struct DurationReport {
    /// The lower bound of the latency in this class, in milliseconds.
    pub from_ms: f64,
    /// The upper bound of the latency in this class, in milliseconds; null for no bound.
    pub to_ms: Option<f64>,
    /// The number of episodes in this class.
    pub count: u64,
    /// The total latency of the episodes of this class, in milliseconds.
    pub total_ms: f64,
    /// `total_ms` as a percentage of the latency of all episodes.
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
    /// The threshold of the latency in milliseconds; null if each episode's own threshold applies.
    pub above_ms: Option<f64>,
    /// The number of episodes above the threshold.
    pub count: u64,
    /// The mean time between the beginnings of two successive episodes above the threshold, in milliseconds; null for
    /// fewer than two.
    pub mean_ms: Option<f64>,
    /// The standard deviation of the time between the beginnings of two successive episodes above the threshold, in
    /// milliseconds; null for fewer than three.
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
