//! Issues as HTML pages: the list of issues, and one page for each issue. The pages need no script, network or server,
//! and have the same style as the page of a recording.

use x11prof_analyzer::EpisodeReport;
use x11prof_collection::{ByVersion, IssueReport, IssuesReport};

use super::chart::{Curve, curves};
use super::text::{change, parts, places, times, verdict};
use crate::plain::markup as safe;
use crate::units::{counted, duration};

const STYLE: &str = include_str!("../../assets/html/style.css");

/// The style of a main cause that does not occur in the report on a recording.
const OTHER: &str = ".other { background: var(--good); }";

/// Maximum number of issues that are listed and have a page.
pub const PAGES: usize = 1000;
/// The file name of the first page, which lists the issues.
pub const INDEX: &str = "index.html";

/// The file name of an issue's page.
pub fn file_name(issue: &IssueReport) -> String {
    format!("issue-{}.html", issue.rank)
}

/// The HTML page with the list of issues.
pub fn index(report: &IssuesReport) -> String {
    let verdict: String = verdict(report)
        .iter()
        .map(|line| format!("<li>{}</li>", safe(line)))
        .collect();
    let mut body = format!("<section><h2>Overview</h2><ul id=\"verdict\">{verdict}</ul></section>");
    let shown = report.issues.iter().take(PAGES);
    let changes = shown
        .clone()
        .any(|of| !change(of.change.as_ref()).is_empty());
    let known = shown.clone().any(|of| of.known.is_some());
    let mut heads = vec![
        "No.",
        "Landmark",
        "Program",
        "Blame",
        "Over threshold",
        "Count",
        "Sessions",
        "Users",
        "p50",
        "Max",
        "Versions",
    ];
    heads.extend(changes.then_some("Change"));
    heads.extend(known.then_some("Known"));
    heads.push("Latency");
    let rows: String = shown.map(|of| row(of, changes, known)).collect();
    body.push_str(&format!(
        "<section><h2>Issues</h2>{}</section>",
        table(
            "issues",
            "Each issue is one problem. The list is sorted by time over the threshold.",
            &heads,
            &rows
        )
    ));
    if !report.curves.is_empty() {
        let list: Vec<Curve<'_>> = report
            .curves
            .iter()
            .map(|curve| Curve {
                name: curve.version.as_deref().unwrap_or("no version"),
                all: curve.episodes,
                points: &curve.points,
            })
            .collect();
        body.push_str(&format!(
            "<section><h2>Latencies by version</h2><figure><figcaption>Of all episodes, how many took at least this \
             long</figcaption>{}</figure>{}</section>",
            curves(&list),
            programs(report)
        ));
    }
    if !report.left_out.is_empty() {
        let files: String = report
            .left_out
            .iter()
            .map(|left| format!("<li>{}: {}</li>", safe(&left.file), safe(&left.why)))
            .collect();
        body.push_str(&format!(
            "<section><h2>Left out</h2><ul id=\"left-out\">{files}</ul></section>"
        ));
    }
    page("Issues", &counted(report.sessions as u64, "session"), &body)
}

/// Returns a row of the list of issues. `changed` is true if the list has a column for changes, and `known` is true if
/// the list has a column for known issues.
fn row(of: &IssueReport, changed: bool, known: bool) -> String {
    let number = |value: &str| format!("<td class=\"number\">{}</td>", safe(value));
    let name = |value: &str| format!("<td class=\"name\">{}</td>", safe(value));
    let of_file = of.known.as_ref();
    let of_file = of_file.map(|known| known.bug.as_deref().unwrap_or("accepted"));
    let some = |cell: bool, text: &str| if cell { name(text) } else { String::new() };
    [
        format!(
            "<tr><td class=\"number\"><a href=\"{}\">{}</a></td>",
            file_name(of),
            of.rank
        ),
        name(&of.landmark),
        name(of.program.as_deref().unwrap_or("unknown")),
        name(&of.blame),
        number(&duration(of.total_over_threshold_ms)),
        number(&times(of)),
        number(&of.sessions.to_string()),
        number(&of.users.to_string()),
        number(&duration(of.median_ms)),
        number(&duration(of.worst_ms)),
        name(&of.versions.join(", ")),
        some(changed, change(of.change.as_ref())),
        some(known, of_file.unwrap_or_default()),
        format!("<td>{}</td></tr>", bar(of, false)),
    ]
    .concat()
}

