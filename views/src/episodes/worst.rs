//! The longest episodes as text: their time and landmark, and their components. Episodes over their threshold also have
//! the critical path and the main cause.

use x11prof_analyzer::{
    BlameReport, ChildReport, EpisodeReport, EpisodesReport, HeldUpReport, ModalReport, PathReport,
};

use super::words::{brief, causes, cut, latency, location};
use crate::callers::{advice_on_names, blocked_in, ran_in, waited_in};
use crate::page::Page;
use crate::plain::plain;

/// The longest episodes as text. With `--all`, the text also has nested episodes and messages.
pub(super) fn text(report: &EpisodesReport, page: &Page) -> String {
    let counted = report.episodes.iter();
    let counted = counted.filter(|one| one.led_to_by.is_none());
    let mut longest: Vec<&EpisodeReport> = counted.collect();
    longest.sort_by(|a, b| b.latency_ms.total_cmp(&a.latency_ms));
    let mut text = String::new();
    let end = |one: &EpisodeReport| one.start_ms + one.latency_ms;
    for (number, &of) in longest.iter().enumerate() {
        let took = format!("{:>9} ms", brief(of.latency_ms));
        let at = format!("at {:.3} s", of.start_ms / 1000.0);
        let room = page.columns().saturating_sub(took.len() + at.len() + 4);
        let unsure = if of.unsure.is_some() { "?" } else { "" };
        let name = cut(&format!("{unsure}{}", plain(&named(of))), room);
        text.push_str(&format!("{took}  {name:<room$}  {at}\n"));
        let indent = " ".repeat(14);
        // Several events may have one response.
        let mut above = longest.iter().take(number);
        let is_same = |one: &&&EpisodeReport| one.client == of.client && end(one) == end(of);
        if let Some(one) = above.find(is_same) {
            let line = format!(
                "{indent}the same response as {} above",
                plain(&one.landmark)
            );
            text.push_str(&page.wrap(&line, indent.len()));
            continue;
        }
        // The request and the window with the most time.
        let mostly = of.mostly.as_ref().filter(|of| of.of.is_some());
        let mostly = mostly.map(|of| format!("; {}", location(of)));
        let mostly = of.held_up.as_ref().map(held_up).or(mostly);
        let shares = causes(&of.parts, &of.causes).join(", ");
        let others = of_other_clients(of).unwrap_or_default();
        let behind = waited_behind(of, &report.episodes).unwrap_or_default();
        let line = format!(
            "{indent}{shares}{behind}{}{others}",
            mostly.unwrap_or_default()
        );
        text.push_str(&page.wrap(&plain(&line), indent.len()));
        if let Some(blame) = &of.blame {
            chain(blame, of, page, &mut text);
        }
        let call_sites = [
            waited_in(&of.callers, of.causes.reply_ms),
            blocked_in(&of.blocked_in),
            ran_in(&of.ran_in),
        ];
        for line in call_sites.into_iter().flatten() {
            text.push_str(&page.wrap(&format!("{indent}{line}"), indent.len()));
        }
        for phase in &of.modal {
            let line = format!("{}{}", " ".repeat(14), plain(&modal(phase)));
            text.push_str(&page.wrap(&line, 14));
        }
        if page.all {
            let line = format!(
                "{indent}{}, {} requests, {} round trips, pattern {}",
                plain(&of.client_name),
                of.requests,
                of.round_trips,
                of.pattern.map_or_else(|| "-".to_owned(), |n| n.to_string()),
            );
            text.push_str(&page.wrap(&line, indent.len()));
            nested(&of.children, 1, page, &mut text);
            for line in &of.messages {
                text.push_str(&page.wrap(&format!("    {}", plain(line)), 6));
            }
        }
    }
    let advice = advice_on_names(&text, page);
    text + &advice
}

/// Returns a clause on the episode that the client was handling when this episode began; `None` if this episode waited
/// for less than a fifth of its latency.
fn waited_behind(of: &EpisodeReport, all: &[EpisodeReport]) -> Option<String> {
    if of.parts.waiting_ms < of.latency_ms / 5.0 {
        return None;
    }
    let end = |one: &EpisodeReport| one.start_ms + one.latency_ms;
    let before = all
        .iter()
        .filter(|one| one.client == of.client && one.start_ms < of.start_ms);
    let before = before.filter(|one| end(one) > of.start_ms);
    let longest = before.max_by(|a, b| end(a).total_cmp(&end(b)))?;
    let at = longest.start_ms / 1000.0;
    Some(format!(
        "; the program first handled {} (from {at:.3} s)",
        longest.landmark
    ))
}

/// Returns a clause on the client that held the server during the episode.
fn held_up(of: &HeldUpReport) -> String {
    let by = of.request.as_deref().unwrap_or("requests");
    format!("; held up {} ms by {by} of {}", brief(of.waited_ms), of.by)
}

