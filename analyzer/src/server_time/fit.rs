//! Corrects the costs with the recording's own runs before attribution.
//!
//! A cost may come from another machine, or lack effects that this program meets: cold memory, pages that the kernel
//! clears. Runs with different mixtures of work show such effects. Each kind of work gets a factor for its costs: the
//! factors that maximize the likelihood of the runs' times, found by expectation maximisation. For a mixture of
//! non-negative parts, that is the multiplicative rule of Lucy (1974) and of Shepp & Vardi (1982). The fit starts with
//! the costs and keeps them if the runs have no information: time of kinds that always occur together is attributed by
//! their costs.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use x11prof_cost_model::Micros;

use crate::server_time::share::Share;

/// The number of kinds of work, summed over runs, that are fitted at once. It is enough to distinguish the kinds, and
/// bounds memory. Work of one kind may have many keys, which do not affect the fit.
pub(super) const WINDOW: usize = 1 << 16;
const PARTS_LIMIT: usize = 3 * WINDOW;
/// The number of steps of the fit. With few steps, the costs remain nearly unchanged. With many steps the noise of
/// single runs dominates, most of all for rare kinds (validation/results).
const STEPS: usize = 30;

/// The weight of the previous factors, as a share of the weight of a window's runs. Without it, a kind that rarely
/// dominates a run would lose all of its time to a kind that does.
const PRIOR: f64 = 0.1;

/// The key of work to which server time can be attributed.
pub(crate) trait AttributionKey: Copy + Eq + Hash {
    /// The kind of work. The costs of one kind may all be wrong by one factor.
    fn kind(self) -> Self;
}

/// A key's part in a run of the window. The key is stored separately, because each step reads all parts.
#[derive(Debug, Clone, Copy)]
struct Part {
    kind: usize,
    /// The sum of the part's costs, in microseconds.
    cost: f64,
}

/// Runs that wait until the costs of their work have been corrected.
#[derive(Debug, Clone)]
pub(super) struct Fit<K> {
    /// The runs: the share to attribute, and the end index of its parts.
    runs: Vec<(Share, usize)>,
    parts: Vec<Part>,
    /// The key of each part.
    keys: Vec<K>,
    kinds: FxHashMap<K, usize>,
    /// The factor of each kind's costs; `None` before the first fit.
    factors: Vec<Option<f64>>,
    /// For each kind, the last run of the window that contains it, and the total number of kinds over all runs.
    last_runs: Vec<Option<usize>>,
    kinds_of_runs: usize,
}

impl<K: AttributionKey> Fit<K> {
    pub(super) fn new() -> Fit<K> {
        Fit {
            runs: Vec::new(),
            parts: Vec::new(),
            keys: Vec::new(),
            kinds: FxHashMap::default(),
            factors: Vec::new(),
            last_runs: Vec::new(),
            kinds_of_runs: 0,
        }
    }

    /// Adds a run, with the keys and estimated costs of its parts. There must be at least one part.
    pub(super) fn run(&mut self, share: Share, parts: impl Iterator<Item = (K, f64)>) {
        for (key, cost) in parts {
            let next = self.factors.len();
            let kind = *self.kinds.entry(key.kind()).or_insert(next);
            if kind == next {
                self.factors.push(None);
                self.last_runs.push(None);
            }
            let this = Some(self.runs.len());
            if std::mem::replace(&mut self.last_runs[kind], this) != this {
                self.kinds_of_runs += 1;
            }
            self.parts.push(Part { kind, cost });
            self.keys.push(key);
        }
        self.runs.push((share, self.parts.len()));
    }

    /// True if there are enough runs for an attribution.
    pub(super) fn is_full(&self) -> bool {
        self.kinds_of_runs >= WINDOW || self.parts.len() >= PARTS_LIMIT
    }

    /// Attributes the server's runs that wait for attribution, and passes the share of each key (an operation) to `credit`.
    pub(super) fn divide(&mut self, credit: &mut impl FnMut(K, Share)) {
        let sums = self.sums();
        let before = self.begin(&sums);
        for _ in 0..STEPS {
            self.step(&sums, &before);
        }
        let mut begin = 0;
        for (share, end) in std::mem::take(&mut self.runs) {
            let parts = &self.parts[begin..end];
            let whole: f64 = parts.iter().map(|part| self.time(part)).sum();
            for (part, key) in parts.iter().zip(&self.keys[begin..end]) {
                let time = self.time(part);
                credit(*key, share.part(time / whole.max(f64::MIN_POSITIVE)));
            }
            begin = end;
        }
        self.parts.clear();
        self.keys.clear();
        self.last_runs.fill(None);
        self.kinds_of_runs = 0;
    }

