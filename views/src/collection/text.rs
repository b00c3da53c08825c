//! The ranked list of issues as text: a summary, then two lines for each issue.

use x11prof_analyzer::percent;
use x11prof_collection::{ByVersion, CallSiteReport, ChangeReport, IssueReport, IssuesReport};

use crate::page::{Page, Style, cut, left_out};
use crate::plain::plain;
use crate::table::Table;
use crate::units::{counted, duration, share};

/// The default number of issues in the list.
const ROWS: usize = 15;
/// The maximum number of patterns that `--details` shows for an issue.
const PATTERNS: usize = 5;
/// The number of call sites that are shown for an issue's waits.
const PLACES: usize = 3;
/// The share of time without a free processor from which it is shown, in percent.
const LEAST_READY: f64 = 10.0;
/// The maximum length of a pattern in characters, which is three lines.
const PATTERN: usize = 210;

/// The list of issues as text. With `details`, each issue also has its patterns and an example.
pub fn text(report: &IssuesReport, details: bool, page: &Page) -> String {
    let mut text = page.answer(verdict(report).iter().map(|line| plain(line)), 2);
    let accepted = |of: &&IssueReport| {
        of.known
            .as_ref()
            .is_some_and(|known| known.accepted.is_some())
    };
    let open: Vec<&IssueReport> = report
        .issues
        .iter()
        .filter(|of| page.all || !accepted(of))
        .collect();
    let hidden = report.issues.len() - open.len();
    let shown = if page.all {
        open.len()
    } else {
        ROWS.min(open.len())
    };
    if shown > 0 {
        text.push('\n');
        text.push_str(&table(&open[..shown], report, details, page));
    }
    text.push_str(&left_out(open.len() - shown, " with --all"));
    if hidden > 0 {
        text.push_str(&format!(
            "{} accepted, not shown; --all shows them\n",
            counted(hidden as u64, "issue")
        ));
    }
    for line in doubts(report) {
        text.push_str(&page.wrap_in(Style::Caveat, &plain(&line), 2));
    }
    text
}

/// The first lines of the text: numbers of sessions and episodes, the worst issue, changes.
pub(super) fn verdict(report: &IssuesReport) -> Vec<String> {
    let users = match report.users {
        0 => String::new(),
        users => format!(" of {}", counted(users as u64, "user")),
    };
    let occurrences: usize = report.issues.iter().map(|of| of.occurrences).sum();
    let mut lines = vec![format!(
        "{}{users}, {}: {} over the threshold, {}.",
        counted(report.sessions as u64, "session"),
        counted(report.episodes, "episode"),
        occurrences,
        counted(report.issues.len() as u64, "issue"),
    )];
    if let Some(first) = report.issues.first() {
        lines.push(format!(
            "The worst: {} ({}): {}, {} over the threshold in {}.",
            first.landmark,
            first.program.as_deref().unwrap_or("unknown program"),
            first.blame,
            duration(first.total_over_threshold_ms),
            counted(first.sessions as u64, "session"),
        ));
    }
    let mut changes = report.issues.iter().filter_map(|of| of.change);
    if let Some([old, new]) = &report.compared
        && changes.any(|change| change.chance.is_some())
    {
        let count = |word: &str| {
            let issues = report.issues.iter().filter_map(|of| of.change?.change);
            issues.filter(|change| *change == word).count()
        };
        let counts = ["new", "worse", "fixed", "better"].map(|word| (count(word), word));
        let of = counts.map(|(count, word)| format!("{count} {word}"));
        let of = match counts.iter().all(|(count, _)| *count == 0) {
            true => "no change is significant; more sessions show smaller changes".to_owned(),
            false => of.join(", "),
        };
        lines.push(format!("Version {new} against {old}: {of}."));
    }
    lines
}

fn table(issues: &[&IssueReport], report: &IssuesReport, details: bool, page: &Page) -> String {
    let users = report.users > 0;
    let changes = issues.iter().any(|of| of.change.is_some());
    let mut table = Table::new(["No.", "Over threshold", "Count", "Sessions"]);
    table.headings(users.then(|| "Users".to_owned()));
    table.headings(["p50", "Max"].map(str::to_owned));
    table.headings(changes.then(|| "Change".to_owned()));
    for of in issues {
        let mut cells = vec![
            of.rank.to_string(),
            duration(of.total_over_threshold_ms),
            times(of),
            of.sessions.to_string(),
        ];
        cells.extend(users.then(|| of.users.to_string()));
        cells.extend([of.median_ms, of.worst_ms].map(duration));
        cells.extend(changes.then(|| change(of.change.as_ref()).to_owned()));
        table.row(cells);
    }
    let table = table.on(page);
    let mut lines = table.lines();
    let mut text = String::new();
    text.extend(lines.next().map(|line| format!("{line}\n")));
    for (line, of) in lines.zip(issues) {
        let about = page.wrap(&format!("    {}", plain(&about(of, report))), 6);
        text.push_str(&format!("{line}\n{about}"));
        if details {
            text.push_str(&details_of(of, report, page));
        }
    }
    text
}

/// The parts of an issue's time: the key in the page's styles, milliseconds, and the name.
pub(super) fn parts(of: &IssueReport) -> [(&'static str, f64, &'static str); 6] {
    let parts = &of.parts;
    [
        ("waiting", parts.waiting_ms, "event queued"),
        ("client", parts.client_ms, "client CPU"),
        ("off", parts.off_cpu_ms, "off-CPU"),
        ("server", parts.server_ms, "server wait"),
        ("network", parts.network_ms, "network"),
        ("other", parts.other_clients_ms, "other clients"),
    ]
}

