//! Draws the live view on the terminal.
//!
//! The view is drawn on standard error and on the terminal's alternate screen, so the terminal's previous contents come
//! back.

use std::io::{self, BufWriter};
use std::mem::ManuallyDrop;

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::layout::{Constraint, Layout, Size};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table};
use ratatui::{Frame, Terminal};
use x11prof_analyzer::NowReport;
use x11prof_views::clients_now::{By, Order, answer, basis, headings, rows};
use x11prof_views::plain;
use x11prof_views::units::{counted, duration, number};

use super::choice::{Choice, KEYS};
use crate::say::Stderr;

/// The maximum number of cells of a terminal with a view, which take about 100 bytes each. More are a wrong size.
const MOST_CELLS: u32 = 1 << 20;

/// The screen of a running view. Dropping the value restores the terminal.
pub(super) struct Screen {
    /// Never dropped, because ratatui would then print an error, which blocks if the terminal has stopped.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stderr>>>>,
    notices: Vec<String>,
}

impl Screen {
    /// Switches the terminal to the alternate screen. Fails if the terminal is too large for a view.
    pub(super) fn open() -> io::Result<Screen> {
        let backend = CrosstermBackend::new(BufWriter::new(Stderr));
        if !fits(backend.size()) {
            return Err(io::Error::other("the terminal is too large"));
        }
        let mut terminal = Terminal::new(backend)?;
        execute!(terminal.backend_mut(), EnterAlternateScreen)?;
        Ok(Screen {
            terminal: ManuallyDrop::new(terminal),
            notices: Vec::new(),
        })
    }

    /// Draws a frame. After an error, the next frame is drawn in full.
    pub(super) fn draw(&mut self, shown: &Shown<'_>) {
        if !fits(self.terminal.size()) {
            return;
        }
        // The first notice contains the commands for connecting. If it has several lines, the second one is shown.
        let first = self.notices.first();
        let first = first.and_then(|first| first.lines().take(2).last());
        let latest = self.notices.iter().skip(1).next_back();
        let notices = [first, latest.map(String::as_str)];
        let notices: Vec<&str> = notices.into_iter().flatten().map(str::trim).collect();
        let drawn = self.terminal.draw(|frame| draw(frame, shown, &notices));
        if drawn.is_err() {
            let _ = self.terminal.clear();
        }
    }

    /// Shows a notice until the next notice. The first notice stays until the end.
    pub(super) fn notice(&mut self, notice: String) {
        self.notices.push(notice);
    }

    /// Calls `print` while the terminal shows its normal screen.
    pub(super) fn aside(&mut self, print: impl FnOnce()) {
        let _ = self.terminal.show_cursor();
        let _ = execute!(self.terminal.backend_mut(), LeaveAlternateScreen);
        print();
        let _ = execute!(self.terminal.backend_mut(), EnterAlternateScreen);
        let _ = self.terminal.clear();
    }

    /// Restores the terminal, and prints the notices on the normal screen.
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
        let _ = execute!(self.terminal.backend_mut(), LeaveAlternateScreen);
    }
}

/// True if a view can be drawn on a terminal of this size.
fn fits(size: io::Result<Size>) -> bool {
    size.is_ok_and(|size| u32::from(size.width) * u32::from(size.height) <= MOST_CELLS)
}

/// The contents of a frame.
pub(super) struct Shown<'a> {
    /// The name of the watched display or trace.
    pub(super) what: &'a str,
    /// The figures of the clients.
    pub(super) report: &'a NowReport,
    /// The user's choice of rows.
    pub(super) choice: &'a Choice,
    /// The number of records that the view missed because they arrived too fast.
    pub(super) missed: u64,
    /// The last line that the recorded program wrote.
    pub(super) output: Option<String>,
    /// True if the view reads keys.
    pub(super) keys: bool,
}

/// Draws a frame: the main result, as many rows as fit, the quality of the figures, and the keys.
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
    frame.render_widget(rates(shown), table);
    frame.render_widget(Paragraph::new(Text::from(foot)), bottom);
}

