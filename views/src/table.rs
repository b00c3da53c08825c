//! Columns of text, aligned.

use std::borrow::Cow;
use std::fmt;

use comfy_table::{CellAlignment, ContentArrangement};

/// A table with its first column to the left and all others to the right.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    /// A table with these headings.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Table {
        Table(vec![
            headings
                .iter()
                .map(|heading| plain(heading).into_owned())
                .collect(),
        ])
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter();
        self.0
            .push(cells.map(|cell| plain(&cell).into_owned()).collect());
    }

    /// Adds headings at the right.
    pub(crate) fn headings(&mut self, more: impl IntoIterator<Item = String>) {
        if let Some(headings) = self.0.first_mut() {
            headings.extend(more);
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table
            .load_style(comfy_table::presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .add_rows(&self.0);
        for (number, column) in table.column_iter_mut().enumerate() {
            if number == 0 {
                column.set_padding((0, 0));
            } else {
                column.set_padding((2, 0));
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        writeln!(f, "{}", table.trim_fmt())
    }
}

/// `text` without control characters: names in a trace may hold any bytes, and a terminal obeys
/// some of them. Each becomes a question mark.
pub fn plain(text: &str) -> Cow<'_, str> {
    without(text, char::is_control)
}

/// The same, but line feeds stay.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    without(text, |c| c.is_control() && c != '\n')
}

fn without(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.chars().any(&bad) {
        true => Cow::Owned(text.chars().map(|c| if bad(c) { '?' } else { c }).collect()),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Table, plain, plain_lines};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["Name", "n"]);
        table.row(["a".to_owned(), "100".to_owned()]);
        table.row(["longer".to_owned(), String::new()]);
        assert_eq!(table.to_string(), "Name      n\na       100\nlonger\n");
    }

    #[test]
    fn terminal_controls_in_names_are_disarmed() {
        assert_eq!(plain("\u{1b}[2J"), "?[2J");
        assert_eq!(plain("RENDER"), "RENDER");
        assert_eq!(plain("two\nlines\u{9b}"), "two?lines?");
        assert_eq!(plain_lines("two\nlines\u{9b}\r"), "two\nlines??");
    }
}
