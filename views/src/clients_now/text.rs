//! The current activity of a display's clients, as text.

use x11prof_analyzer::{NowReport, TimeSource};

use super::{By, Order, answer, headings, rows};
use crate::page::{Page, Style, left_out};
use crate::plain::plain;
use crate::profile::server_time;
use crate::table::Table;
use crate::units::{duration, number};

/// The verdict, and then the rows of the kind `by` in the given order. `of` is the name of the display or recording.
pub fn text(report: &NowReport, of: &str, by: By, order: Order, page: &Page) -> String {
    let head = format!(
        "{}, {:.1} s to {:.1} s, per second: {} requests and {} of server time",
        plain(of),
        (report.at_s - report.seconds).max(0.0),
        report.at_s,
        number(report.requests_per_s),
        duration(report.server_ms_per_s),
    );
    let head = page.wrap(&head, 2);
    let mut text = page.paint(Style::Bold, head.trim_end());
    text.push('\n');
    for line in answer(report) {
        text.push_str(&page.wrap(&line, 2));
    }
    text.push('\n');
    let mut table = Table::new([]);
    table.headings(
        headings(by)
            .into_iter()
            .map(|(heading, _)| heading.to_owned()),
    );
    let mut table = match by {
        By::Client => table.left([7]).spare([6, 5]),
        By::Window | By::Request => table.left([1]),
    };
    let rows = rows(report, by, order);
    let more = rows.len().saturating_sub(page.rows);
    for row in rows.into_iter().take(page.rows) {
        table.row(row.cells);
    }
    // A column without content is not shown.
    let table = table.on(page);
    text.push_str(&table);
    text.push_str(&left_out(more, ""));
    let mut basis = basis(report);
    if report.basis.is_measured() {
        let own = duration(report.own_ms_per_s);
        basis.push_str(&format!("; {own} per second unattributed"));
    }
    if by == By::Client && table.contains(" Held ") {
        basis.push_str(". Held: memory of the client's resources in the server");
        if report.clients.iter().any(|one| one.joined) {
            basis.push_str(" (≥ or -: resources from before the recording are not counted)");
        }
    }
    if by == By::Window {
        basis.push_str(". (no window): requests that name none");
    }
    let basis = page.wrap(&basis, 0);
    text.push_str(&page.paint(Style::Faint, basis.trim_end()));
    text.push('\n');
    text
}

/// A sentence about the source of the server times. Extrapolated times are reported as modelled, because the server is
/// not measured at present.
pub fn basis(report: &NowReport) -> String {
    let basis = match report.basis {
        TimeSource::Extrapolated => TimeSource::Modelled,
        basis => basis,
    };
    server_time(basis, &plain(&report.costs))
}
