//! The differences between two recordings as an HTML page, with both streams of messages around the first difference.

use std::fmt::Write as _;

use x11prof_analyzer::{ContextMessage, ContextRow, DivergenceReport};

use super::{caveats, client, part, verdict};
use crate::page::Page;
use crate::plain::markup;

/// The maximum number of characters of a message's fields.
const FIELDS: usize = 300;

/// Returns the page of the report. `context` has the messages around the first difference of each client of the report.
/// `names` are the names of the two recordings, and `page` is the layout of the text.
pub fn html(
    report: &DivergenceReport,
    context: &[Vec<ContextRow>],
    names: [&str; 2],
    page: &Page,
) -> String {
    let items = |lines: Vec<String>| -> String {
        let lines = lines
            .iter()
            .map(|line| format!("<li>{}</li>\n", markup(line)));
        lines.collect()
    };
    let clients: String = report
        .clients
        .iter()
        .zip(context)
        .map(|(one, rows)| {
            let differences = markup(&client(one, names, page));
            let (title, differences) = differences.split_once('\n').unwrap_or_default();
            let table = table(rows, names);
            format!("<section>\n<h2>{title}</h2>\n<pre>{differences}</pre>\n{table}</section>\n")
        })
        .collect();
    format!(
        include_str!("../../assets/html/divergence.html"),
        title = names.map(markup).join(" | "),
        style = include_str!("../../assets/html/style.css"),
        verdict = items(verdict(report, names)),
        clients = clients,
        caveats = items(caveats(report, names)),
    )
}

fn table(rows: &[ContextRow], names: [&str; 2]) -> String {
    let [first, second] = names.map(markup);
    let mut table = format!(
        "<table class=\"streams\">\n<thead><tr><th>{first}</th><th>{second}</th></tr></thead>\n"
    );
    for row in rows {
        let class = if row.differs {
            " class=\"differs\""
        } else {
            ""
        };
        let [a, b] = &row.sides;
        let [a, b] = [cell(a.as_ref(), b.as_ref()), cell(b.as_ref(), a.as_ref())];
        // Writing to a String never fails.
        let _ = writeln!(
            table,
            "<tr{class}><td data-side=\"{first}\">{a}</td><td data-side=\"{second}\">{b}</td></tr>"
        );
    }
    table + "</table>\n"
}

/// Returns a message with its time. If its fields are long, the text contains the first difference from `partner`.
fn cell(message: Option<&ContextMessage>, partner: Option<&ContextMessage>) -> String {
    let Some(message) = message else {
        return "–".to_owned();
    };
    let partner = partner.map_or("", |partner| partner.fields.as_str());
    format!(
        "<time>{:.3} ms</time> <i>{}</i> <b>{}</b> {}",
        message.since_ms,
        message.kind,
        markup(message.name),
        markup(&part(&message.fields, partner, FIELDS))
    )
}