    fn time(&self, part: &Part) -> f64 {
        // Every kind of the window has a factor after a fit has begun.
        self.factors[part.kind].unwrap_or(1.0) * part.cost
    }

    /// The costs of each kind in the window.
    fn sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.factors.len()];
        for part in &self.parts {
            sums[part.kind] += part.cost;
        }
        sums
    }

    /// Initializes the factors of new kinds with the ratio of all times to all costs in the window. Returns the factors
    /// of all kinds.
    fn begin(&mut self, sums: &[f64]) -> Vec<f64> {
        let took: Micros = self.runs.iter().map(|(share, _)| share.time).sum();
        let estimated: f64 = sums.iter().sum();
        let all = Some(took.0 / estimated).filter(|factor| factor.is_finite() && *factor > 0.0);
        for factor in &mut self.factors {
            *factor = factor.or(all);
        }
        let factors = self.factors.iter();
        factors.map(|factor| factor.unwrap_or(1.0)).collect()
    }

    /// Makes a step of the fit.
    fn step(&mut self, sums: &[f64], before: &[f64]) {
        let mut better = vec![0.0; self.factors.len()];
        let mut begin = 0;
        for (share, end) in &self.runs {
            let parts = &self.parts[begin..*end];
            let whole: f64 = parts.iter().map(|part| self.time(part)).sum();
            let ratio = share.time.0 / whole.max(f64::MIN_POSITIVE);
            for part in parts {
                better[part.kind] += part.cost * ratio;
            }
            begin = *end;
        }
        let reported = better.into_iter().zip(sums).zip(before);
        for (factor, ((better, sum), before)) in self.factors.iter_mut().zip(reported) {
            if let Some(factor) = factor.as_mut().filter(|_| *sum > 0.0) {
                *factor = (*factor * better / sum + PRIOR * before) / (1.0 + PRIOR);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;

    use super::{AttributionKey, Fit, WINDOW};
    use crate::server_time::share::Share;

    impl AttributionKey for u32 {
        fn kind(self) -> u32 {
            self
        }
    }

    fn run(fit: &mut Fit<u32>, micros: f64, parts: &[(u32, f64)]) {
        let share = Share {
            time: Micros(micros),
            stretches: 1.0,
        };
        fit.run(share, parts.iter().copied());
    }

    fn divided(fit: &mut Fit<u32>) -> [f64; 3] {
        let mut all = [0.0; 3];
        fit.divide(&mut |key, share| all[key as usize] += share.time.0);
        all
    }

    #[test]
    fn mixed_runs_correct_the_cost_estimates() {
        // The second costs ten times its cost.
        let mut fit = Fit::new();
        for n in 0..100 {
            let (a, b) = (f64::from(n % 5), f64::from(n % 3));
            run(&mut fit, 10.0 * a + 10.0 * b, &[(0, 10.0 * a), (1, b)]);
        }
        let [first, second, _] = divided(&mut fit);
        assert!((first - 2000.0).abs() < 200.0, "{first}");
        assert!((first + second - 2990.0).abs() < 1e-6);
    }

    #[test]
    fn kinds_that_always_cooccur_are_split_by_cost() {
        let mut fit = Fit::new();
        for n in 1..50 {
            run(&mut fit, f64::from(n), &[(0, 3.0), (1, 1.0)]);
        }
        let [first, second, _] = divided(&mut fit);
        assert!((first - 3.0 * second).abs() < 1e-6);
    }

    /// Keys that represent one kind, as a request of many windows.
    #[test]
    fn keys_of_one_kind_count_once_in_the_window() {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        struct Keyed(u32, usize);
        impl AttributionKey for Keyed {
            fn kind(self) -> Keyed {
                Keyed(self.0, 0)
            }
        }
        let full_after = |keys: usize| {
            let mut fit = Fit::new();
            let share = Share {
                time: Micros(1.0),
                stretches: 1.0,
            };
            (1..=WINDOW).find(|_| {
                let parts = (0..2 * keys).map(|at| (Keyed(at as u32 % 2, at / 2), 1.0));
                fit.run(share, parts);
                fit.is_full()
            })
        };
        assert_eq!(full_after(1), Some(WINDOW / 2));
        assert_eq!(full_after(3), Some(WINDOW / 2));
    }

    #[test]
    fn learned_factors_apply_to_the_next_window() {
        let mut fit = Fit::new();
        for _ in 0..50 {
            run(&mut fit, 10.0, &[(0, 10.0)]);
            run(&mut fit, 10.0, &[(1, 1.0)]);
        }
        divided(&mut fit);
        run(&mut fit, 20.0, &[(0, 10.0), (1, 1.0)]);
        let [first, second, _] = divided(&mut fit);
        // By costs alone the ratio would be ten to one.
        assert!((0.8..1.25).contains(&(first / second)), "{first} {second}");
    }
}
