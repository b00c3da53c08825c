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

/// The execution profile of a trace on a server. Times are in milliseconds, percentages from 0 to 100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileReport {
    /// The version of this document's layout: 1.
    pub format: u32,
    /// The trace of the profile.
    pub trace: TraceReport,
    /// The server whose cost table was used.
    pub server: ServerReport,
    /// The network for which times were estimated.
    pub network: NetworkReport,
    /// The kinds of requests, the one with the most time first.
    pub requests: Vec<RequestReport>,
    /// The requests by the key of `--by`; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupReport>,
    /// The clients' CPU time by code location; absent without `--by` function, line, library or stack, or without
    /// `record --stacks=cpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningReport>,
    /// The time off the processor by code location, the longest first; empty without `--by` function, line, library or
    /// stack, or without `record --stacks`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub off_cpu: Vec<BlockedIn>,
    /// The call sites of waits for replies; absent without `--by` function, line or stack, or without such
    /// stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callers: Option<CallersReport>,
    /// The costs of transport: wakeups, reading, replies and events.
    pub transport: TransportReport,
    /// The kinds of events, the one with the most time first. Their times are a part of `transport`.
    pub events: Vec<EventReport>,
    /// The sums of requests and transport.
    pub total: TotalReport,
    /// The time of clients and server (Table 8).
    pub client_and_server: PartitionReport,
    /// The what-if factors on the server's times, with the requests that each matched.
    pub scaled: Vec<ScaleReport>,
    /// The measurements of the connection to the display, as by `ping`; absent without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkReport>,
    /// The start-up of each client, the recorded command first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_up: Vec<StartUpReport>,
    /// A sentence about the user's slowest action, if it took longer than its threshold (see `x11prof episodes`);
    /// absent without such an action, for a part of a recording, and over a given network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_action: Option<String>,
    /// The forecast of the recording over the given network, or over DSL if none is given; null for a part of a
    /// recording.
    #[serde(default)]
    pub forecast: Option<ForecastReport>,
    /// The resources that clients hold in the server; absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceReport>,
    /// The grabs of the server, the pointer or the keyboard; absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grabs: Option<GrabReport>,
    /// The stalls (intervals longer than a frame in which one client occupied the server); absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StallsReport>,
    /// The caveats about the figures.
    pub warnings: Vec<Warning>,
}

/// The trace that was profiled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceReport {
    /// The path of the trace, as the user specified it.
    pub path: String,
    /// The time in milliseconds from the trace's first record to its last.
    pub duration_ms: f64,
    /// The number of records in the trace.
    pub records: u64,
    /// True if the recording ended normally.
    pub complete: bool,
    /// The beginning of the reported part, in seconds after the trace's start; absent if it is the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_s: Option<f64>,
    /// The end of the reported part, in seconds after the trace's start; absent if it is the end of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
    /// The client filter (`--client`) that the report is limited to; absent for all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The recorded command and its arguments; empty without a command.
    pub command: Vec<String>,
    /// The number of connections in the trace.
    pub connection_count: u64,
    /// The connections, at most the first 10,000.
    pub connections: Vec<ConnectionReport>,
    /// The number of replies to requests that are not in the trace.
    pub unpaired_replies: u64,
}

/// The connection of a client, as the trace describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionReport {
    /// The number of the connection in the trace.
    pub id: u32,
    /// The id of the client's process; null if unknown.
    pub pid: Option<u32>,
    /// The name of the client's program; null if unknown.
    pub name: Option<String>,
    /// The command line of the client; empty if unknown.
    pub command: Vec<String>,
    /// The number of the client's requests in the trace.
    pub requests: u64,
    /// The last sequence number in the client's replies and events.
    pub last_sequence: u64,
}

/// The server whose cost table was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerReport {
    /// The parameter file's name; empty if the server is behind a relay and no file was named.
    pub name: String,
    /// The clock that measured the costs in `server_ms`; null if no request has cost data.
    pub clock: Option<Clock>,
    /// The time source of all server times.
    #[serde(rename = "time_source")]
    pub basis: TimeSource,
    /// The process that listens for the display instead of an X server, such as `sshd`: the server's time is then
    /// unknown, and estimated only with `--params`. Null if the listener is an X server or unknown.
    #[serde(default)]
    pub relay: Option<String>,
    /// The reason why the server did not time requests although x11prof started it for that; otherwise null.
    pub not_timed: Option<String>,
    /// The CPU model of the cost table; null if the table does not name it.
    pub machine: Option<String>,
    /// The machine from which the costs were rescaled, and the factors; null if the costs were measured on this
    /// machine.
    #[serde(rename = "rescaled")]
    pub brought: Option<Rescaled>,
}

/// The network for which times were estimated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkReport {
    /// The speed in bytes per second; null for unlimited speed.
    pub bytes_per_second: Option<f64>,
    /// The round-trip time of the network, in milliseconds.
    pub rtt_ms: f64,
    /// The factor by which compression reduces the number of bytes; null without compression.
    pub compression: Option<f64>,
    /// The source of network times: `simulated` or `paper` (equation 7); null without a network.
    pub model: Option<String>,
}

