//! Histograms: logarithmic for times, linear with a step width for sizes, as in the paper.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::statistics::distribution::Distribution;

/// Maximum number of cells of a linear histogram, so that it fits on a terminal. The width of the cells grows
/// accordingly.
const CELLS: u64 = 16;

/// A cell of a histogram: a range of values, and the number of values in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The smallest value of the cell.
    pub from: u64,
    /// The upper bound of the cell, which is not part of it.
    pub to: u64,
    /// The number of values in the cell.
    pub count: u64,
}

/// The cells by powers of two, and a cell for zeros. Empty cells in between are included.
pub(crate) fn logarithmic(distribution: &Distribution) -> Vec<Cell> {
    // The cell of zeros is 0, that of values of n bits is n.
    let cell = |value: u64| u64::from(u64::BITS - value.leading_zeros());
    let edge = |cell: u64| match cell {
        0 => 0,
        _ => 1_u64 << (cell - 1),
    };
    let mut cells = gather(distribution, cell, |n| Cell {
        from: edge(n),
        to: if n == 64 { u64::MAX } else { edge(n + 1) },
        count: 0,
    });
    // Between zero and the first time there is no logarithmic scale.
    if cells.len() > 1 && cells[0].from == 0 {
        let next = cells.iter().skip(1).position(|cell| cell.count > 0);
        cells.drain(1..1 + next.unwrap_or(0));
    }
    cells
}

/// The mode of times, which rarely have equal nanoseconds: the median of the values in the fullest cell of
/// [`logarithmic`], or in the smallest of equally full cells.
pub(crate) fn mode_of_times(times: &Distribution) -> Option<u64> {
    let cells = logarithmic(times).into_iter();
    let fullest = cells.max_by_key(|cell| (cell.count, Reverse(cell.from)))?;
    let mut before = 0;
    let counts = times.counts().into_iter();
    counts
        .skip_while(|(value, _)| *value < fullest.from)
        .find(|(_, count)| {
            before += count;
            before * 2 >= fullest.count
        })
        .map(|(value, _)| value)
}

/// The width of the cells, which depends on the range of the values, and the cells.
pub(crate) fn linear(distribution: &Distribution) -> (u64, Vec<Cell>) {
    let Some((_, most)) = distribution.range() else {
        return (1, Vec::new());
    };
    let grain = (most / CELLS + 1).next_power_of_two();
    let cells = gather(
        distribution,
        |value| value / grain,
        |n| Cell {
            from: n * grain,
            to: (n * grain).saturating_add(grain),
            count: 0,
        },
    );
    (grain, cells)
}

/// The cells from the first to the last with values. Empty cells are only kept next to full ones, so there are at most
/// twice as many cells as values.
fn gather(
    distribution: &Distribution,
    cell_of: impl Fn(u64) -> u64,
    empty: impl Fn(u64) -> Cell,
) -> Vec<Cell> {
    let mut cells: Vec<(u64, Cell)> = Vec::new();
    for (value, count) in distribution.counts() {
        let number = cell_of(value);
        match cells.last_mut() {
            Some((last, cell)) if *last == number => cell.count += count,
            last => {
                let last = last.map(|(last, _)| *last);
                if let Some(last) = last
                    && number - last <= CELLS * 4
                {
                    cells.extend((last + 1..number).map(|n| (n, empty(n))));
                }
                cells.push((
                    number,
                    Cell {
                        count,
                        ..empty(number)
                    },
                ));
            }
        }
    }
    cells.into_iter().map(|(_, cell)| cell).collect()
}

#[cfg(test)]
mod tests {
    use super::{Cell, linear, logarithmic, mode_of_times};
    use crate::statistics::distribution::Distribution;

    fn of(values: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        values.iter().for_each(|value| distribution.add(*value));
        distribution
    }

    fn cell(from: u64, to: u64, count: u64) -> Cell {
        Cell { from, to, count }
    }

    #[test]
    fn time_bins_double_in_width() {
        let cells = logarithmic(&of(&[0, 0, 1, 5, 7, 16]));
        assert_eq!(
            cells,
            [
                cell(0, 1, 2),
                cell(1, 2, 1),
                cell(2, 4, 0),
                cell(4, 8, 2),
                cell(8, 16, 0),
                cell(16, 32, 1)
            ]
        );
        assert_eq!(logarithmic(&of(&[u64::MAX]))[0].count, 1);
    }

    #[test]
    fn mode_of_times_is_in_the_fullest_bin() {
        // No two are the same; most are between 1024 and 2048.
        let times = [3, 700, 1100, 1300, 1301, 1900, 40_000];
        assert_eq!(mode_of_times(&of(&times)), Some(1300));
        assert_eq!(mode_of_times(&of(&[0, 0, 0, 5, 6])), Some(0));
        assert_eq!(mode_of_times(&of(&[])), None);
    }

    #[test]
    fn linear_histogram_uses_a_common_bin_width() {
        let (grain, cells) = linear(&of(&[0, 3, 4, 100]));
        assert_eq!(grain, 8);
        // The empty cells next to a full one are included.
        assert_eq!(cells[0], cell(0, 8, 3));
        assert_eq!(cells.last(), Some(&cell(96, 104, 1)));
    }
}
