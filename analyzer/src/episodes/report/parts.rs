//! The components of a latency: by owner, and by cause.

use serde::Serialize;

use crate::episodes::cause::{Cause, ServerCause};
use crate::episodes::cumulative::percentile;
use crate::episodes::episode::{LatencyBreakdown, LatencyComponent, Trigger};
use crate::episodes::findings::Findings;
use crate::text::units::nanos_ms;

/// The time of an episode by owner; the sum is the latency.
#[derive(Debug, Clone, Serialize)]
pub struct PartsReport {
    /// The time before the client began to handle the stimulus.
    pub waiting_ms: f64,
    /// The client ran.
    pub client_ms: f64,
    /// The client did not run.
    pub off_cpu_ms: f64,
    /// The server's.
    pub server_ms: f64,
    /// The time in flight between client and server.
    pub network_ms: f64,
    /// The time in which other clients handle the effects, or the client waits for them (`awaited_ms`).
    pub other_clients_ms: f64,
}

/// The causes of a latency (thesis, section 4.3.4).
#[derive(Debug, Clone, Serialize)]
pub struct CausesReport {
    /// The client ran.
    pub running_ms: f64,
    /// Ready, while other processes have the processor.
    pub processor_ms: f64,
    /// Waiting for a reply.
    pub reply_ms: f64,
    /// Waiting for a reply while another client has grabbed the server.
    pub grab_ms: f64,
    /// The server was ready, while other processes had the processor.
    pub server_processor_ms: f64,
    /// Sleeping.
    pub sleeping_ms: f64,
    /// Waiting for another thread.
    pub lock_ms: f64,
    /// Waiting for a file.
    pub file_ms: f64,
    /// Waiting in poll: for the next frame, a timer, or another program.
    pub poll_ms: f64,
    /// Blocked elsewhere.
    pub elsewhere_ms: f64,
    /// Waiting for another client, or for the screen's clock, with an open request.
    pub awaited_ms: f64,
}

/// The episodes of one trigger.
#[derive(Debug, Clone, Serialize)]
pub struct TriggerReport {
    /// `input`, `output`, `asynchronous`.
    pub trigger: &'static str,
    /// The number.
    pub count: u64,
    /// Episodes over their threshold.
    pub perceptible: u64,
    /// The median latency; null if there are none.
    #[serde(rename = "p50_ms")]
    pub median_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// The greatest.
    pub max_ms: Option<f64>,
    /// The parts of the latencies.
    pub parts: PartsReport,
    /// Why.
    pub causes: CausesReport,
    /// Threads of the client that could run, on average; null without context switches.
    pub runnable_threads: Option<f64>,
    /// The parts of the episodes over their threshold.
    pub perceptible_parts: PartsReport,
    /// The causes of the episodes over their threshold.
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
        median_ms: percentile(&of.latencies, 0.5).map(nanos_ms),
        p95_ms: percentile(&of.latencies, 0.95).map(nanos_ms),
        max_ms: of.latencies.range().map(|(_, most)| nanos_ms(most)),
        parts: parts(&of.parts),
        causes: causes(&of.parts),
        runnable_threads: (of.counted > 0).then(|| of.runnable as f64 / of.counted as f64),
        perceptible_parts: parts(&of.perceptible_parts),
        perceptible_causes: causes(&of.perceptible_parts),
    })
    .collect()
}
