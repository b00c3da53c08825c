//! A comparison of servers as text: the servers side by side, and the Xprof paper's Table 7 and Figure 10 as tables.

use x11prof_analyzer::{ComparedRequest, ComparedServer, Comparison, UNATTRIBUTED, share};

use crate::page::{Page, Style};
use crate::plain::plain;
use crate::profile::{basis_word, doubts_of, network_words, scaled_text};
use crate::table::Table;
use crate::units::{counted, decimals, duration};

/// The text for a missing cost.
const NO_COST: &str = "no cost data";
/// The maximum width of a server's column, in characters.
const COLUMN: usize = 15;

/// The comparison of servers as text that fits the page.
pub fn text(comparison: &Comparison, page: &Page) -> String {
    let mut text = verdict(comparison, page);
    if let Some(recorded) = &comparison.recorded {
        let line = format!(
            "The recorded server took {} ({}). `x11prof replay` measures servers that you can start",
            duration(recorded.server_ms),
            basis_word(recorded.basis)
        );
        text.push_str(&page.wrap(&line, 2));
    }
    let measured = comparison
        .servers
        .iter()
        .filter(|of| of.basis.is_measured());
    let mut measured: Vec<_> = measured.map(|of| plain(&of.name)).collect();
    // A server has one entry for each network.
    measured.dedup();
    if measured.len() > 1 {
        let line = format!(
            "The recorded kind of server, for which the measured time is shown: {}",
            measured.join(", ")
        );
        text.push_str(&page.wrap(&line, 2));
    }
    for line in scaled_text(&comparison.scaled).lines() {
        text.push_str(&page.wrap(line, 2));
    }
    text.push('\n');
    text.push_str(&servers(comparison).on(page));
    text.push('\n');
    text.push_str(&requests(comparison, page));
    text.push_str(&legend(comparison, page));
    if page.all && comparison.fastest().len() > 1 {
        text.push_str("\nEffect of the network (% of each server's time):\n");
        text.push_str(&figure_10(comparison, page));
    }
    let doubts = doubts_of(&comparison.warnings, page);
    if !doubts.is_empty() {
        text.push_str(&format!("\n{doubts}"));
    }
    text
}

/// Returns the headings of the columns: the server, and the network if there are several networks.
fn labels(comparison: &Comparison) -> Vec<String> {
    let networks = comparison.fastest();
    let label = |server: &ComparedServer| {
        let name = plain(&server.name).into_owned();
        let at = networks
            .iter()
            .position(|(network, _)| **network == server.network);
        match at.filter(|_| networks.len() > 1) {
            Some(at) => format!("{name}, net {}", at + 1),
            None => name,
        }
    };
    comparison.servers.iter().map(label).collect()
}

fn several_servers(comparison: &Comparison) -> bool {
    let mut names = comparison.servers.iter().map(|server| &server.name);
    let first = names.next();
    names.any(|name| Some(name) != first)
}

/// True if a server has no cost data for some of the requests.
fn is_partial(comparison: &Comparison) -> bool {
    comparison.servers.iter().any(|of| of.no_cost > 0)
}

/// Returns a sentence that names the fastest server. The comparison counts only requests for which all servers have
/// cost data.
fn verdict(comparison: &Comparison, page: &Page) -> String {
    let all: u64 = comparison.requests.iter().map(|line| line.count).sum();
    let mut text = String::new();
    if let Some(trace) = &comparison.trace {
        let line = format!(
            "{}: {}, {}",
            plain(&trace.path),
            duration(trace.duration_ms),
            counted(all, "request")
        );
        text.push_str(&page.wrap_in(Style::Bold, &line, 2));
    }
    if !several_servers(comparison) {
        return text;
    }
    let comparable = comparison.requests.iter().filter(|line| line.comparable);
    let count: u64 = comparable.map(|line| line.count).sum();
    if count == 0 {
        text.push_str("No request has cost data on all of these servers.\n");
        return text;
    }
    let known = match count < all {
        true => format!("; {count} of {all} requests have cost data on all servers"),
        false => String::new(),
    };
    if !comparison.is_of_one_machine() {
        text.push_str(&page.wrap(
            "The servers cannot be ranked: their costs were measured on different machines. Run `x11prof \
             calibrate` for each on one machine:",
            2,
        ));
        let mut machines: Vec<String> = Vec::new();
        for server in &comparison.servers {
            let machine = server.machine.as_deref().unwrap_or("no machine named");
            let line = format!("  {}: {}", plain(&server.name), plain(machine));
            if !machines.contains(&line) {
                text.push_str(&page.wrap(&line, 4));
                machines.push(line);
            }
        }
        return text;
    }
    let networks = comparison.fastest();
    for (at, (network, best)) in networks.iter().enumerate() {
        let number = match networks.len() {
            1 => String::new(),
            _ => format!("net {}: ", at + 1),
        };
        if let Some(best) = best {
            let verb = match best.basis.is_measured() {
                true => "is",
                false => "is estimated as",
            };
            text.push_str(&page.wrap(
                &format!(
                    "{} {verb} the fastest server: {} of server and network time ({number}{}{known})",
                    plain(&best.name),
                    duration(best.comparable_ms),
                    network_words(network)
                ),
                2,
            ));
            let may_lead = |of: &&ComparedServer| {
                of.network == **network && of.name != best.name && of.low_ms <= best.high_ms
            };
            let others = comparison.servers.iter().filter(may_lead);
            let ranges: Vec<String> = others
                .map(|of| format!("{} {}", plain(&of.name), range(of)))
                .collect();
            if !ranges.is_empty() {
                let line = format!(
                    "The ranking is uncertain, because the ranges overlap: {} {}, {}.",
                    plain(&best.name),
                    range(best),
                    ranges.join(", ")
                );
                text.push_str(&page.wrap(&line, 2));
            }
        }
    }
    text
}

