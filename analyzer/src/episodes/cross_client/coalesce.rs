//! Reduces the number of time steps if there are too many. Long steps are kept; short steps between them are merged by
//! kind. So each kind keeps its total time, and only the order of short steps is lost.

/// A step of time with an owner. Times are in nanoseconds.
pub(super) trait TimedStep: Copy {
    /// True if `self` and `other` have the same owner and the same reason.
    fn is_like(&self, other: &Self) -> bool;

    /// True if `self` and `other` have the same owner.
    fn is_akin(&self, other: &Self) -> bool;

    fn start(&self) -> u64;

    fn nanos(&self) -> u64;

    /// Sets the start and the length of the step, in nanoseconds.
    fn lies(&mut self, start: u64, nanos: u64);
}

/// Merges the consecutive steps `all` so that at most `most` steps remain.
pub(super) fn coalesce<S: TimedStep>(mut all: Vec<S>, most: usize) -> Vec<S> {
    let mut long = 1;
    while all.len() > most {
        let mut lengths: Vec<u64> = all.iter().map(TimedStep::nanos).collect();
        lengths.sort_unstable();
        let least = lengths[all.len() / 2].max(1).saturating_mul(long);
        all = together(&all, least);
        if least > lengths[lengths.len() - 1] {
            // If there are too many kinds, the shortest steps are merged with steps of the same owner.
            shorten(&mut all, most);
        }
        long *= 2;
    }
    all
}

/// Merges steps of up to `least` nanoseconds that have the same owner and that no longer step separates.
fn together<S: TimedStep>(all: &[S], least: u64) -> Vec<S> {
    let mut kept = Vec::with_capacity(all.len());
    let short = |one: &S| one.nanos() <= least;
    for run in all.chunk_by(|a, b| short(a) && short(b)) {
        let mut kinds: Vec<S> = Vec::new();
        for one in run {
            match kinds.iter_mut().find(|kind| kind.is_like(one)) {
                Some(kind) => kind.lies(kind.start(), kind.nanos().saturating_add(one.nanos())),
                None => kinds.push(*one),
            }
        }
        let mut start = run.first().map_or(0, TimedStep::start);
        for kind in &mut kinds {
            kind.lies(start, kind.nanos());
            start = start.saturating_add(kind.nanos());
        }
        kept.append(&mut kinds);
    }
    kept
}

fn shorten<S: TimedStep>(all: &mut Vec<S>, most: usize) {
    let mut start = all.first().map_or(0, TimedStep::start);
    let mut longest: Vec<usize> = (0..all.len()).collect();
    longest.sort_by_key(|at| std::cmp::Reverse(all[*at].nanos()));
    let rest = longest.split_off(most.min(longest.len()));
    for from in rest {
        let one = all[from];
        let akin = longest.iter().find(|at| all[**at].is_akin(&one));
        if let Some(to) = akin.or(longest.last()) {
            let to = &mut all[*to];
            to.lies(to.start(), to.nanos().saturating_add(one.nanos()));
        }
    }
    longest.sort_unstable();
    *all = longest.into_iter().map(|at| all[at]).collect();
    for one in all {
        one.lies(start, one.nanos());
        start = start.saturating_add(one.nanos());
    }
}

#[cfg(test)]
mod tests {
    use super::{TimedStep, coalesce};

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct One(char, u64, u64);

    impl TimedStep for One {
        fn is_like(&self, other: &One) -> bool {
            self.0 == other.0
        }

        /// Letters of one case.
        fn is_akin(&self, other: &One) -> bool {
            self.0.is_uppercase() == other.0.is_uppercase()
        }

        fn start(&self) -> u64 {
            self.1
        }

        fn nanos(&self) -> u64 {
            self.2
        }

        fn lies(&mut self, start: u64, nanos: u64) {
            (self.1, self.2) = (start, nanos);
        }
    }

    #[test]
    fn short_steps_coalesce_between_long_steps() {
        let mut all = Vec::new();
        let mut start = 0;
        for n in 0..20 {
            for one in [One('a', start, 1), One('b', start + 1, 2)] {
                all.push(one);
            }
            start += 3;
            if n == 9 {
                all.push(One('c', start, 100));
                start += 100;
            }
        }
        let expected = [
            One('a', 0, 10),
            One('b', 10, 20),
            One('c', 30, 100),
            One('a', 130, 10),
            One('b', 140, 20),
        ];
        assert_eq!(coalesce(all.clone(), 10), expected);
        assert_eq!(coalesce(all.clone(), 100), all);
    }

    #[test]
    fn coalescing_many_kinds_keeps_total_time() {
        let all: Vec<One> = (0..100_u8)
            .map(|n| One(char::from(n), u64::from(n), 1))
            .collect();
        let few = coalesce(all, 10);
        assert_eq!(few.len(), 10);
        assert_eq!(few.iter().map(|one| one.2).sum::<u64>(), 100);
        let letters = "abcXdefYg";
        let kinds = letters.chars().zip(0..);
        let all = kinds.map(|(letter, n)| One(letter, 10 * n, 10));
        let few = coalesce(all.collect(), 4);
        let owned = |is_upper: bool| {
            let of = few.iter().filter(|one| one.0.is_uppercase() == is_upper);
            of.map(|one| one.2).sum::<u64>()
        };
        assert_eq!(
            (few.len(), owned(false), owned(true)),
            (4, 70, 20),
            "{few:?}"
        );
    }
}
