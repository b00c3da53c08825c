//! A histogram as lines of text with bars.

use x11prof_analyzer::Cell;

/// The widest bar, in characters.
const WIDEST: u64 = 40;

/// The cells of a histogram as lines with bars. `edge` formats the bounds of a cell.
pub(crate) fn bars(cells: &[Cell], edge: impl Fn(u64) -> String) -> String {
    let most = cells.iter().map(|cell| cell.count).max().unwrap_or(0);
    let labels: Vec<(String, String)> = cells
        .iter()
        .map(|cell| (edge(cell.from), edge(cell.to)))
        .collect();
    let width = labels
        .iter()
        .map(|(from, to)| from.len().max(to.len()))
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (cell, (from, to)) in cells.iter().zip(&labels) {
        // A count above zero has a visible bar.
        let bar = (cell.count.saturating_mul(WIDEST))
            .checked_div(most)
            .unwrap_or(0)
            .max(u64::from(cell.count > 0));
        let bar = "#".repeat(bar as usize);
        let line = format!("  {from:>width$} - {to:>width$} {:>9}  {bar}", cell.count);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Cell, bars};

    fn cell(from: u64, to: u64, count: u64) -> Cell {
        Cell { from, to, count }
    }

    #[test]
    fn bar_lengths_are_proportional_to_counts() {
        let text = bars(&[cell(0, 4, 40), cell(4, 8, 1)], |edge| edge.to_string());
        assert_eq!(
            text,
            format!(
                "  0 - 4        40  {}\n  4 - 8         1  #\n",
                "#".repeat(40)
            )
        );
    }
}
