//! The components of a latency, by owner and by cause.

use serde::Serialize;

use crate::episodes::cause::{Cause, ServerCause};
use crate::episodes::episode::{LatencyBreakdown, LatencyComponent, Trigger};
use crate::episodes::findings::Findings;
use crate::text::units::nanos_ms;

/// The components of a latency by owner; their sum is the latency.
#[derive(Debug, Clone, Serialize)]
pub struct PartsReport {
    /// The time in milliseconds before the client began to handle the stimulus.
    pub waiting_ms: f64,
    /// The time in which the client ran, in milliseconds.
    pub client_ms: f64,
    /// The time in which the client was off the processor, in milliseconds.
    pub off_cpu_ms: f64,
    /// The time in which the client waited for the server, or the server drew, in milliseconds.
    pub server_ms: f64,
    /// The time in milliseconds in which bytes were in flight between client and server.
    pub network_ms: f64,
    /// The time in milliseconds in which other clients handled the effects, or the client waited for them
    /// (`awaited_ms`).
    pub other_clients_ms: f64,
}

/// The components of a latency by cause (thesis, section 4.3.4).
#[derive(Debug, Clone, Serialize)]
pub struct CausesReport {
    /// The time in which the client ran, in milliseconds.
    pub running_ms: f64,
    /// The time in which the client was ready, but other processes had the processor, in milliseconds.
    pub processor_ms: f64,
    /// The time in which the client waited for a reply, in milliseconds.
    pub reply_ms: f64,
    /// The time in which another client's grab of the server held up the client's requests, in milliseconds.
    pub grab_ms: f64,
    /// The time in which the server was ready, but other processes had the processor, in milliseconds.
    pub server_processor_ms: f64,
    /// The time in which the client slept, in milliseconds.
    pub sleeping_ms: f64,
    /// The time in which the client waited for another thread, in milliseconds.
    pub lock_ms: f64,
    /// The time in which the client waited for a file, in milliseconds.
    pub file_ms: f64,
    /// The time in milliseconds in which the client waited in poll: for the next frame, a timer, or another program.
    pub poll_ms: f64,
    /// The time in which the client was blocked for another reason, such as a process, a pipe or an unknown object, in
    /// milliseconds.
    pub elsewhere_ms: f64,
    /// The time in which the client waited for another client or the screen's clock, with an open request, in
    /// milliseconds.
    pub awaited_ms: f64,
}

/// The figures over the episodes of one trigger.
#[derive(Debug, Clone, Serialize)]
pub struct TriggerReport {
    /// The kind of stimulus: `input`, `output` or `asynchronous`.
    pub trigger: &'static str,
    /// The number of episodes of this trigger.
    pub count: u64,
    /// The number of episodes over their threshold.
    pub perceptible: u64,
    /// The median latency in milliseconds; null without episodes.
    #[serde(rename = "p50_ms")]
    pub median_ms: Option<f64>,
    /// The 95th percentile of the latency in milliseconds; null without episodes.
    pub p95_ms: Option<f64>,
    /// The greatest latency in milliseconds; null without episodes.
    pub max_ms: Option<f64>,
    /// The sums of the latencies' components by owner.
    pub parts: PartsReport,
    /// The sums of the latencies' components by cause.
    pub causes: CausesReport,
    /// The mean number of the client's threads that were running or ready; null without context switches.
    pub runnable_threads: Option<f64>,
    /// The sums of the components by owner, over the episodes over their threshold.
    pub perceptible_parts: PartsReport,
    /// The sums of the components by cause, over the episodes over their threshold.
    pub perceptible_causes: CausesReport,
}

pub(super) fn parts(parts: &LatencyBreakdown) -> PartsReport {
    PartsReport {
        waiting_ms: nanos_ms(parts.of(LatencyComponent::Waiting)),
        client_ms: nanos_ms(parts.of(LatencyComponent::Client)),
        off_cpu_ms: nanos_ms(parts.off_cpu()),
        server_ms: nanos_ms(parts.server()),
        network_ms: nanos_ms(parts.of(LatencyComponent::Network)),
        other_clients_ms: nanos_ms(parts.others()),
    }
}

pub(super) fn causes(parts: &LatencyBreakdown) -> CausesReport {
    let of = |owner| nanos_ms(parts.of(owner));
    CausesReport {
        running_ms: of(LatencyComponent::Client),
        processor_ms: of(LatencyComponent::OffCpu(Cause::Processor)),
        reply_ms: of(LatencyComponent::Server(ServerCause::Reply)),
        grab_ms: of(LatencyComponent::Server(ServerCause::Grabbed)),
        server_processor_ms: of(LatencyComponent::Server(ServerCause::Processor)),
        sleeping_ms: of(LatencyComponent::OffCpu(Cause::Sleeping)),
        lock_ms: of(LatencyComponent::OffCpu(Cause::Synchronisation)),
        file_ms: of(LatencyComponent::OffCpu(Cause::File)),
        poll_ms: of(LatencyComponent::OffCpu(Cause::Poll)),
        elsewhere_ms: of(LatencyComponent::OffCpu(Cause::Elsewhere)),
        awaited_ms: of(LatencyComponent::Awaited),
    }
}

pub(super) fn triggers(findings: &Findings) -> Vec<TriggerReport> {
    let all = Trigger::ALL.into_iter().zip(&findings.triggers);
    all.map(|(trigger, of)| TriggerReport {
        trigger: trigger.name(),
        count: of.count,
        perceptible: of.perceptible,
        median_ms: of.latencies.percentile(0.5).map(nanos_ms),
        p95_ms: of.latencies.percentile(0.95).map(nanos_ms),
        max_ms: of.latencies.range().map(|(_, most)| nanos_ms(most)),
        parts: parts(&of.parts),
        causes: causes(&of.parts),
        runnable_threads: (of.counted > 0).then(|| of.runnable as f64 / of.counted as f64),
        perceptible_parts: parts(&of.perceptible_parts),
        perceptible_causes: causes(&of.perceptible_parts),
    })
    .collect()
}
