//! A table of text whose columns are aligned, and which is never wider than the page.

use unicode_width::UnicodeWidthStr;

use crate::page::{Page, Style, cut};
use crate::plain::plain;

/// The space between two columns.
const GAP: usize = 2;
/// The width to which the first column is shortened before another column is dropped.
const NAME: usize = 24;
/// The minimum and the maximum width of bars, in columns.
const BARS: (usize, usize) = (8, 24);

/// A table whose first column is aligned left and whose other columns are aligned right, with optional bars at the end.
/// On a narrow page the first column is shortened, then the least important columns are dropped.
#[derive(Debug, Default)]
pub(crate) struct Table {
    headings: Vec<String>,
    rows: Vec<Row>,
    /// The indices of the columns that a narrow page drops, in the order in which they are dropped.
    spare: Vec<usize>,
    /// The indices of further columns that are aligned left.
    left: Vec<usize>,
}

#[derive(Debug)]
struct Row {
    cells: Vec<String>,
    bar: Option<f64>,
    bold: bool,
}

impl Table {
    /// Creates a table with these headings.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Table {
        let mut table = Table::default();
        table.headings(headings.iter().map(|heading| (*heading).to_owned()));
        table
    }

    /// Sets the columns that a narrow page may drop, in this order.
    pub(crate) fn spare<const N: usize>(mut self, columns: [usize; N]) -> Table {
        self.spare = columns.to_vec();
        self
    }

    /// Aligns the text of the columns with these indexes to the left.
    pub(crate) fn left<const N: usize>(mut self, columns: [usize; N]) -> Table {
        self.left = columns.to_vec();
        self
    }

    /// Adds a row with these cells.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter();
        self.rows.push(Row {
            cells: cells.map(|cell| plain(&cell).into_owned()).collect(),
            bar: None,
            bold: false,
        });
    }

    /// Adds a bar to the last row; its length is `part`, from 0 to 1.
    pub(crate) fn bar(&mut self, part: f64) {
        if let Some(row) = self.rows.last_mut() {
            row.bar = Some(part.clamp(0.0, 1.0));
        }
    }

    /// Removes the bar of the last row.
    pub(crate) fn no_bar(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.bar = None;
        }
    }

    /// Prints the last row of the table in bold.
    pub(crate) fn bold(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.bold = true;
        }
    }

    /// Adds columns with these headings at the right.
    pub(crate) fn headings(&mut self, more: impl IntoIterator<Item = String>) {
        let more = more.into_iter().map(|heading| plain(&heading).into_owned());
        self.headings.extend(more);
    }

    /// Formats the table for `page`.
    pub(crate) fn on(&self, page: &Page) -> String {
        let columns = self.headings.len();
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
            let widths = cells
                .chain(self.headings.get(column))
                .map(|cell| cell.width());
            widths.max().unwrap_or_default()
        };
        let mut widths: Vec<Option<usize>> = (0..columns).map(|at| Some(widest(at))).collect();
        // The spare columns are dropped first, then any column from the right, but never the first two.
        let mut goes = self.spare.iter().copied().chain((2..columns).rev());
        while needed(&widths, NAME) > page.columns() {
            match goes.next() {
                Some(column) => widths[column] = None,
                None => break,
            }
        }
        let over = needed(&widths, usize::MAX).saturating_sub(page.columns());
        if let Some(Some(first)) = widths.first_mut() {
            *first = first.saturating_sub(over).max(1);
        }
        let left = page.columns() - needed(&widths, usize::MAX).min(page.columns());
        let bars = match left.saturating_sub(GAP).min(BARS.1) {
            room if room < BARS.0 => 0,
            room => room,
        };
        let mut text = String::new();
        if self.headings.iter().any(|heading| !heading.is_empty()) {
            let line = self.line(&self.headings, &widths);
            text.push_str(&page.paint(Style::Bold, line.trim_end()));
            text.push('\n');
        }
        for row in &self.rows {
            let line = self.line(&row.cells, &widths);
            let bar = row.bar.map_or_else(String::new, |part| bar(part, bars));
            let line = match bar.is_empty() {
                true => line.trim_end().to_owned(),
                false => format!("{line}{}", " ".repeat(GAP)),
            };
            let line = if row.bold {
                page.paint(Style::Bold, &line)
            } else {
                line
            };
            text.push_str(&line);
            text.push_str(&page.paint(Style::Bar, &bar));
            text.push('\n');
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[Option<usize>]) -> String {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let Some(width) = width else { continue };
            let cell = cut(cell, *width);
            let blank = " ".repeat(width - cell.width());
            if at > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            match at == 0 || self.left.contains(&at) {
                true => line.extend([cell.as_str(), &blank]),
                false => line.extend([blank.as_str(), &cell]),
            }
        }
        line
    }
}

/// Returns the width that the columns of `widths` need, with the first column limited to `name` characters.
fn needed(widths: &[Option<usize>], name: usize) -> usize {
    let all = widths.iter().flatten();
    let first = widths.first().copied().flatten().unwrap_or_default();
    let gaps = widths.iter().flatten().count().saturating_sub(1) * GAP;
    all.sum::<usize>() - first + first.min(name) + gaps
}

/// A bar of at most `width` columns, in eighths of a column. A value above zero is always visible.
fn bar(part: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part * width as f64 * 8.0).round() as usize;
    let eighths = match width {
        0 => 0,
        _ => eighths.max(usize::from(part > 0.0)),
    };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::Table;
    use crate::page::Page;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["Name", "n"]);
        table.row(["a".to_owned(), "100".to_owned()]);
        table.row(["longer".to_owned(), String::new()]);
        assert_eq!(
            table.on(&Page::default()),
            "Name      n\na       100\nlonger\n"
        );
    }

    #[test]
    fn narrow_page_shortens_names_then_drops_columns() {
        let cells = |name: &str| [name, "1111111", "2222222", "3333333"].map(str::to_owned);
        let mut table = Table::new(["Name", "first", "second", "third"]).spare([2]);
        table.row(cells("RENDER:CompositeGlyphs16 and more"));
        let on = |width| {
            table.on(&Page {
                width,
                ..Page::default()
            })
        };
        assert!(on(80).contains("and more  1111111  2222222  3333333"));
        assert!(on(52).contains("…") && on(52).contains("2222222"));
        assert!(!on(45).contains("2222222") && on(45).contains("3333333"));
        assert!(!on(10).contains("3333333") && on(10).contains("1111111"));
        for width in 40..100 {
            let text = on(width);
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{text}"
            );
        }
    }

    #[test]
    fn bars_fill_the_remaining_width() {
        let mut table = Table::new(["Name", "n"]);
        for (name, part) in [("all", 1.0), ("half", 0.5), ("little", 1e-9), ("none", 0.0)] {
            table.row([name.to_owned(), "1".to_owned()]);
            table.bar(part);
        }
        let text = table.on(&Page {
            width: 40,
            ..Page::default()
        });
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0], format!("all     1  {}", "█".repeat(24)));
        assert_eq!(lines[1], format!("half    1  {}", "█".repeat(12)));
        assert_eq!(lines[2..], ["little  1  ▏", "none    1"]);
    }
}
