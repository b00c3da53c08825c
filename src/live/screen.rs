//! The terminal's screen of a live profile.
//!
//! Drawn on standard error, on the alternate screen, so that what was there comes back.

use std::io::{self, Stderr};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table};
use ratatui::{Frame, Terminal};
use x11prof_analyzer::ProfileReport;
use x11prof_views::plain;
use x11prof_views::units::{bytes, counted, duration};

use super::rates::{Order, Row, Rows, Sums};

/// The screen while it shows; dropped, it gives the terminal back.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    notices: Vec<String>,
}

impl Screen {
    /// Takes the terminal's screen.
    pub(super) fn open() -> io::Result<Screen> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stderr()))?;
        execute!(io::stderr(), EnterAlternateScreen)?;
        Ok(Screen {
            terminal,
            notices: Vec::new(),
        })
    }

    /// Draws what came so far. A terminal that cannot be drawn on is left as it is.
    pub(super) fn draw(&mut self, shown: &Shown<'_>) {
        // The first says what to connect to; of several lines the second one does.
        let first = self.notices.first();
        let first = first.and_then(|first| first.lines().take(2).last());
        let latest = self.notices.iter().skip(1).next_back();
        let notices = [first, latest.map(String::as_str)];
        let notices: Vec<&str> = notices.into_iter().flatten().map(str::trim).collect();
        let _ = self.terminal.draw(|frame| draw(frame, shown, &notices));
    }

    /// Shows a notice until the next; the first one stays.
    pub(super) fn notice(&mut self, notice: String) {
        self.notices.push(notice);
    }

    /// Does what prints, on the screen that was there before.
    pub(super) fn aside(&mut self, print: impl FnOnce()) {
        let _ = execute!(io::stderr(), LeaveAlternateScreen);
        print();
        let _ = execute!(io::stderr(), EnterAlternateScreen);
        let _ = self.terminal.clear();
    }

    /// Gives the terminal back, and says there what was said meanwhile.
    pub(super) fn close(mut self) {
        let notices = std::mem::take(&mut self.notices);
        drop(self);
        for notice in notices {
            say!("{notice}");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.terminal.show_cursor();
        let _ = execute!(io::stderr(), LeaveAlternateScreen);
    }
}

/// What a frame shows.
pub(super) struct Shown<'a> {
    /// The rows, and their sum.
    pub(super) rows: Rows,
    /// Where they are from.
    pub(super) report: &'a ProfileReport,
    /// What they are sorted by.
    pub(super) order: Order,
    /// Records that came too fast for the view.
    pub(super) missed: u64,
    /// The last line that the program wrote.
    pub(super) output: Option<String>,
    /// Whether there are keys.
    pub(super) keys: bool,
}

