//! A comparison for people: the paper's Table 7, and Figure 10 as a table.

use x11prof_analyzer::{ComparedServer, Comparison, ScaleReport, percent, share};

use crate::profile::text::{basis, network as network_text};
use crate::table::{Table, plain};

/// The comparison for people; of the requests only the first `top`, where that is given.
pub fn text(comparison: &Comparison, top: Option<usize>) -> String {
    let mut text = String::new();
    for (label, server) in labels(comparison).iter().zip(&comparison.servers) {
        let basis = basis(server.basis);
        text.push_str(&format!(
            "{label}: {basis}\n  {}\n",
            network_text(&server.network)
        ));
    }
    let mut told = Vec::new();
    for by in comparison
        .servers
        .iter()
        .filter_map(|it| it.brought.as_ref())
    {
        if !told.contains(&by) {
            text.push_str(&format!("Brought here from {}: {by}\n", plain(&by.from)));
            told.push(by);
        }
    }
    text.push_str(&scaled_text(&comparison.scaled));
    text.push('\n');
    text.push_str(&table(comparison, top).to_string());
    text.push_str("\n+ Together these requests take half of the time of all on that server.\n");
    if comparison.servers.iter().any(|server| server.unpriced > 0) {
        text.push_str(
            "* Not all of these have a price on that server; those without count as no \
             time, so its\n  total is too low: compare the lines of what all servers can \
             price. `x11prof measure --for\n  TRACE` measures what is missing.\n",
        );
    }
    verdict(comparison, &mut text);
    let networks = comparison.fastest().len();
    if networks > 1 {
        text.push_str("\nEffect of the network (per cent of each server's time):\n\n");
        text.push_str(&network_table(comparison, top).to_string());
    }
    let mut clocks = comparison.servers.iter().filter_map(|server| server.clock);
    if let Some(first) = clocks.next()
        && clocks.any(|clock| clock != first)
    {
        text.push_str(
            "\nWarning: some of these servers were measured in CPU time, others by the wall \
             clock.\n",
        );
    }
    text
}

/// What each column is called: the server, numbered where it stands there several times.
fn labels(comparison: &Comparison) -> Vec<String> {
    let name = |server: &ComparedServer| plain(&server.name).into_owned();
    let several = comparison.fastest().len() > 1;
    let mut networks = Vec::new();
    comparison
        .servers
        .iter()
        .map(|server| {
            if !networks.contains(&&server.network) {
                networks.push(&server.network);
            }
            let at = networks.iter().position(|known| *known == &server.network);
            match at {
                Some(at) if several => format!("{} net {}", name(server), at + 1),
                _ => name(server),
            }
        })
        .collect()
}

fn table(comparison: &Comparison, top: Option<usize>) -> Table {
    let mut table = Table::new(["Request Name", "No. of messages", "% of total"]);
    table.headings(
        labels(comparison)
            .into_iter()
            .flat_map(|label| [format!("{label}: Time (ms)"), "% of total".to_owned()]),
    );
    let all: u64 = comparison.requests.iter().map(|line| line.count).sum();
    for line in comparison.requests.iter().take(top.unwrap_or(usize::MAX)) {
        let part = percent(line.count as f64, all as f64);
        let head = [
            plain(&line.name).into_owned(),
            line.count.to_string(),
            format!("{part:.2}%"),
        ];
        let cells = line.servers.iter().flat_map(|cell| {
            let mark = match (cell.unpriced > 0, cell.dominates) {
                (true, true) => "*+",
                (true, false) => "*",
                (false, true) => "+",
                (false, false) => "",
            };
            [
                format!("{mark}{:.3}", cell.time_ms),
                format!("{:.2}%", cell.percent_of_time),
            ]
        });
        table.row(head.into_iter().chain(cells));
    }
    let mut row = |name: &str, count: String, cell: &dyn Fn(&ComparedServer) -> [String; 2]| {
        let head = [name.to_owned(), count, String::new()];
        table.row(
            head.into_iter()
                .chain(comparison.servers.iter().flat_map(cell)),
        );
    };
    row("Transport", String::new(), &|server| {
        [
            format!("{:.3}", server.transport_ms),
            format!("{:.2}%", share(server.transport_ms, server)),
        ]
    });
    row("All Messages", all.to_string(), &|server| {
        let mark = if server.unpriced > 0 { "*" } else { "" };
        [
            format!("{mark}{:.3}", server.total_ms),
            "100.00%".to_owned(),
        ]
    });
    let times = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"));
    row("Ratio to the first", String::new(), &|server| {
        let mark = if server.unpriced > 0 { "*" } else { "" };
        [format!("{mark}{}", times(server.ratio)), String::new()]
    });
    row("Not priced", String::new(), &|server| {
        [
            format!("{} msgs", server.unpriced),
            format!("{:.2}%", percent(server.unpriced as f64, all as f64)),
        ]
    });
    let comparable = comparison.requests.iter().filter(|line| line.comparable);
    let count: u64 = comparable.map(|line| line.count).sum();
    row("Priced by all", count.to_string(), &|server| {
        [
            format!("{:.3}", server.comparable_ms),
            format!("{:.2}%", share(server.comparable_ms, server)),
        ]
    });
    row("Ratio to the first", String::new(), &|server| {
        [times(server.comparable_ratio), String::new()]
    });
    table
}

