//! The execution profile as a document: the JSON of `report --format json` (docs/REFERENCE.md), which is also the
//! source of the text report.

use serde::{Deserialize, Serialize};
use x11prof_cost_model::{Clock, Rescaled};

use crate::callers::CallersReport;
use crate::callers::blocked::BlockedIn;
use crate::callers::running::RunningReport;
use crate::forecast::ForecastReport;
use crate::link::LinkReport;
use crate::pipeline::start_up::StartUpReport;
use crate::profile::partition::PartitionReport;
use crate::profile::scales::ScaleReport;
use crate::profile::total::TotalReport;
use crate::recording::warnings::Warning;
use crate::resources::report::ResourceReport;
use crate::server_time::TimeSource;
use crate::stalls::grabs::report::GrabReport;
use crate::stalls::report::StallsReport;

/// An execution profile. Times are milliseconds, percentages 0 to 100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileReport {
    /// The version of this layout: 1.
    pub format: u32,
    /// The recording.
    pub trace: TraceReport,
    /// The server of the cost table.
    pub server: ServerReport,
    /// The network that was assumed.
    pub network: NetworkReport,
    /// The kinds of requests, the most time first.
    pub requests: Vec<RequestReport>,
    /// The requests by another key, with --by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupReport>,
    /// Client CPU by code location, with --by function, line or stack and `record --stacks=cpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningReport>,
    /// Time off the processor by code location, the longest first, with --by function, line or stack and
    /// `record --stacks`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub off_cpu: Vec<BlockedIn>,
    /// The call sites of waits for replies; null without a grouping by function, line or stack, or without such stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callers: Option<CallersReport>,
    /// The costs of transport: wake-ups, reading, replies and events.
    pub transport: TransportReport,
    /// The kinds of events, the most time first; part of `transport`.
    pub events: Vec<EventReport>,
    /// The total of requests and transport.
    pub total: TotalReport,
    /// The partition of the time between clients and server (Table 8).
    pub client_and_server: PartitionReport,
    /// The what-if factors on the server's times.
    pub scaled: Vec<ScaleReport>,
    /// The connection to the display, as `ping` measures it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkReport>,
    /// The start-up of each client, the recorded command first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_up: Vec<StartUpReport>,
    /// The recording over the given network, or over DSL if none is given; null for a part of a recording.
    #[serde(default)]
    pub forecast: Option<ForecastReport>,
    /// Resources of the clients in the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceReport>,
    /// Grabs of the server, the pointer or the keyboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grabs: Option<GrabReport>,
    /// Stalls: intervals longer than a frame in which one client occupied the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StallsReport>,
    /// Caveats about the figures.
    pub warnings: Vec<Warning>,
}

/// The recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceReport {
    /// The trace's path as given by the user.
    pub path: String,
    /// The time from the trace's first record to its last.
    pub duration_ms: f64,
    /// The number of records.
    pub records: u64,
    /// True if the recording ended normally.
    pub complete: bool,
    /// The beginning of the reported part, in seconds after the trace's start; absent at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_s: Option<f64>,
    /// The end of the reported part; absent at the end of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
    /// The choice of clients (`--client`) that the report is limited to; absent for all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The recorded command; empty without one.
    pub command: Vec<String>,
    /// The number of connections.
    pub connection_count: u64,
    /// The connections, at most the first 10,000.
    pub connections: Vec<ConnectionReport>,
    /// Replies to requests that are not in the trace.
    pub unpaired_replies: u64,
}

/// A client's connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionReport {
    /// The connection's number in the trace.
    pub id: u32,
    /// The client's process.
    pub pid: Option<u32>,
    /// The name.
    pub name: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// Requests seen.
    pub requests: u64,
    /// The last sequence number in replies and events.
    pub last_sequence: u64,
}

/// The server of the cost table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerReport {
    /// The parameter file's name; empty if the server is behind a relay and no file was named.
    pub name: String,
    /// The clock of `server_ms`; null if no request has cost data.
    pub clock: Option<Clock>,
    /// The source of all server times.
    #[serde(rename = "time_source")]
    pub basis: TimeSource,
    /// The process that listens for the display instead of an X server, such as `sshd`: the server's time is then
    /// unknown, and estimated only with `--params`. Null if the listener is an X server or unknown.
    #[serde(default)]
    pub relay: Option<String>,
    /// Why the server did not time requests, if x11prof started it for timing; otherwise null.
    pub not_timed: Option<String>,
    /// The CPU model of the cost table; null if the table names none.
    pub machine: Option<String>,
    /// The machine from which the costs were rescaled, and the factors; null if the costs were measured on the machine
    /// itself.
    #[serde(rename = "rescaled")]
    pub brought: Option<Rescaled>,
}

