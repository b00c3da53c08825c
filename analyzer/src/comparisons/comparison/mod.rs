//! One trace on several servers and networks: Table 7 and Figure 10 of the Xprof paper, as a document.
//!
//! A server whose file has few costs has a low total for that reason alone. So each total has a second one over only
//! those requests for which every server has cost data, and servers are ranked by the second one.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use x11prof_cost_model::{Clock, Rescaled};

use crate::comparisons::difference::chance::interval;
use crate::profile::report::{NetworkReport, ProfileReport, TraceReport};
use crate::profile::scales::ScaleReport;
use crate::recording::warnings::{Warning, WarningKind};
use crate::server_time::TimeSource;
use crate::text::units::percent;

/// The version of the JSON.
const FORMAT: u32 = 1;
/// The significance level of a difference between replays. It is lower than in `diff`, because a bisection has many
/// comparisons.
const REPLAY_LEVEL: f64 = 0.01;

/// A comparison of one trace's profiles for several servers. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The version of this document's layout: 1.
    pub format: u32,
    /// The trace that is compared.
    pub trace: Option<TraceReport>,
    /// The server time of the recorded server; null if unknown.
    pub recorded: Option<RecordedTime>,
    /// The compared servers in the requested order, once for each network.
    pub servers: Vec<ComparedServer>,
    /// The time of each kind of request, the most time on the first server first.
    pub requests: Vec<ComparedRequest>,
    /// The what-if factors on the server's times (`--scale`), with the number of requests that each one matched.
    pub scaled: Vec<ScaleReport>,
    /// Caveats: for each kind and subject, the one that affects the most requests on any server.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// The time that the recorded server itself used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedTime {
    /// The source of the server time.
    #[serde(rename = "time_source")]
    pub basis: TimeSource,
    /// The server's time for all requests and transport, in milliseconds.
    pub server_ms: f64,
}

/// A server of the comparison, on a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedServer {
    /// The name of the server's parameter file.
    pub name: String,
    /// The clock that measured the parameter file's costs; null if no request has cost data.
    pub clock: Option<Clock>,
    /// The source of the server times.
    #[serde(rename = "time_source")]
    pub basis: TimeSource,
    /// The CPU model of the cost table; null if the table does not name it.
    pub machine: Option<String>,
    /// The machine from which the costs were rescaled; null if the costs were measured on this machine.
    #[serde(rename = "rescaled")]
    pub brought: Option<Rescaled>,
    /// The network between the client and the server.
    pub network: NetworkReport,
    /// The time for requests and transport, in milliseconds: server and network.
    pub total_ms: f64,
    /// The lower bound of `total_ms`, in milliseconds.
    #[serde(default)]
    pub low_ms: f64,
    /// The upper bound of `total_ms`, in milliseconds.
    #[serde(default)]
    pub high_ms: f64,
    /// The part of `total_ms` that the server uses, in milliseconds.
    pub server_ms: f64,
    /// The part of `total_ms` that the network takes, in milliseconds.
    pub network_ms: f64,
    /// The server's time for transport alone, in milliseconds; null without transport costs (see `warnings`).
    pub transport_ms: Option<f64>,
    /// The network's time for transport, in milliseconds.
    pub transport_network_ms: f64,
    /// `total_ms` divided by the total of the first server on the same network; null if that is 0.
    pub ratio: Option<f64>,
    /// The number of requests without cost data, which count as 0 ms.
    #[serde(rename = "no_cost_data")]
    pub no_cost: u64,
    /// The total in milliseconds over the kinds of request for which every server has all costs, and over transport if
    /// all servers have its costs.
    pub comparable_ms: f64,
    /// `comparable_ms` divided by the value of the first server on the same network; null if that is 0.
    pub comparable_ratio: Option<f64>,
    /// The times of the replays to this server; empty for `compare` and the recorded server.
    #[serde(default)]
    pub replays: Replays,
}

/// The times of all replays to one server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Replays {
    /// The shell command of the server; null without `--server-command`.
    pub command: Option<String>,
    /// The server's time for the requests in each replay, in milliseconds, in order. The servers take turns.
    pub runs_ms: Vec<f64>,
    /// The change of the mean from the first server of the replay, in percent. Null for that server, and for single
    /// replays.
    pub change_percent: Option<f64>,
    /// The margin of `change_percent` at 99 % confidence, for all servers together: a smaller change is not distinguished
    /// from chance.
    pub margin_percent: Option<f64>,
}

/// A kind of request with its cost on each compared server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedRequest {
    /// The name of the kind of request.
    pub name: String,
    /// The number of requests on the first server. A replay adds requests of its own.
    pub count: u64,
    /// True if every server has cost data for all of these requests.
    pub comparable: bool,
    /// The cost of the requests on each server, in the order of the comparison's servers.
    pub servers: Vec<RequestOnServer>,
}