/// One frame: what is recorded, the requests that fit, how good the figures are, the keys.
fn draw(frame: &mut Frame<'_>, shown: &Shown<'_>, notices: &[&str]) {
    let head = head(shown, notices);
    let foot = foot(shown);
    let height = |lines: &[Line<'_>]| Constraint::Length(u16::try_from(lines.len()).unwrap_or(1));
    let [top, _, table, bottom] = Layout::vertical([
        height(&head),
        Constraint::Length(1),
        Constraint::Fill(1),
        height(&foot),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(Text::from(head)), top);
    frame.render_widget(requests(shown), table);
    frame.render_widget(Paragraph::new(Text::from(foot)), bottom);
}

fn head<'a>(shown: &Shown<'_>, notices: &[&'a str]) -> Vec<Line<'a>> {
    let trace = &shown.report.trace;
    let mut lines = vec![Line::styled(
        format!(
            "{}: {}, {} on {}",
            plain(&trace.path),
            duration(trace.duration_ms),
            counted(shown.report.total.count, "request"),
            counted(trace.connection_count, "connection"),
        ),
        Style::new().add_modifier(Modifier::BOLD),
    )];
    if let Some(now) = &shown.rows.all.rates {
        lines.push(Line::raw(format!(
            "Each second now: {} requests, {}, {} of the server",
            whole(now.count),
            bytes(now.bytes as u64),
            duration(now.ms),
        )));
    }
    lines.extend(notices.iter().map(|notice| Line::raw(plain(notice))));
    lines
}

fn foot(shown: &Shown<'_>) -> Vec<Line<'static>> {
    let (report, faint) = (shown.report, Style::new().add_modifier(Modifier::DIM));
    let total = &report.total;
    let measured = total
        .server_cpu_ms
        .map_or_else(String::new, |ms| format!(", measured {}", duration(ms)));
    let unpriced = match total.unpriced {
        0 => String::new(),
        some => format!("; {} without a price", counted(some, "request")),
    };
    let mut lines = vec![Line::raw(format!(
        "Server {}: {}{measured}{unpriced}",
        plain(&report.server.name),
        duration(total.server_ms),
    ))];
    if shown.missed > 0 {
        let missed = counted(shown.missed, "record");
        lines.push(Line::raw(format!(
            "{missed} missed here; the trace has them"
        )));
    }
    if let Some(output) = &shown.output {
        lines.push(Line::raw(format!("Output: {}", plain(output))));
    }
    let keys = match shown.keys {
        true => "Sort: t time, n number, b bytes, a name. q quits. SIGUSR1 prints the report.",
        false => "SIGUSR1 prints the report, SIGUSR2 starts afresh, Ctrl-C ends",
    };
    lines.push(Line::styled(keys, faint));
    lines
}

/// A number of which the unit digit tells nothing where there are many.
fn whole(number: f64) -> String {
    match number {
        n if n >= 9.95 => format!("{n:.0}"),
        n => format!("{n:.1}"),
    }
}

fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{ms:.0}"),
        ms => format!("{ms:.2}"),
    }
}

fn requests<'a>(shown: &Shown<'_>) -> Table<'a> {
    let right = |text: String| Cell::from(Text::from(text).right_aligned());
    let cells = |row: &Row| {
        let rate = |show: fn(Sums) -> String| row.rates.map_or_else(|| "-".to_owned(), show);
        let cells = [
            milliseconds(row.sums.ms),
            rate(|now| milliseconds(now.ms)),
            format!("{:.0}", row.sums.count),
            rate(|now| whole(now.count)),
            bytes(row.sums.bytes as u64),
            rate(|now| bytes(now.bytes as u64)),
        ];
        let name = Cell::from(plain(&row.name).into_owned());
        Cells::new(std::iter::once(name).chain(cells.into_iter().map(right)))
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let all = std::iter::once(cells(&shown.rows.all).style(bold));
    let rows = all.chain(shown.rows.rows.iter().map(cells));
    let widths = [
        Constraint::Min(20),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(6),
        Constraint::Length(9),
        Constraint::Length(9),
    ];
    // The column that rows are sorted by is marked.
    let heading = |text: &str, order: Option<Order>| match order == Some(shown.order) {
        true => format!("▾{text}"),
        false => text.to_owned(),
    };
    let headings = [
        ("Time ms", Some(Order::Time)),
        ("/s", None),
        ("Count", Some(Order::Number)),
        ("/s", None),
        ("Bytes", Some(Order::Bytes)),
        ("/s", None),
    ];
    let headings = headings.map(|(text, order)| right(heading(text, order)));
    let headings =
        std::iter::once(Cell::from(heading("Request", Some(Order::Name)))).chain(headings);
    Table::new(rows, widths)
        .header(Cells::new(headings).style(Style::new().add_modifier(Modifier::REVERSED)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use x11prof_analyzer::LiveProfile;
    use x11prof_cost_model::{Network, Substitutions, built_in};
    use x11prof_trace::Reader;

    use super::{Shown, draw};
    use crate::live::rates::{Order, Rates};

    /// A frame of a recording on a terminal of so many columns and lines.
    fn frame(columns: u16, lines: u16) -> TestBackend {
        let bytes = include_bytes!("../../tests/data/xclock.mcap");
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        let sun = built_in().iter().find(|known| known.name == "sun4-ipc");
        let parameters = sun.unwrap().parameters().unwrap();
        let mut profile = LiveProfile::new(&parameters, &Substitutions::default());
        while let Some(record) = reader.next().unwrap() {
            profile.feed(record);
        }
        profile.end();
        let report = profile.report("x11prof.mcap", &Network::NONE, false);
        let mut rates = Rates::default();
        // As if all had come in a second.
        let mut empty = report.clone();
        empty.requests.clear();
        rates.rows(&empty, Duration::ZERO, Order::Bytes);
        let shown = Shown {
            rows: rates.rows(&report, Duration::from_secs(1), Order::Bytes),
            report: &report,
            order: Order::Bytes,
            missed: 0,
            output: Some("Warning: Missing charsets in String to FontSet conversion".to_owned()),
            keys: true,
        };
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        terminal
            .draw(|frame| draw(frame, &shown, &["client 1: xclock"]))
            .unwrap();
        terminal.backend().clone()
    }

    #[test]
    fn a_frame_of_a_recording() {
        insta::assert_snapshot!(frame(80, 24));
    }

    #[test]
    fn a_small_terminal_has_the_total_and_the_keys() {
        let shown = frame(80, 9).to_string();
        assert!(
            shown.contains("All requests ") && shown.contains("q quits"),
            "{shown}"
        );
    }
}
