//! The terminal's screen of a live profile.
//!
//! Drawn on standard error, on the alternate screen, so that what was there comes back. Keys are
//! the recorded program's: the terminal is not put into raw mode, and Ctrl-C ends the recording
//! as ever.

use std::io::{self, Stderr};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use ratatui::{Frame, Terminal};
use x11prof_analyzer::ProfileReport;
use x11prof_views::plain;

/// The screen while it shows; dropped, it gives the terminal back.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    notices: Vec<String>,
}

impl Screen {
    /// Takes the terminal's screen.
    pub(crate) fn open() -> io::Result<Screen> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stderr()))?;
        execute!(io::stderr(), EnterAlternateScreen)?;
        Ok(Screen {
            terminal,
            notices: Vec::new(),
        })
    }

    /// Draws what came so far. A terminal that cannot be drawn on is left as it is.
    pub(crate) fn draw(&mut self, report: &ProfileReport, missed: u64) {
        // The first says what to connect to; of several lines the second one does.
        let first = self.notices.first();
        let first = first.and_then(|first| first.lines().take(2).last());
        let latest = self.notices.iter().skip(1).next_back();
        let notices = [first, latest.map(String::as_str)].map(Option::unwrap_or_default);
        let _ = self
            .terminal
            .draw(|frame| draw(frame, report, missed, notices));
    }

    /// Shows a notice until the next; the first one stays.
    pub(crate) fn notice(&mut self, notice: String) {
        self.notices.push(notice);
    }

    /// Does what prints, on the screen that was there before.
    pub(crate) fn aside(&mut self, print: impl FnOnce()) {
        let _ = execute!(io::stderr(), LeaveAlternateScreen);
        print();
        let _ = execute!(io::stderr(), EnterAlternateScreen);
        let _ = self.terminal.clear();
    }

    /// Gives the terminal back, and says there what was said meanwhile.
    pub(crate) fn close(mut self) {
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

/// One frame: what is recorded, the requests that fit, the total and how good it is.
fn draw(frame: &mut Frame<'_>, report: &ProfileReport, missed: u64, notices: [&str; 2]) {
    let [head, table, foot] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Fill(1),
        Constraint::Length(3),
    ])
    .areas(frame.area());
    let (trace, total) = (&report.trace, &report.total);
    let lines = vec![
        Line::styled(
            format!(
                "x11prof  recording {}  {:.1} s  connections: {}  requests: {}",
                plain(&trace.path),
                trace.duration_ms / 1e3,
                trace.connection_count,
                total.count,
            ),
            Style::new().add_modifier(Modifier::BOLD),
        ),
        Line::raw(format!("Server parameters: {}", plain(&report.server.name))),
        Line::raw(plain(notices[0])),
        Line::raw(plain(notices[1])),
    ];
    frame.render_widget(Paragraph::new(Text::from(lines)), head);
    frame.render_widget(requests(report), table);

    let kernel = total.server_cpu_ms.map_or_else(String::new, |kernel| {
        format!(", by the kernel {kernel:.3} ms of CPU time")
    });
    let missing = if missed > 0 {
        format!("  {missed} records missed here; the trace has them")
    } else {
        String::new()
    };
    let lines = vec![
        Line::raw(format!(
            "Server: estimated {:.3} ms{kernel}; {} requests unpriced",
            total.server_ms, total.unpriced
        )),
        Line::raw(format!(
            "Transport: {:.3} ms; {} wakeups, {} replies, {} events",
            report.transport.time_ms,
            report.transport.wakeups,
            report.transport.replies,
            report.transport.events
        )),
        Line::raw(format!(
            "SIGUSR1 prints the report, SIGUSR2 starts afresh, Ctrl-C ends{missing}"
        )),
    ];
    frame.render_widget(Paragraph::new(Text::from(lines)), foot);
}

fn requests(report: &ProfileReport) -> Table<'_> {
    let right = |text: String| Cell::from(Text::from(text).right_aligned());
    let rows = report.requests.iter().map(|line| {
        Row::new([
            Cell::from(plain(&line.name)),
            right(format!("{:.3}", line.time_ms)),
            right(format!("{:.2}%", line.percent_of_time)),
            right(line.count.to_string()),
            right(format!("{:.2}%", line.percent_of_count)),
            right(format!("{:.6}", line.ms_per_call)),
        ])
    });
    let widths = [
        Constraint::Min(24),
        Constraint::Length(12),
        Constraint::Length(10),
        Constraint::Length(11),
        Constraint::Length(10),
        Constraint::Length(14),
    ];
    let headings = [
        "Time (ms)",
        "% of total",
        "No. of msgs",
        "% of total",
        "Time/call (ms)",
    ];
    let headings = headings.map(|heading| right(heading.to_owned()));
    let headings = std::iter::once(Cell::from("Request Name")).chain(headings);
    Table::new(rows, widths)
        .header(Row::new(headings).style(Style::new().add_modifier(Modifier::REVERSED)))
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use x11prof_analyzer::LiveProfile;
    use x11prof_cost_model::{Network, Substitutions, built_in};
    use x11prof_trace::Reader;

    use super::draw;

    #[test]
    fn a_frame_of_a_recording() {
        let bytes = include_bytes!("../tests/data/xclock.mcap");
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        let sun = built_in().iter().find(|known| known.name == "sun4-ipc");
        let parameters = sun.unwrap().parameters().unwrap();
        let mut profile = LiveProfile::new(&parameters, &Substitutions::default());
        while let Some(record) = reader.next().unwrap() {
            profile.feed(record);
        }
        profile.end();
        let report = profile.report("x11prof.mcap", &Network::NONE, false);
        let mut terminal = Terminal::new(TestBackend::new(90, 16)).unwrap();
        terminal
            .draw(|frame| draw(frame, &report, 0, ["", "client 1: xclock"]))
            .unwrap();
        insta::assert_snapshot!(terminal.backend());
    }
}
