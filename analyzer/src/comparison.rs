//! One trace on several servers: the paper's Table 7, as a document and as text.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use x11prof_cost_model::Clock;

use crate::report::{NetworkReport, ProfileReport};
use crate::reporting::percent;
use crate::table::{Table, plain};

/// The version of the JSON.
const FORMAT: u32 = 1;

/// The profiles of one trace side by side (DESIGN, section 3). Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The version of this layout: 1.
    pub format: u32,
    /// The servers, in the order asked for.
    pub servers: Vec<ComparedServer>,
    /// Each kind of request, the most time on the first server first.
    pub requests: Vec<ComparedRequest>,
}

/// A server of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedServer {
    /// The parameter file's name.
    pub name: String,
    /// The clock that its times are on; null where nothing was priced.
    pub clock: Option<Clock>,
    /// The network to it.
    pub network: NetworkReport,
    /// Requests and transport.
    pub total_ms: f64,
    /// Transport alone.
    pub transport_ms: f64,
    /// Requests that its parameters have no price for: they count as no time.
    pub unpriced: u64,
}

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedRequest {
    /// Its name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// What it costs on each server, in their order.
    pub servers: Vec<RequestOnServer>,
}

/// A kind of request on one server.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RequestOnServer {
    /// Server and network.
    pub time_ms: f64,
    /// Of that server's total.
    pub percent_of_time: f64,
    /// How many of them have no price there.
    pub unpriced: u64,
}

impl Comparison {
    /// The comparison of `reports`, which are of one pass over one trace.
    pub fn new(reports: &[ProfileReport]) -> Comparison {
        let servers = reports
            .iter()
            .map(|report| ComparedServer {
                name: report.server.name.clone(),
                clock: report.server.clock,
                network: report.network.clone(),
                total_ms: report.total.time_ms,
                transport_ms: report.transport.time_ms,
                unpriced: report.total.unpriced,
            })
            .collect();
        let mut by_name: BTreeMap<&str, ComparedRequest> = BTreeMap::new();
        for (at, report) in reports.iter().enumerate() {
            for line in &report.requests {
                let entry = by_name
                    .entry(&line.name)
                    .or_insert_with(|| ComparedRequest {
                        name: line.name.clone(),
                        count: line.count,
                        servers: vec![RequestOnServer::default(); reports.len()],
                    });
                if let Some(cell) = entry.servers.get_mut(at) {
                    *cell = RequestOnServer {
                        time_ms: line.time_ms,
                        percent_of_time: line.percent_of_time,
                        unpriced: line.unpriced,
                    };
                }
            }
        }
        let mut requests: Vec<ComparedRequest> = by_name.into_values().collect();
        // What the first server cannot price is ordered by the others.
        let times = |line: &ComparedRequest| -> (f64, f64) {
            let first = line.servers.first().map_or(0.0, |cell| cell.time_ms);
            (
                first,
                line.servers
                    .iter()
                    .map(|cell| cell.time_ms)
                    .fold(0.0, f64::max),
            )
        };
        requests.sort_by(|a, b| {
            let ((a_first, a_most), (b_first, b_most)) = (times(a), times(b));
            b_first.total_cmp(&a_first).then(b_most.total_cmp(&a_most))
        });
        Comparison {
            format: FORMAT,
            servers,
            requests,
        }
    }

    /// The comparison for people, with the columns of the paper's Table 7; of the requests only
    /// the first `top`, where that is given.
    pub fn text(&self, top: Option<usize>) -> String {
        let mut text = String::new();
        for server in &self.servers {
            let name = plain(&server.name);
            text.push_str(&format!("{name}: {}\n", server.network));
        }
        text.push('\n');
        text.push_str(&self.table(top).to_string());
        if self.servers.iter().any(|server| server.unpriced > 0) {
            text.push_str(
                "\n* Not all of these have a price on that server; those without count as no \
                 time, so its\n  total is too low. `x11prof measure --for TRACE` measures what is \
                 missing.\n",
            );
        }
        let mut clocks = self.servers.iter().filter_map(|server| server.clock);
        if let Some(first) = clocks.next()
            && clocks.any(|clock| clock != first)
        {
            text.push_str("\nWarning: some of these servers were measured in CPU time, others by the wall clock.\n");
        }
        text
    }

    fn table(&self, top: Option<usize>) -> Table {
        let mut table = Table::new(["Request Name", "No. of messages", "% of total"]);
        table.headings(self.servers.iter().flat_map(|server| {
            [
                format!("{}: Time (ms)", plain(&server.name)),
                "% of total".to_owned(),
            ]
        }));
        let all: u64 = self.requests.iter().map(|line| line.count).sum();
        for line in self.requests.iter().take(top.unwrap_or(usize::MAX)) {
            let share = percent(line.count as f64, all as f64);
            let head = [
                plain(&line.name).into_owned(),
                line.count.to_string(),
                format!("{share:.2}%"),
            ];
            let cells = line.servers.iter().flat_map(|cell| {
                let mark = if cell.unpriced > 0 { "*" } else { "" };
                [
                    format!("{mark}{:.3}", cell.time_ms),
                    format!("{:.2}%", cell.percent_of_time),
                ]
            });
            table.row(head.into_iter().chain(cells));
        }
        let head = |name: &str, count: String| [name.to_owned(), count, String::new()];
        let transport = self.servers.iter().flat_map(|server| {
            let share = percent(server.transport_ms, server.total_ms);
            [
                format!("{:.3}", server.transport_ms),
                format!("{share:.2}%"),
            ]
        });
        table.row(
            head("Transport", String::new())
                .into_iter()
                .chain(transport),
        );
        let totals = self.servers.iter().flat_map(|server| {
            let mark = if server.unpriced > 0 { "*" } else { "" };
            [
                format!("{mark}{:.3}", server.total_ms),
                "100.00%".to_owned(),
            ]
        });
        table.row(
            head("All Messages", all.to_string())
                .into_iter()
                .chain(totals),
        );
        let unpriced = self.servers.iter().flat_map(|server| {
            let share = percent(server.unpriced as f64, all as f64);
            [format!("{} msgs", server.unpriced), format!("{share:.2}%")]
        });
        table.row(
            head("Not priced", String::new())
                .into_iter()
                .chain(unpriced),
        );
        table
    }
}
