//! The partition of a program's time between client and server: the paper's Table 8 and its equations 1 to 3, with the
//! kernel's clocks instead of gprof.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::profile::total::TotalReport;
use crate::recording::activity::ActivityFigures;
use crate::text::units::duration_ms;

/// The partition of a program's time between clients and server (Table 8 of the Xprof paper). Times are in ms; null if
/// the trace lacks the kernel's figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionReport {
    /// The clients' CPU time as the kernel measured it, in milliseconds (the paper used gprof).
    pub client_ms: Option<f64>,
    /// The server's time in milliseconds as reported: requests and events with their transport (equation 3).
    pub server_ms: f64,
    /// The part of `server_ms` for requests in milliseconds: their operations, and the transport of requests and
    /// replies.
    pub requests_ms: f64,
    /// The part of `server_ms` for events in milliseconds.
    pub events_ms: f64,
    /// The sum of `client_ms` and `server_ms` in milliseconds (equation 1); null without `client_ms`.
    pub sum_ms: Option<f64>,
    /// The time from the first client's connection to the last activity of a client, in milliseconds.
    pub wall_ms: f64,
    /// The minimum time in milliseconds for which clients and server must have run at the same time (equation 2): the
    /// excess of `sum_ms` over `wall_ms`.
    pub overlap_ms: Option<f64>,
    /// The time in milliseconds in which neither clients nor server ran, because no processor was free for one that
    /// could run, by the context switches.
    pub run_queue_ms: Option<f64>,
    /// The excess of `wall_ms` over `sum_ms` and `run_queue_ms`, in milliseconds: neither clients nor server worked.
    pub idle_ms: Option<f64>,
    /// The clients' CPU time in milliseconds for unwinding the stacks of their requests, part of `client_ms`; null if
    /// no client reported it.
    pub stacks_ms: Option<f64>,
    /// The time in which at least one thread of a client ran, by the context switches, in milliseconds.
    pub client_ran_ms: Option<f64>,
    /// The time in which clients and server ran at the same time, by the context switches, in milliseconds.
    pub measured_overlap_ms: Option<f64>,
    /// The number of wakeups of waiting clients that only events caused.
    pub event_wakeups: Option<u64>,
    /// The time of clients from a wakeup that only events caused until their next wait, in milliseconds.
    pub event_client_ms: Option<f64>,
    /// `sum_ms` as a percentage of the wall-clock time.
    pub percent_of_wall: Option<f64>,
    /// The server's CPU time as the kernel measured it, in milliseconds.
    pub server_cpu_ms: Option<f64>,
    /// `server_ms` divided by the server's measured CPU time.
    pub estimate_ratio: Option<f64>,
}

impl PartitionReport {
    /// Computes the partition from a profile's totals, the server's time for events, and the clients' activity and
    /// stack time.
    pub(crate) fn new(
        total: &TotalReport,
        events_ms: f64,
        activity: Option<ActivityFigures>,
        stacks: Option<Duration>,
    ) -> PartitionReport {
        let sum = total.client_cpu_ms.map(|client| client + total.server_ms);
        let wall = total.wall_ms;
        // Server time may be an estimate that exceeds the time for it.
        let rest = sum.map(|sum| (wall - sum).max(0.0));
        let run_queue = activity.map(|activity| {
            let ready = duration_ms(activity.run_queue);
            rest.map_or(ready, |rest| ready.min(rest))
        });
        let ratio = |whole: f64| (whole > 0.0).then_some(whole);
        PartitionReport {
            client_ms: total.client_cpu_ms,
            server_ms: total.server_ms,
            requests_ms: total.server_ms - events_ms,
            events_ms,
            sum_ms: sum,
            wall_ms: wall,
            overlap_ms: sum.map(|sum| (sum - wall).max(0.0)),
            run_queue_ms: run_queue,
            idle_ms: rest.map(|rest| rest - run_queue.unwrap_or(0.0)),
            stacks_ms: stacks.map(duration_ms),
            client_ran_ms: activity.map(|activity| duration_ms(activity.clients)),
            measured_overlap_ms: activity.map(|activity| duration_ms(activity.both)),
            event_wakeups: activity.map(|activity| activity.event_wakeups),
            event_client_ms: activity.map(|activity| duration_ms(activity.for_events)),
            percent_of_wall: sum.and_then(|sum| ratio(wall).map(|wall| 100.0 * sum / wall)),
            server_cpu_ms: total.server_cpu_ms,
            estimate_ratio: total
                .server_cpu_ms
                .and_then(ratio)
                .map(|kernel| total.server_ms / kernel),
        }
    }
}
