//! Compares shares with true values, and tests whether other costs would improve the attribution.
//!
//! Repeats the attribution of each program with a factor for each kind of request: the median over the other programs
//! of true time divided by attributed time.

use std::collections::HashMap;

use super::{median, quantile};

/// Times by kind of request.
pub(super) type Times = HashMap<String, f64>;

/// The number of the most expensive requests that are compared.
pub(super) const SHOWN: usize = 5;
/// The minimum number of programs with a kind of request, to compute a spread of its factor.
const COMMON: usize = 8;

/// The times of a program by kind of request, in any unit: true times, times attributed with costs, and timed ones.
pub(super) struct Compared {
    pub(super) truth: Times,
    pub(super) divided: Times,
    pub(super) timed: Times,
    /// True if a rule selected the program.
    pub(super) is_drawn: bool,
}

/// The most expensive requests, each with its share in the report and its true share in percent; the largest difference
/// between the two shares; and whether the report's first request is right.
pub(super) fn held_against<'a>(
    truth: &'a Times,
    times: &Times,
) -> (Vec<(&'a str, f64, f64)>, f64, bool) {
    let share = |of: &Times, name: &str| {
        let all: f64 = of.values().sum();
        100.0 * of.get(name).copied().unwrap_or_default() / all
    };
    let mut names: Vec<&str> = truth.keys().map(String::as_str).collect();
    names.sort_by(|a, b| truth[*b].total_cmp(&truth[*a]));
    names.truncate(SHOWN);
    let shown = names.iter();
    let shown = shown.map(|name| (*name, share(times, name), share(truth, name)));
    let shown: Vec<(&str, f64, f64)> = shown.collect();
    let apart = shown
        .iter()
        .map(|(_, reported, share)| (reported - share).abs());
    let most = times.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let is_first = most.map(|(name, _)| name.as_str()) == names.first().copied();
    (shown.clone(), apart.fold(0.0, f64::max), is_first)
}

/// A line for each method of attribution, and a line for the spread of the factors.
pub(super) fn summary(all: &[Compared]) -> String {
    let mut text = String::new();
    let mut line = |what: &str, times: &dyn Fn(usize) -> Times| {
        let rows = (0..).zip(all);
        let rows = rows.map(|(at, one)| (one, held_against(&one.truth, &times(at))));
        let rows: Vec<(&Compared, f64, bool)> = rows.map(|(one, of)| (one, of.1, of.2)).collect();
        let drawn = rows.iter().filter(|(one, ..)| one.is_drawn);
        text.push_str(&format!(
            "{what}: largest difference {:.1} in the median, {:.1} at most, of the drawn {:.1}; within 5 points {} of {}; first right {}\n",
            median(rows.iter().map(|row| row.1)),
            rows.iter().map(|row| row.1).fold(0.0, f64::max),
            median(drawn.map(|row| row.1)),
            rows.iter().filter(|row| row.1 <= 5.0).count(),
            rows.len(),
            rows.iter().filter(|row| row.2).count(),
        ));
    };
    line("timed", &|at| all[at].timed.clone());
    line("divided", &|at| all[at].divided.clone());
    line("with factors of the others", &|at| refitted(all, at, 1.0));
    line("with their roots", &|at| refitted(all, at, 0.5));
    let factors = factors(all, None);
    let common = factors.values().filter(|of| of.len() >= COMMON);
    let spreads: Vec<f64> = common
        .map(|of| quantile(of, 0.9) / quantile(of, 0.1))
        .collect();
    if !spreads.is_empty() {
        text.push_str(&format!(
            "factors of {} kinds of {COMMON} and more programs: from the lowest to the highest tenth {:.0} times in the median\n",
            spreads.len(),
            quantile(&spreads, 0.5),
        ));
    }
    text
}

/// The attribution of a program with the factors of the other programs, raised to this power.
fn refitted(all: &[Compared], at: usize, power: f64) -> Times {
    let factors = factors(all, Some(at));
    let divided = all[at].divided.iter();
    let times = divided.map(|(name, time)| {
        let factor = factors
            .get(name.as_str())
            .map_or(1.0, |of| quantile(of, 0.5));
        (name.clone(), time * factor.powf(power))
    });
    times.collect()
}

/// The ratio of true to attributed share for each kind of request, over all programs except one.
fn factors(all: &[Compared], without: Option<usize>) -> HashMap<&str, Vec<f64>> {
    let mut factors: HashMap<&str, Vec<f64>> = HashMap::new();
    let others = (0..).zip(all).filter(|(at, _)| Some(*at) != without);
    for (_, one) in others {
        let all = |of: &Times| of.values().sum::<f64>();
        let (truth, divided) = (all(&one.truth), all(&one.divided));
        for (name, time) in &one.truth {
            let reported = one.divided.get(name).copied().unwrap_or_default();
            if *time > 0.0 && reported > 0.0 {
                let factor = (time / truth) / (reported / divided);
                factors.entry(name).or_default().push(factor);
            }
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::{Compared, Times, held_against, refitted};

    fn times(of: [(&str, f64); 2]) -> Times {
        of.map(|(name, time)| (name.to_owned(), time)).into()
    }

    #[test]
    fn refit_corrects_a_uniformly_underestimated_request() {
        let one = |a: f64, b: f64| Compared {
            truth: times([("A", 2.0 * a), ("B", b)]),
            divided: times([("A", a), ("B", b)]),
            timed: Times::new(),
            is_drawn: false,
        };
        let all = [one(1.0, 1.0), one(1.0, 1.0), one(1.0, 1.0)];
        let (shown, apart, _) = held_against(&all[0].truth, &all[0].divided);
        assert_eq!(shown.first().map(|shown| shown.0), Some("A"));
        assert!((apart - 16.7).abs() < 0.1, "{apart}");
        let (_, apart, is_first) = held_against(&all[0].truth, &refitted(&all, 0, 1.0));
        assert!(apart < 1e-9 && is_first, "{apart}");
    }
}
