//! Where in the programs the waits for replies began, and requests were made.

use x11prof_analyzer::{By, CallerReport, CallersReport, FunctionReport};

use crate::page::{Page, Style};
use crate::plain::plain;
use crate::table::Table;
use crate::units::{counted, decimals, share};

/// Rows unless all are wanted.
const ROWS: usize = 12;
/// Functions named for a suggestion.
const ASKERS: usize = 2;
/// Functions of a place that are shown, and with all.
const NAMED: usize = 2;
const ALL: usize = 40;
/// Functions in the name of a group of stacks.
const CALLERS: usize = 8;

/// A table of the callers, after the round trips.
pub(crate) fn text(report: &CallersReport, page: &Page) -> String {
    let more = report.looking_ms / (report.round_trips_ms - report.looking_ms).max(1e-6);
    // Nobody looked at the waits of a program that told its own stacks.
    let is_told = report.looking_ms == 0.0;
    let first = format!(
        "Waits by caller: {} of {} {}",
        report.looked_at,
        counted(report.round_trips, "round trip"),
        if is_told {
            "have a stack".to_owned()
        } else {
            let more = share(100.0 * more.max(0.0));
            format!("were looked at, which made the waits {more} longer")
        }
    );
    let mut text = page.paint(Style::Bold, page.wrap(&first, 2).trim_end());
    text.push('\n');
    let rows = if page.all { report.callers.len() } else { ROWS };
    let most = report.callers.first().map_or(0.0, |one| one.waited_ms);
    let digits = decimals(most);
    let mut table = Table::new(["Caller", "Waits", "ms", "Mostly"]).spare([0]);
    for caller in report.callers.iter().take(rows) {
        let request = caller.requests.first().map(|one| one.request.clone());
        table.row([
            chain(&caller.functions, if page.all { ALL } else { NAMED }),
            caller.waits.to_string(),
            format!("{:.digits$}", caller.waited_ms),
            request.unwrap_or_default(),
        ]);
    }
    text.push_str(&table.on(page));
    let mut legend =
        "The function outside of the X libraries and libc that asked, and its callers (<)."
            .to_owned();
    let part = report.looked_at - report.whole;
    if part > 0 {
        legend.push_str(&format!(
            " {} cut short: a function's frame is not known.",
            counted(part, "stack")
        ));
    }
    if !is_told && 2 * report.looked_at < report.round_trips {
        legend.push_str(
            " Short waits go by; over a slower network (record --net lan) all are looked at.",
        );
    }
    if rows < report.callers.len() {
        legend.push_str(" --all shows every caller and its whole stack.");
    }
    let legend = page.wrap(&legend, 0);
    text.push_str(&page.paint(Style::Faint, legend.trim_end()));
    text.push('\n');
    text
}

/// The functions that asked a request most often, with how often; `None` where no wait for it was looked at.
pub(crate) fn askers(report: &CallersReport, request: &str) -> Option<String> {
    let of = |one: &CallerReport| {
        let mut requests = one.requests.iter();
        requests.find(|of| of.request == request).map(|of| of.waits)
    };
    let mut askers: Vec<(u64, String)> = report
        .callers
        .iter()
        .filter_map(|one| Some((of(one)?, chain(&one.functions, NAMED))))
        .collect();
    askers.sort_by(|a, b| b.cmp(a));
    let named = askers.iter().take(ASKERS);
    let named: Vec<String> = named
        .map(|(waits, name)| format!("{name} ({waits})"))
        .collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// The places from which an episode's client waited longest; `None` where no wait was looked at.
pub(crate) fn waited_in(callers: &[CallerReport]) -> Option<String> {
    let one = |one: &CallerReport| {
        let request = one
            .requests
            .first()
            .map(|of| format!(", mostly {}", of.request));
        let trips = counted(one.waits, "round trip");
        format!(
            "{} ({trips}, {:.1} ms{})",
            chain(&one.functions, NAMED),
            one.waited_ms,
            request.unwrap_or_default()
        )
    };
    let named: Vec<String> = callers.iter().take(ASKERS).map(one).collect();
    (!named.is_empty()).then(|| format!("Waited in {}", named.join(", in ")))
}

/// The names of a group of requests, by the program's functions that made them, the innermost first.
pub fn group_names(functions: &[FunctionReport], by: By) -> Vec<String> {
    match (functions.first(), by) {
        (None, _) => vec!["(not known)".to_owned()],
        (Some(first), By::Line) if first.line.is_some() => function_names(&functions[..1]),
        (Some(_), By::Stack) => chain_names(functions, CALLERS),
        (Some(first), _) => {
            // A function without a name has its first caller with one.
            let named = if first.name.is_some() { 1 } else { 2 };
            let without_lines = functions.iter().map(|one| FunctionReport {
                line: None,
                ..one.clone()
            });
            chain_names(&without_lines.collect::<Vec<_>>(), named)
        }
    }
}

/// The names of functions, as they are.
pub fn function_names<'a>(functions: impl IntoIterator<Item = &'a FunctionReport>) -> Vec<String> {
    let named = functions.into_iter().map(function);
    named.map(|name| plain(&name).into_owned()).collect()
}

/// The first function of a stack, and the next that have names.
fn chain_names(functions: &[FunctionReport], most: usize) -> Vec<String> {
    let named = (0..).zip(functions);
    let named = named.filter(|(at, one)| *at == 0 || one.name.is_some());
    function_names(named.take(most).map(|(_, one)| one))
}

fn chain(functions: &[FunctionReport], most: usize) -> String {
    chain_names(functions, most).join(" < ")
}

/// `main (app.c:12)`, `gdk_init [libgdk-3]`, `[app]`.
fn function(of: &FunctionReport) -> String {
    let module = of.module.split(".so").next().unwrap_or_default();
    let place = match &of.line {
        None if module.is_empty() => "[made at run time]".to_owned(),
        Some(line) => format!("({})", line.rsplit('/').next().unwrap_or_default()),
        None => format!("[{module}]"),
    };
    match &of.name {
        Some(name) => format!("{} {place}", without_parameters(name)),
        None => place,
    }
}

/// `A::f` of `A::f(int, B const&) const`.
fn without_parameters(name: &str) -> &str {
    let mut depth = 0;
    let end = name.rfind(')').map_or(0, |at| at + 1);
    for (at, letter) in name[..end].char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at > 0 { &name[..at] } else { name };
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::without_parameters;

    #[test]
    fn names_lose_their_parameters() {
        for (name, short) in [
            ("gdk_init", "gdk_init"),
            ("A::f(int, B const&) const", "A::f"),
            (
                "(anonymous namespace)::f(void (*)(int))",
                "(anonymous namespace)::f",
            ),
            ("A::operator()(int)", "A::operator()"),
            ("(odd)", "(odd)"),
        ] {
            assert_eq!(without_parameters(name), short);
        }
    }
}
