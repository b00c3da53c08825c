//! Converts episodes and sessions to the cells of table rows, and cells to episodes.

use super::columns::Cell;
use crate::episode_row::{EpisodeRow, PARTS};
use crate::session::Session;

fn number(cell: Option<&Cell<'_>>) -> u64 {
    match cell {
        Some(Cell::Integer(value)) => u64::try_from(*value).unwrap_or(0),
        _ => 0,
    }
}

fn text<'a>(cell: Option<&Cell<'a>>) -> Option<&'a str> {
    match cell {
        Some(Cell::Text(text)) => Some(text),
        _ => None,
    }
}

impl EpisodeRow {
    /// The cells of the episode's row in the table `episodes`, in the order of its columns.
    pub fn cells<'a>(&'a self, session: &'a Session) -> Vec<Cell<'a>> {
        let mut cells = vec![
            Cell::Text(&session.id),
            Cell::Text(&session.trace),
            Cell::text(self.program.as_deref()),
            Cell::number(u64::from(self.client)),
            Cell::Text(&self.landmark),
            Cell::Text(&self.trigger),
            Cell::Text(&self.pattern),
            Cell::Text(&self.blame),
            Cell::number(self.start),
            Cell::number(self.latency),
            Cell::number(self.threshold),
        ];
        cells.extend(self.parts.map(Cell::number));
        cells.extend([
            Cell::number(self.round_trips),
            Cell::number(self.requests),
            Cell::number(self.bytes),
            Cell::text(self.unsure.as_deref()),
            Cell::text(self.led_to_by.as_deref()),
        ]);
        cells
    }
}

impl<'a> EpisodeRow<&'a str> {
    /// Converts the cells of a row of the table `episodes`. Returns the id of the session, the path of the trace, and
    /// the episode.
    pub fn from_cells(cells: &[Cell<'a>]) -> (&'a str, &'a str, EpisodeRow<&'a str>) {
        let of = |at: usize| cells.get(at);
        let name = |at: usize| text(of(at)).unwrap_or_default();
        let row = EpisodeRow {
            program: text(of(2)),
            client: u32::try_from(number(of(3))).unwrap_or(0),
            landmark: name(4),
            trigger: name(5),
            pattern: name(6),
            blame: name(7),
            start: number(of(8)),
            latency: number(of(9)),
            threshold: number(of(10)),
            parts: std::array::from_fn(|part| number(of(11 + part))),
            round_trips: number(of(11 + PARTS)),
            requests: number(of(12 + PARTS)),
            bytes: number(of(13 + PARTS)),
            unsure: text(of(14 + PARTS)),
            led_to_by: text(of(15 + PARTS)),
            waited_in: None,
            ran_in: None,
        };
        (name(0), name(1), row)
    }
}

impl Session {
    /// The cells of the session's row in the table `sessions`, in the order of its columns.
    pub fn cells(&self) -> Vec<Cell<'_>> {
        vec![
            Cell::Text(&self.id),
            Cell::Text(&self.trace),
            Cell::number(self.started),
            Cell::number(self.duration),
            Cell::number(self.episodes),
            Cell::number(u64::from(self.complete)),
        ]
    }
}