/// Returns the bounds of a server's time, which follow from the cost data. Returns a single time if the time was
/// measured.
fn range(of: &ComparedServer) -> String {
    match (duration(of.low_ms), duration(of.high_ms)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    }
}

/// Returns a table with a line for each server and its components of the time.
fn servers(comparison: &Comparison) -> Table {
    let has_network = comparison.servers.iter().any(|of| of.network_ms > 0.0);
    let mut headings = vec!["Server", "Source", "Time ms"];
    if has_network {
        headings.extend(["Server", "Network"]);
    }
    // A ratio needs a second server on the same network, and counts requests with costs on all servers.
    let several = several_servers(comparison);
    let partial = is_partial(comparison);
    headings.extend(partial.then_some("All known"));
    headings.extend(several.then_some("Ratio"));
    headings.extend(partial.then_some("No cost data"));
    let mut table = match has_network {
        true => Table::new([]).left([1]).spare([3, 1]),
        false => Table::new([]).left([1]),
    };
    table.headings(headings.iter().map(|heading| (*heading).to_owned()));
    let times = |ratio: Option<f64>| {
        ratio.map_or_else(
            || "-".to_owned(),
            |r| {
                let places = if r < 100.0 { 2 } else { 0 };
                format!("{r:.places$}")
            },
        )
    };
    for (label, of) in labels(comparison).into_iter().zip(&comparison.servers) {
        let places = decimals(of.total_ms);
        let mut cells = vec![
            label,
            crate::profile::basis_word(of.basis).to_owned(),
            format!("{:.places$}", of.total_ms),
        ];
        if has_network {
            cells.push(format!("{:.places$}", of.server_ms));
            cells.push(format!("{:.places$}", of.network_ms));
        }
        cells.extend(partial.then(|| format!("{:.places$}", of.comparable_ms)));
        cells.extend(several.then(|| times(of.comparable_ratio)));
        cells.extend(partial.then(|| of.no_cost.to_string()));
        table.row(cells);
    }
    table
}

