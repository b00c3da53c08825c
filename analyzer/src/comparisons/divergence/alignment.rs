//! Aligns two sequences of messages into equal messages and messages in only one sequence.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The number of messages that are aligned at once after a difference. The time is quadratic in this number.
const WINDOW: usize = 2000;

/// The alignment of two sequences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Alignment {
    /// The indices of equal messages in the first and the second sequence, in order.
    pub(super) equal: Vec<(usize, usize)>,
    /// The ranges of messages that only one sequence has.
    pub(super) hunks: Vec<Hunk>,
}

/// A range of each sequence in which no messages are equal; one of the two ranges can be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) reference: Range<usize>,
    pub(super) other: Range<usize>,
}

/// Aligns two sequences of message digests by Myers' algorithm (1986), a window at a time.
pub(super) fn align(reference: &[u64], other: &[u64]) -> Alignment {
    let mut alignment = Alignment::default();
    let (mut i, mut j) = (0, 0);
    while i < reference.len() || j < other.len() {
        if i < reference.len() && j < other.len() && reference[i] == other[j] {
            alignment.equal.push((i, j));
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let a = &reference[i..reference.len().min(i + WINDOW)];
        let b = &other[j..other.len().min(j + WINDOW)];
        let is_last = i + a.len() == reference.len() && j + b.len() == other.len();
        let ops = capture_diff_slices(Algorithm::Myers, a, b);
        // After the last equal message, the alignment depends on the end of the window, so the next window starts
        // there.
        let last_equal = ops
            .iter()
            .rposition(|op| matches!(op, DiffOp::Equal { .. }));
        let kept = match last_equal {
            _ if is_last => ops.len(),
            Some(last) => last + 1,
            None => ops.len(),
        };
        let (from_i, from_j) = (i, j);
        for op in &ops[..kept] {
            let (old, new) = (op.old_range(), op.new_range());
            let reference = from_i + old.start..from_i + old.end;
            let other = from_j + new.start..from_j + new.end;
            (i, j) = (reference.end, other.end);
            match op {
                DiffOp::Equal { .. } => alignment.equal.extend(reference.zip(other)),
                _ => alignment.add(Hunk { reference, other }),
            }
        }
    }
    alignment
}

impl Alignment {
    /// Adds a hunk, or extends the previous hunk if the two hunks touch.
    fn add(&mut self, hunk: Hunk) {
        match self.hunks.last_mut() {
            Some(last)
                if last.reference.end == hunk.reference.start
                    && last.other.end == hunk.other.start =>
            {
                last.reference.end = hunk.reference.end;
                last.other.end = hunk.other.end;
            }
            _ => self.hunks.push(hunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Alignment, Hunk, WINDOW, align};

    #[test]
    fn equal_sequences_have_no_hunks() {
        let all = [1, 2, 3];
        let expected = Alignment {
            equal: vec![(0, 0), (1, 1), (2, 2)],
            hunks: Vec::new(),
        };
        assert_eq!(align(&all, &all), expected);
    }

    #[test]
    fn missing_changed_and_added_messages_are_hunks() {
        let alignment = align(&[1, 2, 3, 4, 5], &[1, 3, 9, 5, 6]);
        let hunks = [(1..2, 1..1), (3..4, 2..3), (5..5, 4..5)];
        let hunks = hunks.map(|(reference, other)| Hunk { reference, other });
        assert_eq!(alignment.hunks, hunks);
        assert_eq!(alignment.equal, [(0, 0), (2, 1), (4, 3)]);
    }

    #[test]
    fn disjoint_sequences_are_one_hunk() {
        let ones: Vec<u64> = vec![1; 2 * WINDOW + 10];
        let twos: Vec<u64> = vec![2; WINDOW / 2];
        let alignment = align(&ones, &twos);
        assert!(alignment.equal.is_empty());
        let hunk = Hunk {
            reference: 0..ones.len(),
            other: 0..twos.len(),
        };
        assert_eq!(alignment.hunks, [hunk]);
    }
}
