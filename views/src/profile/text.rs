//! The execution profile as text: the verdict, the most expensive requests, and the caveats; with `--all`, everything.

use x11prof_analyzer::{By, ProfileReport, RequestReport, RunningReport, UNATTRIBUTED, percent};

use super::caveats::caveats;
use super::details::details;
use super::verdict::{has_network, is_part, verdict};
use crate::page::{Page, Style, without_others};
use crate::table::Table;
use crate::units::{counted, decimals, duration, share};
use crate::{callers, resources, stalls};

/// The profile as text that fits the page: the verdict, the most expensive requests and the caveats.
pub fn text(report: &ProfileReport, page: &Page) -> String {
    let mut text = verdict(report, page);
    text.push('\n');
    // If the recording has stacks, the text shows functions instead of requests.
    let waits = report.callers.as_ref().filter(|of| of.looked_at > 0);
    let has_code = report.running.is_some() || !report.off_cpu.is_empty() || waits.is_some();
    let mut tables = Vec::new();
    if !has_code || report.groups.is_some() || page.all {
        tables.push(format!(
            "{}{}",
            table(report, page).on(page),
            legend(report, page)
        ));
    }
    tables.extend(waits.map(|waits| callers::text(waits, page)));
    let when = match is_part(report) {
        true => "in this part",
        false => "since the clients connected",
    };
    tables.extend(
        report
            .running
            .as_ref()
            .map(|running| ran(running, when, page)),
    );
    if !report.off_cpu.is_empty() {
        tables.push(callers::off_cpu(&report.off_cpu, page));
    }
    let tables = tables.join("\n");
    text.push_str(&tables);
    text.push_str(&callers::advice_on_names(&tables, page));
    if page.all {
        text.push_str(&details(report, page));
    }
    if let Some(held) = &report.resources {
        text.push_str(&resources::text(held, page));
    }
    if let Some(held) = report.stalls.as_ref().filter(|_| page.all) {
        text.push_str(&stalls::text(held, page));
    }
    if let Some(kept) = &report.grabs {
        text.push_str(&stalls::grabs(kept, page));
    }
    text.push_str(&caveats(report, page));
    text
}

/// A row of the profile's table.
struct Line {
    name: String,
    server_ms: f64,
    network_ms: f64,
    count: u64,
}

impl Line {
    fn of(line: &RequestReport) -> Line {
        let server_ms = line.server_ms + line.transport_ms;
        Line {
            name: line.name.clone(),
            server_ms,
            network_ms: (line.charged_ms - server_ms).max(0.0),
            count: line.count,
        }
    }

    fn time(&self) -> f64 {
        self.server_ms + self.network_ms
    }

    /// Returns the sum of `lines` as one row called `name`.
    fn together(name: String, lines: &[Line]) -> Line {
        Line {
            name,
            server_ms: lines.iter().map(|line| line.server_ms).sum(),
            network_ms: lines.iter().map(|line| line.network_ms).sum(),
            count: lines.iter().map(|line| line.count).sum(),
        }
    }
}

/// Returns the rows of requests or groups with their transport costs, the most expensive first, and the row of the
/// unattributed time.
fn lines(report: &ProfileReport) -> (Vec<Line>, Option<Line>) {
    let (of, grouped) = match &report.groups {
        Some(groups) => (&groups.lines, true),
        None => (&report.requests, false),
    };
    let of = of.iter().map(Line::of);
    let mut lines: Vec<Line> = of.filter(|line| line.name != UNATTRIBUTED).collect();
    // Groups include their events.
    if !grouped && report.transport.events > 0 {
        lines.push(Line {
            name: "(events)".to_owned(),
            server_ms: report.transport.event_ms,
            network_ms: report.events.iter().map(|event| event.network_ms).sum(),
            // The column counts requests.
            count: 0,
        });
    }
    let all = Line::together(String::new(), &lines);
    let total = &report.total;
    let server_ms = total.server_ms - all.server_ms;
    let network_ms = total.network_ms - all.network_ms;
    lines.sort_by(|a, b| b.time().total_cmp(&a.time()).then(b.count.cmp(&a.count)));
    // A smaller remainder is a rounding error.
    let rest = (server_ms + network_ms > 1e-6 * total.time_ms).then(|| Line {
        name: UNATTRIBUTED.to_owned(),
        server_ms: server_ms.max(0.0),
        network_ms: network_ms.max(0.0),
        count: 0,
    });
    (lines, rest)
}

fn heading(by: Option<&str>) -> &'static str {
    match by {
        None => "Request",
        Some("client") => "Client",
        Some("window") => "Window",
        Some("drawable") => "Drawable",
        Some("function") => "Function",
        Some("line") => "Line",
        Some("library") => "Library",
        Some("stack") => "Stack",
        Some(_) => "Atom",
    }
}