/// Returns how often an issue occurred, and how often its action was done, such as `2 of 11`.
pub(super) fn times(of: &IssueReport) -> String {
    let all = of.of_landmark.max(of.occurrences as u64);
    format!("{} of {all}", of.occurrences)
}

/// Returns an issue in one line: action, program, main cause, and the versions if there are several.
fn about(of: &IssueReport, report: &IssuesReport) -> String {
    let program = of.program.as_deref().unwrap_or("unknown program");
    let versions = match of.versions.as_slice() {
        [] => String::new(),
        _ if report.versions.len() < 2 || of.versions.len() == report.versions.len() => {
            String::new()
        }
        [one] => {
            let change = of.change.as_ref().and_then(|change| change.change);
            let sure = ["", " (not significant)"][usize::from(change.is_none())];
            format!("; in version {one} alone{sure}")
        }
        [first, .., last] => format!("; from version {first} to {last}"),
    };
    let known = of.known.as_ref();
    let known = known.map(|known| match (&known.bug, &known.accepted) {
        (Some(bug), _) => format!("; known: {bug}"),
        (None, Some(why)) => format!("; accepted: {why}"),
        (None, None) => String::new(),
    });
    let ready = ["processor_ms", "server_processor_ms"]
        .iter()
        .filter_map(|name| of.causes.get(*name));
    let all = parts(of).iter().map(|(_, ms, _)| ms).sum();
    let ready = percent(ready.sum(), all);
    let ready = match ready >= LEAST_READY {
        true => format!(" (no free CPU {})", share(ready)),
        false => String::new(),
    };
    format!(
        "{} ({program}): {}{ready}{versions}{}",
        of.landmark,
        of.blame,
        known.unwrap_or_default()
    )
}

/// Returns the details of an issue: its patterns, its figures by version, and an example.
fn details_of(of: &IssueReport, report: &IssuesReport, page: &Page) -> String {
    let shown = of.patterns.iter().take(PATTERNS);
    let mut lines: Vec<String> = shown
        .map(|one| {
            let over = duration(one.total_over_threshold_ms);
            let times = match one.occurrences {
                1 => "once".to_owned(),
                count => format!("{count} times"),
            };
            let line = format!("{over} over the threshold, {times}: {}", one.pattern);
            cut(&plain(&line), PATTERN)
        })
        .collect();
    if of.pattern_count > PATTERNS {
        let more = of.pattern_count - PATTERNS;
        lines.push(format!("… {}", counted(more as u64, "more pattern")));
    }
    lines.extend(places(of, report));
    if report.versions.len() > 1 {
        let by_version = of.by_version.iter().map(|one| {
            let version = one.version.as_deref().unwrap_or("no version");
            let each = one.per_action_ms.map_or_else(|| "–".to_owned(), duration);
            format!("{each} in {version}")
        });
        let by_version: Vec<String> = by_version.collect();
        let line = format!("Per user action: {}.", by_version.join(", "));
        lines.push(plain(&line).into_owned());
    }
    if !of.example.trace.is_empty() {
        lines.push(format!(
            "The slowest is in {} at {:.3} s.",
            plain(&of.example.trace),
            of.example.at_s
        ));
    }
    let lines = lines.iter();
    lines
        .map(|line| page.wrap(&format!("      {line}"), 8))
        .collect()
}

/// The call sites of an issue with the longest waits and the most CPU time. If the most common call sites of the
/// versions differ, the text also names the call site of each version.
pub(super) fn places(of: &IssueReport, report: &IssuesReport) -> Vec<String> {
    let has_versions = report.versions.len() > 1;
    let by_version = |place: fn(&ByVersion) -> Option<&str>| {
        let known = of.by_version.iter();
        let known = known.filter_map(|one| Some((one.version.as_deref(), place(one)?)));
        let known: Vec<_> = known.collect();
        let differ = known.windows(2).any(|two| two[0].1 != two[1].1);
        let named = known
            .into_iter()
            .map(|(version, place)| format!("{place} in {}", version.unwrap_or("no version")));
        let named: Vec<String> = named.collect();
        (has_versions && differ).then(|| format!("Mostly {}.", named.join(", ")))
    };
    [
        longest("Waited", &of.waited_in),
        by_version(|one| one.waited_in.as_deref()),
        longest("Ran", &of.ran_in),
        by_version(|one| one.ran_in.as_deref()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn longest(what: &str, places: &[CallSiteReport]) -> Option<String> {
    let shown = places.iter().take(PLACES);
    let mut named: Vec<String> = shown
        .map(|one| format!("{} ({})", one.place, one.occurrences))
        .collect();
    let more = places.len().saturating_sub(PLACES);
    named.extend((more > 0).then(|| format!("{more} more")));
    (!places.is_empty()).then(|| format!("{what} longest in {}.", named.join(", ")))
}

/// The kind of a change between two versions, in one word.
pub(super) fn change(of: Option<&ChangeReport>) -> &'static str {
    of.and_then(|of| of.change).unwrap_or("")
}

fn doubts(report: &IssuesReport) -> Vec<String> {
    let mut lines = Vec::new();
    let unsure: u64 = report.issues.iter().map(|of| of.unsure).sum();
    if unsure > 0 {
        lines.push(format!(
            "{} may have ended earlier or later; `x11prof episodes` shows the reason.",
            counted(unsure, "episode")
        ));
    }
    let none = |of: &IssueReport| of.change.is_some_and(|change| change.chance.is_none());
    if report.issues.iter().any(none) {
        lines.push(
            "Some programs have too few sessions to test for significance. Record four or more of each \
             version.".to_owned(),
        );
    }
    if !report.left_out.is_empty() {
        lines.push(format!(
            "{} left out.",
            counted(report.left_out.len() as u64, "file")
        ));
    }
    lines
}