/// The HTML page of the issue `of`. `example` is its worst episode, if the recording could be read again.
pub fn issue(report: &IssuesReport, of: &IssueReport, example: Option<&EpisodeReport>) -> String {
    let program = of.program.as_deref().unwrap_or("unknown program");
    let mut lines = vec![
        format!("Blame: {}.", of.blame),
        format!(
            "{} over the threshold in {} of {}: p50 {}, max {}. This landmark has {} in total.",
            duration(of.total_over_threshold_ms),
            counted(of.occurrences as u64, "episode"),
            counted(of.sessions as u64, "session"),
            duration(of.median_ms),
            duration(of.worst_ms),
            counted(of.of_landmark, "episode"),
        ),
    ];
    if let Some(known) = &of.known {
        lines.extend(known.bug.iter().map(|bug| format!("Known: {bug}.")));
        lines.extend(known.accepted.iter().map(|why| format!("Accepted: {why}.")));
    }
    lines.extend(places(of, report));
    let lines: String = lines
        .iter()
        .map(|line| format!("<li>{}</li>", safe(line)))
        .collect();
    let causes: Vec<String> = of
        .causes
        .iter()
        .filter(|(_, ms)| **ms > 0.0)
        .map(|(name, ms)| format!("{} {}", name.trim_end_matches("_ms"), duration(*ms)))
        .collect();
    let distribution = curves(&[Curve {
        name: "episodes over the threshold",
        all: of.occurrences as u64,
        points: &of.distribution,
    }]);
    let rows: String = of.by_version.iter().map(version_row).collect();
    let heads = [
        "Version",
        "Sessions",
        "Episodes",
        "p50",
        "Over threshold",
        "For each action",
    ];
    let about = match (&report.compared, &of.change) {
        (Some([old, new]), Some(change)) => format!(
            "Over the threshold per user action: {} in {old}, {} in {new}{}.",
            duration(change.old_per_action_ms),
            duration(change.new_per_action_ms),
            match (change.change, change.chance) {
                (Some(word), Some(chance)) => format!(": {word} (p = {chance:.3})"),
                (None, Some(chance)) => format!(", which may be chance ({chance:.3})"),
                (_, None) => ", too few sessions to test for significance".to_owned(),
            }
        ),
        _ => "By version".to_owned(),
    };
    let body = format!(
        "<section><h2>Issue</h2><ul id=\"verdict\">{lines}</ul></section>\
         <section><h2>Latency</h2><div id=\"parts\">{}</div>{}<p class=\"quiet\">{}</p></section>\
         <section><h2>Distribution</h2><div id=\"distribution\">{distribution}</div></section>\
         <section><h2>Versions</h2>{}</section>\
         <section><h2>What its episodes did</h2>{}</section>\
         <section><h2>Example</h2><div id=\"example\">{}</div></section>",
        bar(of, true),
        key(of),
        safe(&causes.join(", ")),
        table("versions", &about, &heads, &rows),
        patterns(of),
        example_of(of, example),
    );
    page(
        &format!("{}. {}", of.rank, of.landmark),
        &format!("{} · <a href=\"{INDEX}\">all issues</a>", safe(program)),
        &body,
    )
}

/// Returns the HTML for the patterns of an issue's episodes.
fn patterns(of: &IssueReport) -> String {
    let rows: String = of
        .patterns
        .iter()
        .map(|one| {
            format!(
                "<tr><td class=\"name\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td></tr>",
                safe(&one.pattern),
                one.occurrences,
                duration(one.worst_ms),
                duration(one.total_over_threshold_ms)
            )
        })
        .collect();
    let caption = match of.pattern_count - of.patterns.len() {
        0 => counted(of.pattern_count as u64, "pattern"),
        _ => format!(
            "{}, the {} with the most time",
            counted(of.pattern_count as u64, "pattern"),
            of.patterns.len()
        ),
    };
    let heads = ["Pattern", "Episodes", "Max", "Over threshold"];
    table("patterns", &caption, &heads, &rows)
}

fn version_row(of: &ByVersion) -> String {
    format!(
        "<tr><td class=\"name\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
        safe(of.version.as_deref().unwrap_or("no version")),
        of.sessions,
        of.occurrences,
        duration(of.median_ms),
        duration(of.total_over_threshold_ms),
        of.per_action_ms.map_or_else(|| "–".to_owned(), duration)
    )
}