/// The cost of a kind of request on one server.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RequestOnServer {
    /// The time on the server and the network, in milliseconds.
    pub time_ms: f64,
    /// The part of `time_ms` that the server uses, in milliseconds.
    pub server_ms: f64,
    /// The part of `time_ms` that the network takes, in milliseconds.
    pub network_ms: f64,
    /// `time_ms` as a percentage of the server's total.
    pub percent_of_time: f64,
    /// The server time in milliseconds, including the transport that the requests caused, as in a report.
    #[serde(default)]
    pub charged_ms: f64,
    /// True for the most expensive requests that together use half of all requests' time on that server.
    pub dominates: bool,
    /// The number of requests without cost data on this server.
    #[serde(rename = "no_cost_data")]
    pub no_cost: u64,
}

impl Comparison {
    /// Adds the time of the recorded server, from the `report` on that server, to the comparison.
    pub fn with_recorded(self, report: &ProfileReport) -> Comparison {
        let recorded = report.server.basis.is_measured().then_some(RecordedTime {
            basis: report.server.basis,
            server_ms: report.total.server_ms,
        });
        Comparison { recorded, ..self }
    }

    /// Adds the commands of the replays' servers and the times of all replays. The first server is the recorded one.
    pub fn with_replays(mut self, replays: Vec<(Option<String>, Vec<f64>)>) -> Comparison {
        let first = replays.first().map_or(Vec::new(), |(_, runs)| runs.clone());
        let percent = 100.0 * first.len() as f64 / first.iter().sum::<f64>();
        let level = REPLAY_LEVEL / replays.len().saturating_sub(1).max(1) as f64;
        let servers = self.servers.iter_mut().skip(1).enumerate();
        for ((at, server), (command, runs_ms)) in servers.zip(replays) {
            let change = interval(&first, &runs_ms, level).filter(|_| at > 0);
            server.replays = Replays {
                command,
                runs_ms,
                change_percent: change.map(|(low, high)| percent * (low + high) / 2.0),
                margin_percent: change.map(|(low, high)| percent * (high - low) / 2.0),
            };
        }
        self
    }

    /// Compares the `reports` of one trace, one for each server and network.
    pub fn new(reports: &[ProfileReport]) -> Comparison {
        let mut requests = requests(reports);
        mark_dominating(&mut requests, reports);
        let transport_known = reports.iter().all(knows_transport);
        let comparable: Vec<f64> = (0..reports.len())
            .map(|at| comparable_ms(&requests, reports, at, transport_known))
            .collect();
        // Each network may differ between servers, so a server is only compared with the others on its own network.
        let first_on = |network: &NetworkReport| {
            let mut all = reports.iter().zip(&comparable);
            all.find(|(report, _)| report.network == *network)
                .map_or((0.0, 0.0), |(report, of)| (report.total.time_ms, *of))
        };
        let ratio = |time: f64, first: f64| (first > 0.0).then(|| time / first);
        let servers = reports
            .iter()
            .zip(&comparable)
            .map(|(report, comparable_ms)| ComparedServer {
                name: report.server.name.clone(),
                clock: report.server.clock,
                basis: report.server.basis,
                machine: report.server.machine.clone(),
                brought: report.server.brought.clone(),
                network: report.network.clone(),
                total_ms: report.total.time_ms,
                low_ms: report.total.low_ms,
                high_ms: report.total.high_ms,
                server_ms: report.total.server_ms,
                network_ms: report.total.network_ms,
                transport_ms: knows_transport(report).then_some(report.transport.time_ms),
                transport_network_ms: report.transport.network_ms,
                ratio: ratio(report.total.time_ms, first_on(&report.network).0),
                no_cost: report.total.no_cost,
                comparable_ms: *comparable_ms,
                comparable_ratio: ratio(*comparable_ms, first_on(&report.network).1),
                replays: Replays::default(),
            })
            .collect();
        Comparison {
            format: FORMAT,
            trace: reports.first().map(|report| report.trace.clone()),
            recorded: None,
            servers,
            requests,
            scaled: reports
                .first()
                .map(|report| report.scaled.clone())
                .unwrap_or_default(),
            warnings: warnings(reports),
        }
    }

    /// True if all times come from one machine, as far as known. Times of different machines are not comparable.
    pub fn is_of_one_machine(&self) -> bool {
        let mut machines = self.servers.iter().map(|server| &server.machine);
        let first = machines.next();
        machines.all(|machine| Some(machine) == first)
    }