/// Table 7 of the Xprof paper, in which each request includes the transport costs that it caused. The table is split into as
/// many tables as the page width requires.
pub(super) fn requests(comparison: &Comparison, page: &Page) -> String {
    let labels = labels(comparison);
    let mut lines: Vec<&ComparedRequest> = comparison.requests.iter().collect();
    // Sorted by the largest cost on any server.
    let share_of = |line: &ComparedRequest| {
        let shares = line.servers.iter().zip(&comparison.servers);
        shares
            .map(|(cell, of)| share(cell.charged_ms, of))
            .fold(0.0, f64::max)
    };
    lines.sort_by(|a, b| share_of(b).total_cmp(&share_of(a)));
    let shown = match lines.len() <= page.rows.saturating_add(1) {
        true => lines.len(),
        false => page.rows,
    };
    let (first, others) = lines.split_at(shown);
    let count = |lines: &[&ComparedRequest]| lines.iter().map(|line| line.count).sum::<u64>();
    let sum = |lines: &[&ComparedRequest], at: usize| -> f64 {
        let cells = lines.iter().filter_map(|line| line.servers.get(at));
        cells.map(|cell| cell.charged_ms).sum()
    };
    let mut text = String::new();
    for servers in pieces(&labels, page, 1) {
        let places = |at: usize| decimals(comparison.servers[at].total_ms);
        let ms = |at: usize, ms: f64| format!("{ms:.*}", places(at));
        let mut table = Table::new(["Request", "Count"]);
        table.headings(
            labels[servers.clone()]
                .iter()
                .map(|label| crate::page::name(label, COLUMN)),
        );
        for line in first {
            let cells = servers
                .clone()
                .filter_map(|at| Some((at, line.servers.get(at)?)));
            let cells = cells.map(|(at, cell)| {
                let dominates = if cell.dominates { "•" } else { "" };
                match cell.no_cost {
                    0 => format!("{dominates}{}", ms(at, cell.charged_ms)),
                    no_cost if no_cost >= line.count && cell.charged_ms <= 0.0 => {
                        NO_COST.to_owned()
                    }
                    _ => format!("{dominates}*{}", ms(at, cell.charged_ms)),
                }
            });
            table.row(
                [line.name.clone(), line.count.to_string()]
                    .into_iter()
                    .chain(cells),
            );
        }
        if !others.is_empty() {
            let head = [
                format!("… {} more", others.len()),
                count(others).to_string(),
            ];
            table.row(
                head.into_iter()
                    .chain(servers.clone().map(|at| ms(at, sum(others, at)))),
            );
        }
        let rest = |at: usize| {
            let of = &comparison.servers[at];
            let rest = (of.total_ms - sum(&lines, at)).max(0.0);
            match of.transport_ms {
                None if rest <= 1e-9 * of.total_ms => NO_COST.to_owned(),
                _ => ms(at, rest),
            }
        };
        let head = [UNATTRIBUTED.to_owned(), String::new()];
        table.row(head.into_iter().chain(servers.clone().map(rest)));
        let head = ["All".to_owned(), count(&lines).to_string()];
        let all = servers
            .clone()
            .map(|at| ms(at, comparison.servers[at].total_ms));
        table.row(head.into_iter().chain(all));
        table.bold();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&table.on(page));
    }
    text
}

fn legend(comparison: &Comparison, page: &Page) -> String {
    let mut text = "Times in ms. •: the requests that together use half of the time.".to_owned();
    if is_partial(comparison) {
        let ratio = ["", " and Ratio"][usize::from(several_servers(comparison))];
        text.push_str(&format!(
            " All known{ratio}: only requests with cost data on all servers. No cost data: the number of the other \
             requests, which count as 0 (*). `x11prof calibrate` measures the missing costs.",
        ));
    }
    if !page.all {
        text.push_str(" --all shows every request.");
    }
    if several_servers(comparison) && comparison.recorded.is_none() {
        text.push_str(" `x11prof replay` measures servers that you can start.");
    }
    let lines = page.wrap(&text, 0);
    lines
        .lines()
        .map(|line| page.paint(Style::Faint, line) + "\n")
        .collect()
}

/// Splits the servers into groups that fit the width of the page. Each server has `each` columns.
fn pieces(labels: &[String], page: &Page, each: usize) -> Vec<std::ops::Range<usize>> {
    let left = page.columns().saturating_sub(24 + 2 + 8);
    let widest = labels
        .iter()
        .map(|label| label.chars().count().clamp(9, COLUMN))
        .max();
    let in_one = (left / (each * (widest.unwrap_or(COLUMN) + 2))).max(1);
    let starts = (0..labels.len()).step_by(in_one);
    starts
        .map(|start| start..(start + in_one).min(labels.len()))
        .collect()
}

/// Returns Figure 10 of the Xprof paper: the shares of the server and of each network in each total.
fn figure_10(comparison: &Comparison, page: &Page) -> String {
    let labels = labels(comparison);
    let mut text = String::new();
    for servers in pieces(&labels, page, 2) {
        let mut table = Table::new(["Request"]);
        table.headings(
            labels[servers.clone()]
                .iter()
                .flat_map(|label| [crate::page::name(label, COLUMN), "network".to_owned()]),
        );
        let of = &comparison.servers[servers.clone()];
        let parts = |server: f64, network: f64, of: &ComparedServer| {
            [server, network].map(|part| format!("{:.1}", share(part, of)))
        };
        let cells = |line: &ComparedRequest| -> Vec<String> {
            let cells = line.servers[servers.clone()].iter().zip(of);
            cells
                .flat_map(|(cell, of)| parts(cell.server_ms, cell.network_ms, of))
                .collect()
        };
        for line in comparison.requests.iter().take(page.rows) {
            table.row([vec![line.name.clone()], cells(line)].concat());
        }
        let transport = of.iter().flat_map(|of| {
            let transport = of.transport_ms.unwrap_or(of.transport_network_ms);
            let server = (transport - of.transport_network_ms).max(0.0);
            parts(server, of.transport_network_ms, of)
        });
        table.row(std::iter::once("Transport".to_owned()).chain(transport));
        let all = of
            .iter()
            .flat_map(|of| parts(of.server_ms, of.network_ms, of));
        table.row(std::iter::once("All".to_owned()).chain(all));
        text.push_str(&table.on(page));
    }
    text
}
