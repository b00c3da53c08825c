//! Aligns two sequences of messages into equal messages and messages in only one sequence.

use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Maximum number of messages of each sequence that are aligned at once after a difference. The time is quadratic in
/// this number.
const WINDOW: usize = 2000;
/// After each multiple of this number of steps, the window is halved, down to a minimum size, to limit the time.
const STEPS: u64 = 1 << 25;
const LEAST_WINDOW: usize = 16;

/// The alignment of two sequences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Alignment {
    /// The indices of equal messages in the first and the second sequence, in order.
    pub(super) equal: Vec<(usize, usize)>,
    /// The ranges of messages that only one sequence has.
    pub(super) hunks: Vec<Hunk>,
}

/// A difference: a range of each sequence without equal messages. One of the two ranges can be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) reference: Range<usize>,
    pub(super) other: Range<usize>,
}

/// Aligns two sequences of message digests by Myers' algorithm (1986), a window at a time. `steps` is the number of steps
/// of all alignments so far: recordings without much in common are aligned in smaller windows, so that the time is
/// limited.
pub(super) fn align<T: Eq + Hash + Ord>(left: &[T], right: &[T], steps: &mut u64) -> Alignment {
    let mut alignment = Alignment::default();
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if left[i] == right[j] {
            alignment.equal.push((i, j));
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let window = (WINDOW >> (*steps / STEPS).min(31)).max(LEAST_WINDOW);
        let a = &left[i..left.len().min(i + window)];
        let b = &right[j..right.len().min(j + window)];
        let is_last = i + a.len() == left.len() && j + b.len() == right.len();
        let ops = capture_diff_slices(Algorithm::Myers, a, b);
        let equal = ops.iter().filter(|op| matches!(op, DiffOp::Equal { .. }));
        let equal: usize = equal.map(|op| 2 * op.old_range().len()).sum();
        let both = a.len() + b.len();
        // The algorithm takes up to this many steps in both directions and all recursions.
        *steps = steps.saturating_add((both * (both - equal) / 2) as u64);
        // After the last equal message, the alignment depends on the end of the window, so the next window starts
        // there.
        let is_kept = |op: &DiffOp| is_last || matches!(op, DiffOp::Equal { .. });
        let kept = ops.iter().rposition(is_kept).map_or(ops.len(), |at| at + 1);
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
    if i < left.len() || j < right.len() {
        let (reference, other) = (i..left.len(), j..right.len());
        alignment.add(Hunk { reference, other });
    }
    alignment.with_late_hunks(left, right)
}

impl Hunk {
    /// True if no equal message is between this hunk and the `next` one.
    fn touches(&self, next: &Hunk) -> bool {
        self.reference.end == next.reference.start && self.other.end == next.other.start
    }

    /// Adds the `next` hunk, which this hunk touches.
    fn extend(&mut self, next: Hunk) {
        self.reference.end = next.reference.end;
        self.other.end = next.other.end;
    }
}

impl Alignment {
    /// The same alignment with each one-sided hunk as late as possible: if the extra messages repeat earlier ones, the
    /// first difference is where the sequences stop being equal.
    fn with_late_hunks<T: Eq>(mut self, left: &[T], right: &[T]) -> Alignment {
        let mut hunks = std::mem::take(&mut self.hunks).into_iter().peekable();
        while let Some(mut hunk) = hunks.next() {
            loop {
                let end = hunks.peek().map_or(left.len(), |next| next.reference.start);
                self.shift(&mut hunk, end, left, right);
                let Some(next) = hunks.next_if(|next| hunk.touches(next)) else {
                    break;
                };
                hunk.extend(next);
            }
            self.hunks.push(hunk);
        }
        self
    }

    /// Moves a one-sided hunk behind as many of the following equal messages as possible, up to the message `end` of the
    /// first sequence.
    fn shift<T: Eq>(&mut self, hunk: &mut Hunk, end: usize, left: &[T], right: &[T]) {
        let first = self
            .equal
            .partition_point(|pair| pair.0 < hunk.reference.end);
        let extra = (hunk.reference.len(), hunk.other.len());
        let following = self.equal[first..].iter_mut();
        for pair in following.take_while(|pair| pair.0 < end) {
            let (i, j) = *pair;
            let earlier = match extra {
                (count @ 1.., 0) if left[i - count] == left[i] => (i - count, j),
                (0, count @ 1..) if right[j - count] == right[j] => (i, j - count),
                _ => break,
            };
            *pair = earlier;
            hunk.reference = earlier.0 + 1..i + 1;
            hunk.other = earlier.1 + 1..j + 1;
        }
    }

    /// Adds a hunk, or extends the previous hunk if the two hunks touch.
    fn add(&mut self, hunk: Hunk) {
        match self.hunks.last_mut() {
            Some(last) if last.touches(&hunk) => last.extend(hunk),
            _ => self.hunks.push(hunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{Alignment, Hunk, LEAST_WINDOW, STEPS, WINDOW, align};

    #[test]
    fn equal_sequences_have_no_hunks() {
        let all = [1, 2, 3];
        let expected = Alignment {
            equal: vec![(0, 0), (1, 1), (2, 2)],
            hunks: Vec::new(),
        };
        assert_eq!(align(&all, &all, &mut 0), expected);
    }

    #[test]
    fn missing_changed_and_added_messages_are_hunks() {
        let alignment = align(&[1, 2, 3, 4, 5], &[1, 3, 9, 5, 6], &mut 0);
        let hunks = [(1..2, 1..1), (3..4, 2..3), (5..5, 4..5)];
        let hunks = hunks.map(|(reference, other)| Hunk { reference, other });
        assert_eq!(alignment.hunks, hunks);
        assert_eq!(alignment.equal, [(0, 0), (2, 1), (4, 3)]);
    }

    #[test]
    fn extra_messages_that_repeat_earlier_ones_are_at_the_end() {
        let (long, short) = ([1, 2, 3, 2, 3, 4], [1, 2, 3, 4]);
        let hunk = |alignment: Alignment| (alignment.hunks, alignment.equal);
        let equal = vec![(0, 0), (1, 1), (2, 2), (5, 3)];
        let reference = vec![Hunk {
            reference: 3..5,
            other: 3..3,
        }];
        assert_eq!(hunk(align(&long, &short, &mut 0)), (reference, equal));
        let other = vec![Hunk {
            reference: 3..3,
            other: 3..5,
        }];
        let equal = vec![(0, 0), (1, 1), (2, 2), (3, 5)];
        assert_eq!(hunk(align(&short, &long, &mut 0)), (other, equal));
    }

    #[test]
    fn end_of_a_shorter_sequence_is_not_aligned_with_later_repetitions() {
        let hunk = |(reference, other)| Hunk { reference, other };
        let scattered = Alignment {
            equal: vec![(3, 0), (5, 1)],
            hunks: [(0..3, 0..0), (4..5, 1..1), (6..7, 2..2)].map(hunk).into(),
        };
        let late = Alignment {
            equal: vec![(0, 0), (1, 1)],
            hunks: vec![hunk((2..7, 2..2))],
        };
        let (long, short) = ([1, 2, 7, 1, 8, 2, 9], [1, 2]);
        assert_eq!(scattered.with_late_hunks(&long, &short), late);
    }

    #[test]
    fn disjoint_sequences_are_one_hunk() {
        let ones: Vec<u64> = vec![1; 2 * WINDOW + 10];
        let twos: Vec<u64> = vec![2; WINDOW / 2];
        let alignment = align(&ones, &twos, &mut 0);
        assert!(alignment.equal.is_empty());
        let hunk = Hunk {
            reference: 0..ones.len(),
            other: 0..twos.len(),
        };
        assert_eq!(alignment.hunks, [hunk]);
    }
    thread_local! {
        static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    /// A message that counts its comparisons.
    #[derive(Debug, Eq, PartialOrd, Ord, Hash)]
    #[allow(clippy::derived_hash_with_manual_eq, reason = "equal if derived")]
    struct Counted(u64);

    impl PartialEq for Counted {
        fn eq(&self, other: &Counted) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    #[test]
    fn different_sequences_take_a_limited_number_of_steps() {
        // Every tenth message is equal.
        let of = |side: u64| -> Vec<Counted> {
            let all = (0..20_000).map(|at| 2 * at + u64::from(at % 10 != 0) * side);
            all.map(Counted).collect()
        };
        let (first, second) = (of(0), of(1));
        let mut last = u64::MAX;
        for halvings in [1, 3, 5, 7, u64::MAX / STEPS] {
            let mut steps = halvings * STEPS;
            COMPARED.set(0);
            let alignment = align(&first, &second, &mut steps);
            let compared = COMPARED.get();
            assert_eq!(alignment.equal.len(), 2000);
            let size = (WINDOW >> halvings.min(31)).max(LEAST_WINDOW) as u64;
            assert!(compared <= 4 * size * 20_000, "{compared} with {size}");
            assert!(compared <= last, "{compared}, {last}");
            last = compared;
        }
    }
}
