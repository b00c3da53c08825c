//! The comparison of a recording with its replays on other servers, as text.

use x11prof_analyzer::{ComparedServer, Comparison};

use super::text::requests;
use crate::page::{Page, Style};
use crate::plain::plain;
use crate::profile::{basis_word, doubts_of};
use crate::units::{counted, duration};

/// The number of requests that are named for each server: the requests with the largest difference.
const NAMED: usize = 2;

/// A comparison whose first server is the recorded one, as text: the duration of each replay, and the requests that
/// cause the differences.
pub fn replayed(comparison: &Comparison, page: &Page) -> String {
    let mut text = String::new();
    let (Some(trace), Some((recorded, replays))) =
        (&comparison.trace, comparison.servers.split_first())
    else {
        return text;
    };
    let all: u64 = comparison.requests.iter().map(|line| line.count).sum();
    let first = format!(
        "{}: {}, {}; server time of the requests {} ({})",
        plain(&trace.path),
        duration(trace.duration_ms),
        counted(all, "request"),
        duration(requests_ms(comparison, 0)),
        basis_word(recorded.basis)
    );
    text.push_str(&page.wrap_in(Style::Bold, &first, 2));
    for (at, server) in (1..).zip(replays) {
        text.push_str(&page.wrap(&difference(comparison, server, at), 2));
    }
    text.push('\n');
    text.push_str(&requests(comparison, page));
    let mut legend =
        "Server time in ms. • these requests together use half of the time. (unattributed): also \
         other clients, and GetInputFocus requests that the replay added."
            .to_owned();
    if !page.all {
        legend.push_str(" --all shows every request.");
    }
    let legend = page.wrap(&legend, 0);
    text.push_str(&page.paint(Style::Faint, legend.trim_end()));
    text.push('\n');
    let doubts = doubts_of(&comparison.warnings, page);
    if !doubts.is_empty() {
        text.push_str(&format!("\n{doubts}"));
    }
    text
}

/// The server time of the program's requests on the server with this number, in milliseconds.
fn requests_ms(comparison: &Comparison, at: usize) -> f64 {
    let requests = comparison.requests.iter();
    let servers = requests.filter_map(|one| one.servers.get(at));
    servers.map(|one| one.charged_ms).sum()
}

/// A line with a server's time, and the requests that differ most from the recorded ones.
fn difference(comparison: &Comparison, server: &ComparedServer, at: usize) -> String {
    let (before, after) = (requests_ms(comparison, 0), requests_ms(comparison, at));
    let replays = &server.replays;
    let command = replays.command.iter();
    let command: String = command.map(|one| format!(" ({})", plain(one))).collect();
    let (name, basis) = (plain(&server.name), basis_word(server.basis));
    let mut line = format!("{name}{command}: {} ({basis})", duration(after));
    if replays.runs_ms.len() > 1 {
        let runs = replays.runs_ms.iter().copied();
        line.push_str(&format!(
            ", the median of {} replays from {} to {}",
            replays.runs_ms.len(),
            duration(runs.clone().fold(f64::INFINITY, f64::min)),
            duration(runs.fold(0.0, f64::max))
        ));
    }
    if before > 0.0 {
        let ratio = after / before;
        line.push_str(&format!(", {ratio:.2} times the recorded"));
    }
    let differences = comparison.requests.iter().filter_map(|request| {
        let ms = |at: usize| Some(request.servers.get(at)?.charged_ms);
        Some((ms(at)? - ms(0)?, &request.name))
    });
    let mut differences: Vec<(f64, &String)> = differences.collect();
    differences.sort_by(|(a, _), (b, _)| b.abs().total_cmp(&a.abs()));
    let named = differences.iter().take(NAMED).filter(|(ms, _)| *ms != 0.0);
    let named: Vec<String> = named
        .map(|(ms, name)| {
            let sign = if *ms < 0.0 { '-' } else { '+' };
            format!("{name} {sign}{}", duration(ms.abs()))
        })
        .collect();
    if !named.is_empty() {
        line.push_str(&format!(
            "; requests that differ most: {}",
            named.join(", ")
        ));
    }
    if let (Some(change), Some(margin)) = (replays.change_percent, replays.margin_percent) {
        let verdict =
            ["no real difference", "a real difference"][usize::from(change.abs() > margin)];
        let first = plain(&comparison.servers[1].name);
        line.push_str(&format!(
            "; {verdict} from {first}: {change:+.1} %, and a change under {margin:.1} % can be chance (--times)"
        ));
    }
    line
}