/// The network that was assumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkReport {
    /// Bytes per second; null for unlimited speed.
    pub bytes_per_second: Option<f64>,
    /// The latency of a round trip.
    pub rtt_ms: f64,
    /// The compression ratio; null without compression.
    pub compression: Option<f64>,
    /// The source of network times: `simulated` or `paper` (equation 7); null without a network.
    pub model: Option<String>,
}

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestReport {
    /// `PolyFillRectangle`, `RENDER:Composite`.
    pub name: String,
    /// The number.
    pub count: u64,
    /// Bytes of the requests.
    pub bytes: u64,
    /// Server and network.
    pub time_ms: f64,
    /// The server's time for the operations, without transport.
    pub server_ms: f64,
    /// The network's time on the simulated critical path, or by equation 7.
    pub network_ms: f64,
    /// Percentage of the total time.
    pub percent_of_time: f64,
    /// Percentage of all requests.
    pub percent_of_count: f64,
    /// Time for one.
    pub ms_per_call: f64,
    /// The lower bound of `time_ms`.
    pub low_ms: f64,
    /// The most that it may be.
    pub high_ms: f64,
    /// Requests charged with the network's latency.
    #[serde(rename = "round_trips")]
    pub blocking: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The server's time for the transport that the requests caused; part of `transport.server_ms`, not of `time_ms`.
    pub transport_ms: f64,
    /// Bytes of replies and errors to the requests; for a client or a window, also of its events.
    #[serde(default)]
    pub returned_bytes: u64,
    /// The total costs of the requests: `time_ms`, `transport_ms`, and the network's time for `returned_bytes`.
    #[serde(default)]
    pub charged_ms: f64,
    /// The charged time as a percentage of all time.
    #[serde(default)]
    pub percent_charged: f64,
    /// Requests with a cost measured at their size.
    pub exact: u64,
    /// Requests with an interpolated or extrapolated cost.
    pub interpolated: u64,
    /// Requests with the cost of a substituted attribute value.
    pub substituted: u64,
    /// Requests without cost data.
    #[serde(rename = "no_cost_data")]
    pub no_cost: u64,
}

/// The requests by another key than their names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// `client`, `window`, `drawable` or `atom`.
    pub by: String,
    /// The groups, the most time first. Groups of windows, drawables and atoms include the transport of events.
    pub lines: Vec<RequestReport>,
}

/// A kind of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventReport {
    /// The name.
    pub name: String,
    /// The number.
    pub count: u64,
    /// Bytes of the events.
    pub bytes: u64,
    /// The server's time for sending the events.
    pub server_ms: f64,
    /// The time of the events' bytes on the network.
    pub network_ms: f64,
}

/// The costs of transport: wakeups, reading, replies and events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransportReport {
    /// Wakeups of the server.
    pub wakeups: u64,
    /// Replies.
    pub replies: u64,
    /// Events.
    pub events: u64,
    /// Errors.
    pub errors: u64,
    /// Bytes of replies, events, errors and connection setups.
    pub bytes: u64,
    /// Bytes of replies and errors.
    pub reply_bytes: u64,
    /// Bytes of events.
    pub event_bytes: u64,
    /// Bytes of connection setups, both ways.
    pub setup_bytes: u64,
    /// The server's transport time: `wakeup_ms`, `read_ms`, `cold_ms`, `reply_ms` (errors included), `event_ms`
    /// and `own.ms`.
    pub server_ms: f64,
    /// The time for waking up.
    pub wakeup_ms: f64,
    /// The time for reading the bytes of requests, and for connecting and disconnecting clients.
    pub read_ms: f64,
    /// Requests whose code or pixels had been evicted from the caches, because the server slept or other processes ran.
    #[serde(default)]
    pub cold_requests: u64,
    /// The additional cost of these requests.
    #[serde(default)]
    pub cold_ms: f64,
    /// The time for replies and errors.
    pub reply_ms: f64,
    /// The time for events.
    pub event_ms: f64,
    /// Unattributed server time; absent if server time is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "unattributed")]
    pub own: Option<OwnReport>,
    /// The time of `bytes` on the network.
    pub network_ms: f64,
    /// Server and network.
    pub time_ms: f64,
    /// Percentage of the total time.
    pub percent_of_time: f64,
}

/// Runs of the recorded server that no message caused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnReport {
    /// The number of runs.
    pub runs: u64,
    /// The time of these runs and of threads other than the first.
    pub ms: f64,
}