    /// The fastest server for each network, over the requests for which all servers have cost data; `None` if there
    /// is nothing to compare.
    pub fn fastest(&self) -> Vec<(&NetworkReport, Option<&ComparedServer>)> {
        let mut networks: Vec<&NetworkReport> = Vec::new();
        for server in &self.servers {
            if !networks.contains(&&server.network) {
                networks.push(&server.network);
            }
        }
        let best = |network: &NetworkReport| {
            self.servers
                .iter()
                .filter(|server| server.network == *network && server.comparable_ms > 0.0)
                .min_by(|a, b| a.comparable_ms.total_cmp(&b.comparable_ms))
        };
        networks
            .into_iter()
            .map(|network| (network, best(network)))
            .collect()
    }
}

/// Returns true if the server's cost table contains the costs of messages.
fn knows_transport(report: &ProfileReport) -> bool {
    let mut warnings = report.warnings.iter();
    warnings.all(|warning| warning.kind != WarningKind::NoTransport)
}

/// Returns the requests of all reports by name, the most expensive request first.
fn requests(reports: &[ProfileReport]) -> Vec<ComparedRequest> {
    let mut by_name: BTreeMap<&str, ComparedRequest> = BTreeMap::new();
    for (at, report) in reports.iter().enumerate() {
        for line in &report.requests {
            let entry = by_name
                .entry(&line.name)
                .or_insert_with(|| ComparedRequest {
                    name: line.name.clone(),
                    count: if at == 0 { line.count } else { 0 },
                    comparable: true,
                    servers: vec![RequestOnServer::default(); reports.len()],
                });
            entry.comparable &= line.no_cost == 0;
            if let Some(cell) = entry.servers.get_mut(at) {
                *cell = RequestOnServer {
                    time_ms: line.time_ms,
                    server_ms: line.server_ms,
                    network_ms: line.network_ms,
                    percent_of_time: line.percent_of_time,
                    charged_ms: line.charged_ms,
                    dominates: false,
                    no_cost: line.no_cost,
                };
            }
        }
    }
    let mut requests: Vec<ComparedRequest> = by_name.into_values().collect();
    // Requests without a cost on the first server are sorted by their costs on the other servers.
    let times = |line: &ComparedRequest| -> (f64, f64) {
        let times = line.servers.iter().map(|cell| cell.time_ms);
        let first = line.servers.first().map_or(0.0, |cell| cell.time_ms);
        (first, times.fold(0.0, f64::max))
    };
    requests.sort_by(|a, b| {
        let ((a_first, a_most), (b_first, b_most)) = (times(a), times(b));
        b_first.total_cmp(&a_first).then(b_most.total_cmp(&a_most))
    });
    requests
}

/// The warnings of all reports, without duplicates.
fn warnings(reports: &[ProfileReport]) -> Vec<Warning> {
    let mut all: Vec<Warning> = Vec::new();
    for warning in reports.iter().flat_map(|report| &report.warnings) {
        let same = |known: &&mut Warning| {
            let count = warning.count;
            Warning {
                count,
                ..(**known).clone()
            } == *warning
        };
        match all.iter_mut().find(same) {
            Some(known) => known.count = known.count.max(warning.count),
            None => all.push(warning.clone()),
        }
    }
    all.sort_by_key(|warning| warning.kind);
    all
}

/// Marks, for each server, the most expensive requests that together use half of the time of all requests.
fn mark_dominating(requests: &mut [ComparedRequest], reports: &[ProfileReport]) {
    for (at, report) in reports.iter().enumerate() {
        let half = report.requests.iter().map(|line| line.time_ms).sum::<f64>() / 2.0;
        let mut sum = 0.0;
        // The lines of a report are sorted, so the first lines are the most expensive.
        let dominating: HashSet<&str> = report
            .requests
            .iter()
            .take_while(|line| {
                let before = sum;
                sum += line.time_ms;
                before < half && line.time_ms > 0.0
            })
            .map(|line| line.name.as_str())
            .collect();
        for request in requests.iter_mut() {
            if let Some(cell) = request.servers.get_mut(at) {
                cell.dominates = dominating.contains(request.name.as_str());
            }
        }
    }
}

fn comparable_ms(
    requests: &[ComparedRequest],
    reports: &[ProfileReport],
    at: usize,
    transport_known: bool,
) -> f64 {
    let requests: f64 = requests
        .iter()
        .filter(|request| request.comparable)
        .filter_map(|request| request.servers.get(at))
        .map(|cell| cell.time_ms)
        .sum();
    let transport = reports.get(at).map_or(0.0, |report| {
        if transport_known {
            report.transport.time_ms
        } else {
            report.transport.network_ms
        }
    });
    requests + transport
}

/// `part`, a time in milliseconds, as a percentage of the server's total.
pub fn share(part: f64, server: &ComparedServer) -> f64 {
    percent(part, server.total_ms)
}