/// Who is fastest over what all can price; nobody, where that is nothing.
fn verdict(comparison: &Comparison, text: &mut String) {
    let first = comparison.servers.first().map(|server| &server.name);
    if comparison
        .servers
        .iter()
        .all(|server| Some(&server.name) == first)
    {
        return;
    }
    let all: u64 = comparison.requests.iter().map(|line| line.count).sum();
    let comparable = comparison.requests.iter().filter(|line| line.comparable);
    let count: u64 = comparable.map(|line| line.count).sum();
    if count == 0 {
        text.push_str("\nNo request has a price on all of these servers.\n");
        return;
    }
    if !comparison.is_of_one_machine() {
        different_machines(comparison, text);
        return;
    }
    for (network, best) in comparison.fastest() {
        if let Some(best) = best {
            let name = plain(&best.name);
            text.push_str(&format!(
                "\nLeast time over the {count} of {all} messages that all of them price: \
                 {name}, {:.3} ms ({})\n",
                best.comparable_ms,
                network_text(network)
            ));
        }
    }
}

/// Why nobody is named the fastest.
fn different_machines(comparison: &Comparison, text: &mut String) {
    text.push_str(
        "\nWhich server takes the least time is not told: these are times of different machines, \
         and a\nfaster machine is no faster server. `x11prof measure` measures them on one.\n",
    );
    let mut told = Vec::new();
    for server in &comparison.servers {
        let machine = server.machine.as_deref().unwrap_or("no machine named");
        let line = format!("  {}: {}\n", plain(&server.name), plain(machine));
        if !told.contains(&line) {
            text.push_str(&line);
            told.push(line);
        }
    }
}

/// Figure 10: how each server's time is divided between itself and each network.
fn network_table(comparison: &Comparison, top: Option<usize>) -> Table {
    let mut table = Table::new(["Request Name"]);
    table.headings(
        labels(comparison)
            .into_iter()
            .flat_map(|label| [format!("{label}: server"), "network".to_owned()]),
    );
    let cells = |server: f64, network: f64, of: &ComparedServer| {
        [server, network].map(|part| format!("{:.2}%", share(part, of)))
    };
    for line in comparison.requests.iter().take(top.unwrap_or(usize::MAX)) {
        let parts = line.servers.iter().zip(&comparison.servers);
        let parts = parts.flat_map(|(cell, of)| cells(cell.server_ms, cell.network_ms, of));
        table.row(std::iter::once(plain(&line.name).into_owned()).chain(parts));
    }
    let transport = comparison.servers.iter().flat_map(|of| {
        let server = (of.transport_ms - of.transport_network_ms).max(0.0);
        cells(server, of.transport_network_ms, of)
    });
    table.row(std::iter::once("Transport".to_owned()).chain(transport));
    let totals = comparison.servers.iter();
    let totals = totals.flat_map(|of| cells(of.server_ms, of.network_ms, of));
    table.row(std::iter::once("All Messages".to_owned()).chain(totals));
    table
}

/// A line for each what-if factor.
pub(crate) fn scaled_text(scaled: &[ScaleReport]) -> String {
    let line = |rule: &ScaleReport| {
        let pattern = plain(&rule.pattern);
        if rule.factor == 0.0 {
            format!("What if: {pattern} left out ({} requests)\n", rule.requests)
        } else {
            format!(
                "What if: {pattern} at {} times its cost ({} requests)\n",
                rule.factor, rule.requests
            )
        }
    };
    scaled.iter().map(line).collect()
}