fn table(report: &ProfileReport, page: &Page) -> Table {
    let by = report.groups.as_ref().map(|groups| groups.by.as_str());
    let of_code = by.is_some_and(By::names_code);
    let sent = if of_code { " that sent requests" } else { "" };
    let heading = &format!("{}{sent}", heading(by));
    let network = has_network(report) && !is_only_network(report);
    let mut table = match network {
        true => Table::new([
            heading, "Time ms", "Share", "Server", "Network", "Count", "Mean",
        ])
        .spare([6, 3]),
        false => Table::new([heading, "Time ms", "Share", "Count", "Mean"]).spare([4]),
    };
    let total = report.total.time_ms;
    let places = decimals(total);
    let mut row = |line: &Line| {
        let mut cells = vec![
            line.name.clone(),
            format!("{:.places$}", line.time()),
            share(percent(line.time(), total)),
        ];
        if network {
            cells.push(format!("{:.places$}", line.server_ms));
            cells.push(format!("{:.places$}", line.network_ms));
        }
        // Without a stack, most of the time is of no request.
        let no_mean = of_code && line.name.starts_with("(no ");
        let counts = (line.count > 0 && !no_mean).then(|| {
            let mean = duration(line.time() / line.count as f64);
            [line.count.to_string(), mean]
        });
        cells.extend(counts.unwrap_or_default());
        table.row(cells);
        table.bar(line.time() / total.max(f64::MIN_POSITIVE));
    };
    let (lines, unattributed) = lines(report);
    // The last row uses the line of "1 more", so one additional row fits.
    let shown = match lines.len() <= page.rows.saturating_add(1) {
        true => lines.len(),
        false => page.rows,
    };
    let (first, others) = lines.split_at(shown);
    first.iter().for_each(&mut row);
    if !others.is_empty() {
        row(&Line::together(format!("… {} more", others.len()), others));
    }
    unattributed.iter().for_each(&mut row);
    row(&Line {
        name: "Total".to_owned(),
        server_ms: report.total.server_ms,
        network_ms: report.total.network_ms,
        count: report.total.count,
    });
    table.no_bar();
    table.bold();
    table
}

/// Returns a table of the functions or libraries in which the clients used CPU time, with a legend. `when` is the time
/// of the samples.
pub(crate) fn ran(report: &RunningReport, when: &str, page: &Page) -> String {
    let by = format!("{} that ran", heading(Some(&report.by)));
    let mut table = Table::new([by.as_str(), "CPU ms", "Share"]);
    let digits = decimals(report.ran_ms);
    let mut row = |name: String, ms: f64| {
        let part = ms / report.ran_ms;
        table.row([name, format!("{ms:.digits$}"), share(100.0 * part)]);
        table.bar(part);
    };
    let first = &report.places[..page.rows.min(report.places.len())];
    let mut rest = report.ran_ms;
    for of in first {
        row(of.place.clone(), of.ran_ms);
        rest -= of.ran_ms;
    }
    let left = report.places.len() - first.len();
    if left > 0 {
        let others = report.places.iter().skip(first.len());
        let ms = others.map(|of| of.ran_ms).sum();
        row(format!("… {left} more"), ms);
        rest -= ms;
    }
    // A smaller remainder is a rounding error.
    if rest > 1e-6 * report.ran_ms {
        row("(others)".to_owned(), rest);
    }
    row("Total".to_owned(), report.ran_ms);
    table.no_bar();
    table.bold();
    let calls = match report.by.as_str() {
        "function" => {
            ". A function's time includes the functions that it calls. If those have half of its time, they have rows of \
             their own, and its row has the rest. (others): functions with under 2 % each"
        }
        "library" => {
            ". Each row is the time in the file's own code, without the libraries that it calls"
        }
        _ => "",
    };
    let outside = match report.kernel {
        true => "",
        false => " (without the kernel)",
    };
    let about = format!(
        "Client CPU{outside} {when}, by {}{calls}",
        counted(report.samples, "sample")
    );
    let about = page.wrap(&about, 0);
    let about = page.paint(Style::Faint, about.trim_end());
    format!("{}{about}\n", table.on(page))
}

/// Returns true if only the network's time is known: x11prof reached the server through a relay such as ssh, so the
/// server's time was not measured, and the user specified no cost data.
fn is_only_network(report: &ProfileReport) -> bool {
    report.server.relay.is_some() && report.server.name.is_empty()
}

fn legend(report: &ProfileReport, page: &Page) -> String {
    let mut text = match has_network(report) {
        _ if is_only_network(report) => "Time: network, on the critical path",
        true => "Time: server CPU and network, including wakeups, reading and replies",
        false => "Time: server CPU, including wakeups, reading and replies",
    }
    .to_owned();
    let by = report.groups.as_ref().map(|groups| groups.by.as_str());
    if let Some(Line { name, .. }) = lines(report).1 {
        let work = match by {
            None => "wakeups for no request, such as of a new connection",
            Some(by) if By::names_code(by) => "events, wakeups for no request",
            Some(_) => "wakeups for no message",
        };
        let beside = match report.trace.client {
            Some(_) => "",
            None => ", the server's own work, clients that are not in the recording",
        };
        text.push_str(&format!(". {name}: {work}{beside}"));
    }
    let row = format!("(no {})", by.unwrap_or_default());
    let mut groups = report.groups.iter().flat_map(|groups| &groups.lines);
    if groups.any(|line| line.name == row) {
        let is_code = by.is_some_and(By::names_code);
        let without =
            ["requests that name none", "time without a call stack"][usize::from(is_code)];
        text.push_str(&format!(". {row}: {without}"));
    }
    if !page.all {
        text.push_str(". More: --all");
    }
    let connections = report.trace.connections.iter();
    let programs = connections.map(|one| one.name.as_deref().unwrap_or_default());
    if let Some(advice) = without_others(&report.start_up, programs) {
        text.push_str(&format!(". {advice}"));
    }
    page.wrap_in(Style::Faint, &text, 0)
}