fn head<'a>(shown: &Shown<'_>, notices: &[&'a str]) -> Vec<Line<'a>> {
    let report = shown.report;
    let frozen = match shown.choice.frozen {
        true => " (frozen)",
        false => "",
    };
    let first = format!(
        "{}{frozen}: {:.1} s, over {}: {} requests a second, server {:.0} %",
        plain(shown.what),
        report.at_s,
        duration(report.seconds * 1e3),
        number(report.requests_per_s),
        report.server_ms_per_s / 10.0,
    );
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = vec![Line::styled(first, bold)];
    lines.extend(answer(report).into_iter().map(Line::raw));
    lines.extend(notices.iter().map(|notice| Line::raw(plain(notice))));
    lines
}

fn foot(shown: &Shown<'_>) -> Vec<Line<'static>> {
    let faint = Style::new().add_modifier(Modifier::DIM);
    let mut lines = vec![Line::styled(basis(shown.report), faint)];
    if shown.missed > 0 {
        let missed = counted(shown.missed, "record");
        lines.push(Line::raw(format!(
            "{missed} missed here; the trace has them"
        )));
    }
    if let Some(output) = &shown.output {
        lines.push(Line::raw(format!("Output: {}", plain(output))));
    }
    let filter = &shown.choice.filter;
    match (shown.choice.typing, shown.choice.wanted()) {
        (true, _) => lines.push(Line::raw(format!(
            "Filter: {filter}_ (Enter ends, Escape drops)"
        ))),
        (false, Some(filter)) => {
            lines.push(Line::raw(format!("Only what has {filter:?} in a name")))
        }
        (false, None) => {}
    }
    match shown.keys {
        true => lines.extend(KEYS.map(|line| Line::styled(line, faint))),
        false => lines.push(Line::styled(
            "SIGUSR1 prints the report, SIGUSR2 starts afresh, Ctrl-C ends",
            faint,
        )),
    }
    lines
}

/// Returns the widths of the columns for rows of the kind `by`.
fn widths(by: By) -> Vec<Constraint> {
    let fixed = |width| Constraint::Length(width);
    match by {
        By::Client => vec![
            Constraint::Min(12),
            fixed(7),
            fixed(6),
            fixed(7),
            fixed(8),
            fixed(9),
            fixed(9),
            Constraint::Fill(2),
        ],
        By::Window => vec![Constraint::Fill(1), fixed(15), fixed(6), fixed(7), fixed(9)],
        By::Request => vec![
            Constraint::Fill(1),
            fixed(15),
            fixed(6),
            fixed(7),
            fixed(8),
            fixed(9),
        ],
    }
}

fn rates<'a>(shown: &Shown<'_>) -> Table<'a> {
    let choice = shown.choice;
    let by = choice.by;
    // Texts are aligned left, numbers right.
    let is_text = move |column: usize| match by {
        By::Client => column == 0 || column == 7,
        By::Window | By::Request => column < 2,
    };
    let cell = move |column: usize, text: String| match is_text(column) {
        true => Cell::from(text),
        false => Cell::from(Text::from(text).right_aligned()),
    };
    let mut all = rows(shown.report, by, choice.order);
    // Frozen figures were made without the filter.
    if let Some(filter) = choice.wanted().filter(|_| choice.frozen) {
        let filter = filter.to_lowercase();
        let holds = |text: &String| text.to_lowercase().contains(&filter);
        all.retain(|row| row.cells.iter().any(holds));
    }
    let lines = all.into_iter().map(move |row| {
        let cells = row.cells.into_iter().enumerate();
        Cells::new(cells.map(|(column, text)| cell(column, text)))
    });
    // Marks the column by which rows are sorted.
    let heading = |(column, (text, order)): (usize, (&str, Option<Order>))| {
        let text = match order == Some(choice.order) {
            true => format!("▾{text}"),
            false => text.to_owned(),
        };
        cell(column, text)
    };
    let headings = headings(by).into_iter().enumerate().map(heading);
    Table::new(lines, widths(by))
        .header(Cells::new(headings).style(Style::new().add_modifier(Modifier::REVERSED)))
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use x11prof_analyzer::{FRAME_MS, LiveProfile, NowOptions, NowReport, TimeSourceOption};
    use x11prof_cost_model::{Substitutions, built_in};
    use x11prof_trace::Reader;
    use x11prof_views::clients_now::{By, Order};

    use super::{Shown, draw};
    use crate::live::choice::Choice;

    /// The figures of a recording with one client.
    fn report(filter: Option<&str>) -> NowReport {
        let bytes = include_bytes!("../../tests/data/xterm.mcap");
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        let sun = built_in().iter().find(|known| known.name == "sun4-ipc");
        let parameters = sun.unwrap().parameters().unwrap();
        let options = NowOptions {
            seconds: 2.0,
            frame_ms: FRAME_MS,
            basis: TimeSourceOption::Timed,
        };
        let mut profile = LiveProfile::new(&parameters, &Substitutions::default(), &options);
        while let Some(record) = reader.next().unwrap() {
            profile.feed(record);
        }
        profile.end();
        profile.now(filter)
    }

    /// A frame on a terminal of this many columns and lines.
    fn frame(columns: u16, lines: u16, choice: &Choice, keys: bool) -> TestBackend {
        let shown = Shown {
            what: "x11prof.mcap",
            report: &report(choice.wanted()),
            choice,
            missed: 0,
            output: Some("Warning: Missing charsets in String to FontSet conversion".to_owned()),
            keys,
        };
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        terminal
            .draw(|frame| draw(frame, &shown, &["client 1: xterm"]))
            .unwrap();
        terminal.backend().clone()
    }

    #[test]
    fn recording_frames_match_the_snapshots() {
        insta::assert_snapshot!(frame(80, 24, &Choice::default(), true));
        let choice = Choice {
            by: By::Request,
            order: Order::Bytes,
            filter: "poly".to_owned(),
            ..Choice::default()
        };
        insta::assert_snapshot!(frame(80, 14, &choice, true));
    }

    #[test]
    fn small_terminal_shows_the_first_client_and_keys() {
        let shown = frame(80, 11, &Choice::default(), true).to_string();
        assert!(
            shown.contains("xterm  ") && shown.contains("q quits"),
            "{shown}"
        );
    }
}