/// Returns a clause on the client with the largest share of the time of other clients. `None` if that time is less than
/// a fifth of the latency, or if the critical path names the client.
fn of_other_clients(of: &EpisodeReport) -> Option<String> {
    if of.blame.is_some() || of.parts.other_clients_ms < of.latency_ms / 5.0 {
        return None;
    }
    let handled = of.children.iter().filter_map(|one| {
        let who = one.client_name.as_deref()?;
        let what = format!("; {who} handled {} for", one.landmark);
        Some((what, one.latency_ms))
    });
    let answered = of.awaited.iter().filter(|one| one.outcome == "answered");
    let answered = answered.filter_map(|one| {
        let who = one.client.as_deref()?;
        Some((format!("; {who} answered {} after", one.request), one.ms))
    });
    let longest = handled.chain(answered).max_by(|a, b| a.1.total_cmp(&b.1));
    longest.map(|(what, ms)| format!("{what} {}", latency(ms)))
}

/// Returns the name of an episode: its landmark, which includes the window. An episode without a window is named by its
/// client.
fn named(of: &EpisodeReport) -> String {
    match of.landmark.contains(" in ") {
        true => of.landmark.clone(),
        false => format!("{}, {}", of.landmark, of.client_name),
    }
}

/// Returns a sentence on a modal phase, such as a menu, that the episode started and that does not count towards the
/// latency.
fn modal(phase: &ModalReport) -> String {
    let what = match (phase.how, &phase.window) {
        ("grab", Some(window)) => format!("grab by {window}"),
        ("grab", None) => "grab".to_owned(),
        (how, Some(window)) => format!("{how} window {window}"),
        (how, None) => format!("{how} window"),
    };
    let long = phase.duration_ms.map_or_else(
        || "to the end of the recording".to_owned(),
        |ms| format!("for {}", latency(ms)),
    );
    format!("Then the {what} {long} (not part of the latency)")
}

/// The maximum number of links of the critical path that are shown. The longest links are shown.
const LINKS: usize = 6;

/// Adds up neighbours that have the same client, component and request.
fn merged(path: &[PathReport]) -> Vec<PathReport> {
    let key = |of: &PathReport| (of.kind, of.connection, of.request.clone());
    let merged = path.chunk_by(|a, b| key(a) == key(b)).filter_map(|links| {
        let longest = links.iter().max_by(|a, b| a.ms.total_cmp(&b.ms))?;
        Some(PathReport {
            start_ms: links.first()?.start_ms,
            ms: links.iter().map(|link| link.ms).sum(),
            ..longest.clone()
        })
    });
    merged.collect()
}

/// Writes the main cause to `text`, and the longest links of the critical path in time order if other clients are on the
/// path.
fn chain(blame: &BlameReport, of: &EpisodeReport, page: &Page, text: &mut String) {
    let own = Some(of.client);
    let indent = " ".repeat(14);
    // Shorter links are not printed.
    let mut links = merged(&blame.path);
    links.retain(|link| link.ms >= 1.0);
    let mut links = merged(&links);
    links.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    links.truncate(LINKS);
    let line = format!("{indent}{}", plain(&blame.sentence));
    text.push_str(&page.wrap(&line, indent.len()));
    // If only one client is on the path, the links would repeat the line above.
    let others = links.iter().any(|link| Some(link.connection) != own);
    if others {
        links.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
        text.push_str(&format!("{indent}Critical path, longest steps in order:\n"));
        for link in links {
            let request = link.request.as_ref().map(|name| format!(", {name}"));
            let what = match link.kind {
                "awaited" => "no response yet",
                _ => &link.location,
            };
            let line = format!(
                "{indent}{:>9} ms  {}: {what}{}",
                brief(link.ms),
                link.client,
                request.unwrap_or_default(),
            );
            text.push_str(&cut(&plain(&line), page.columns()));
            text.push('\n');
        }
    }
}

/// Writes the nested episodes `children` to `text`, with inclusive and exclusive times. `depth` is the depth of
/// nesting.
fn nested(children: &[ChildReport], depth: usize, page: &Page, text: &mut String) {
    for child in children {
        let indent = " ".repeat((12 + 2 * depth).min(page.columns() / 2));
        let own = match child.children.is_empty() {
            true => String::new(),
            false => format!(", {} ms without nested episodes", brief(child.exclusive_ms)),
        };
        let line = format!(
            "{indent}{} ms{own}: {}{}",
            brief(child.latency_ms),
            plain(&child.landmark),
            plain(&led_to(child)),
        );
        text.push_str(&page.wrap(&line, indent.len() + 2));
        nested(&child.children, depth + 1, page, text);
    }
}

/// Returns the client of a nested episode and the request that caused it. The text is empty if the client is the same.
fn led_to(child: &ChildReport) -> String {
    let name = child.client_name.as_deref();
    let request = child.request.as_deref().unwrap_or_default();
    name.map_or_else(String::new, |name| format!(", {name}, by {request}"))
}