/// Returns the HTML for the worst episode of an issue: its location, its nested episodes, and its messages.
fn example_of(of: &IssueReport, example: Option<&EpisodeReport>) -> String {
    if of.example.trace.is_empty() {
        return "<p class=\"quiet\">Only episodes were recorded: there is no trace to look at.</p>"
            .to_owned();
    }
    let mut html = format!(
        "<p>{} at {:.3} s, client {}: {}</p>",
        safe(&of.example.trace),
        of.example.at_s,
        of.example.client,
        duration(of.example.latency_ms)
    );
    let Some(example) = example else {
        html.push_str(
            "<p class=\"quiet\">Its recording was not read again; `x11prof episodes` shows it.</p>",
        );
        return html;
    };
    let whole = example.latency_ms.max(1e-6);
    let mut rows = vec![(example.landmark.as_str(), 0.0, whole, "client")];
    for child in &example.children {
        let from = child.start_ms - example.start_ms;
        rows.push((child.landmark.as_str(), from, child.latency_ms, "server"));
    }
    let height = rows.len() * 20;
    html.push_str(&format!(
        "<svg id=\"timeline\" width=\"100%\" style=\"height: {height}px\" role=\"img\">"
    ));
    for (at, (name, from, length, colour)) in rows.iter().take(50).enumerate() {
        let (x, width) = (100.0 * from / whole, (100.0 * length / whole).max(0.2));
        html.push_str(&format!(
            "<rect x=\"{x:.2}%\" y=\"{}\" width=\"{width:.2}%\" height=\"16\" style=\"fill: var(--{colour}); opacity: .45\"/>\
             <text x=\"{x:.2}%\" y=\"{}\" dx=\"4\">{} {}</text>",
            at * 20,
            at * 20 + 12,
            safe(name),
            duration(*length)
        ));
    }
    html.push_str("</svg>");
    if !example.messages.is_empty() {
        let lines = example.messages.join("\n");
        html.push_str(&format!("<pre>{}</pre>", safe(&lines)));
    }
    html
}

/// Returns the HTML for the compared versions of each program.
fn programs(report: &IssuesReport) -> String {
    let Some([old, new]) = &report.compared else {
        return String::new();
    };
    let rows: String = report
        .programs
        .iter()
        .filter_map(|of| {
            let of_change = of.change?;
            Some(format!(
                "<tr><td class=\"name\">{}</td><td class=\"number\">{} / {}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td><td class=\"name\">{}</td><td class=\"number\">{}</td></tr>",
                safe(of.program.as_deref().unwrap_or("unknown program")),
                of.sessions[0],
                of.sessions[1],
                duration(of_change.old_per_action_ms),
                duration(of_change.new_per_action_ms),
                change(Some(&of_change)),
                of_change.chance.map_or_else(|| "–".to_owned(), |chance| format!("{chance:.3}")),
            ))
        })
        .collect();
    let heads = [
        "Program",
        "Sessions",
        old.as_str(),
        new.as_str(),
        "Change",
        "Chance",
    ];
    table(
        "programs",
        "Over the threshold per user action",
        &heads,
        &rows,
    )
}

fn table(id: &str, caption: &str, heads: &[&str], rows: &str) -> String {
    let heads: String = heads
        .iter()
        .map(|head| format!("<th style=\"padding: .3rem .5rem\">{}</th>", safe(head)))
        .collect();
    format!(
        "<div class=\"scroll\" id=\"{id}\"><table><caption>{}</caption><thead><tr>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>",
        safe(caption)
    )
}

fn bar(of: &IssueReport, tall: bool) -> String {
    let parts = parts(of);
    let whole: f64 = parts.iter().map(|(_, ms, _)| ms).sum();
    let pieces: String = parts
        .iter()
        .filter(|(_, ms, _)| *ms > 0.0)
        .map(|(kind, ms, _)| {
            format!(
                "<i class=\"{kind}\" style=\"width: {:.2}%\"></i>",
                100.0 * ms / whole
            )
        })
        .collect();
    format!(
        "<div class=\"bar{}\">{pieces}</div>",
        if tall { " tall" } else { "" }
    )
}

fn key(of: &IssueReport) -> String {
    let pieces: String = parts(of)
        .iter()
        .map(|(kind, ms, name)| {
            format!(
                "<span><i class=\"{kind}\"></i>{name} {}</span>",
                duration(*ms)
            )
        })
        .collect();
    format!("<div class=\"key\">{pieces}</div>")
}

/// Returns an HTML page. `about` and `body` are HTML, `title` is text.
fn page(title: &str, about: &str, body: &str) -> String {
    let title = safe(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; img-src data:\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<link rel=\"icon\" \
         href=\"data:,\">\n<style>{STYLE}{OTHER}</style>\n</head>\n<body>\n<header><div><h1>{title}</h1><p \
         class=\"quiet\">{about}</p></div></header>\n<main>{body}</main>\n</body>\n</html>\n"
    )
}