/// The figures of one kind of request, or of one group of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestReport {
    /// The name of the request or the group, such as `PolyFillRectangle` or `RENDER:Composite`.
    pub name: String,
    /// The number of requests of this kind or in this group.
    pub count: u64,
    /// The number of bytes of the requests.
    pub bytes: u64,
    /// The time of the requests on the server and the network, in milliseconds, without transport.
    pub time_ms: f64,
    /// The server's time in milliseconds for the operations, without transport.
    pub server_ms: f64,
    /// The network's time in milliseconds: on the simulated critical path, or by equation 7.
    pub network_ms: f64,
    /// `time_ms` as a percentage of the total time.
    pub percent_of_time: f64,
    /// `count` as a percentage of all requests.
    pub percent_of_count: f64,
    /// The mean time of one request.
    pub ms_per_call: f64,
    /// The lower bound of `time_ms`, in milliseconds.
    pub low_ms: f64,
    /// The upper bound of `time_ms` in milliseconds.
    pub high_ms: f64,
    /// The number of requests that are charged the network's latency.
    #[serde(rename = "round_trips")]
    pub blocking: u64,
    /// The number of requests that failed with an X error.
    pub failed: u64,
    /// The server's time in milliseconds for the transport that the requests caused; part of `transport.server_ms`, not
    /// of `time_ms`.
    pub transport_ms: f64,
    /// The number of bytes of replies and errors to the requests; for a client or a window, also of its events.
    #[serde(default)]
    pub returned_bytes: u64,
    /// The total cost of the requests in milliseconds: `time_ms`, `transport_ms`, and the network's time for
    /// `returned_bytes`.
    #[serde(default)]
    pub charged_ms: f64,
    /// `charged_ms` as a percentage of all time.
    #[serde(default)]
    pub percent_charged: f64,
    /// The number of requests with a cost measured at their size.
    pub exact: u64,
    /// The number of requests with an interpolated or extrapolated cost.
    pub interpolated: u64,
    /// The number of requests with the cost of a substituted attribute value.
    pub substituted: u64,
    /// The number of requests without cost data.
    #[serde(rename = "no_cost_data")]
    pub no_cost: u64,
}

/// The requests grouped by another key than their names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// The key of the groups: `client`, `window`, `drawable`, `atom`, `function`, `line`, `library` or `stack`.
    pub by: String,
    /// The groups, the one with the most time first. Groups of windows, drawables and atoms include the transport of
    /// events.
    pub lines: Vec<RequestReport>,
}

/// The figures of one kind of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventReport {
    /// The name of the event.
    pub name: String,
    /// The number of events of this kind.
    pub count: u64,
    /// The number of bytes of the events.
    pub bytes: u64,
    /// The server's time in milliseconds for sending the events.
    pub server_ms: f64,
    /// The time in milliseconds of the events' bytes on the network.
    pub network_ms: f64,
}

/// The costs of transport: wakeups, reading, replies and events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransportReport {
    /// The number of wakeups of the server.
    pub wakeups: u64,
    /// The number of replies that the server sent.
    pub replies: u64,
    /// The number of events that the server sent.
    pub events: u64,
    /// The number of errors that the server sent.
    pub errors: u64,
    /// The number of bytes of replies, events, errors and connection setups.
    pub bytes: u64,
    /// The number of bytes of replies and errors.
    pub reply_bytes: u64,
    /// The number of bytes of events.
    pub event_bytes: u64,
    /// The number of bytes of connection setups, in both directions.
    pub setup_bytes: u64,
    /// The server's transport time: `wakeup_ms`, `read_ms`, `cold_ms`, `reply_ms` (errors included), `event_ms`
    /// and `own.ms`.
    pub server_ms: f64,
    /// The server's time for waking up in milliseconds.
    pub wakeup_ms: f64,
    /// The server's time for reading the bytes of requests, and for connecting and disconnecting clients, in
    /// milliseconds.
    pub read_ms: f64,
    /// The number of requests whose pixels were not in the processor's caches, because the server had been idle since
    /// their last use or had not used them before.
    #[serde(default)]
    pub cold_requests: u64,
    /// The additional server time of the requests in `cold_requests`, in milliseconds.
    #[serde(default)]
    pub cold_ms: f64,
    /// The server's time for replies and errors, in milliseconds.
    pub reply_ms: f64,
    /// The server's time for events in milliseconds.
    pub event_ms: f64,
    /// The unattributed server time; absent if the server time is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "unattributed")]
    pub own: Option<OwnReport>,
    /// The time of `bytes` on the network, in milliseconds.
    pub network_ms: f64,
    /// The time of transport on the server and the network, in milliseconds.
    pub time_ms: f64,
    /// `time_ms` as a percentage of the total time.
    pub percent_of_time: f64,
}

/// The runs of the recorded server that no message caused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnReport {
    /// The number of the server's runs that no message caused.
    pub runs: u64,
    /// The server's time in runs that no message caused, and in its threads other than the first, in milliseconds.
    pub ms: f64,
}
