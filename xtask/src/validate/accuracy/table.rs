//! The rows of the comparison: one for each workload and server, one for each pair of servers,
//! and what they come to.

use serde_json::{Value, json};
use x11prof_proxy::ServerKind;

use super::truth::{Alone, Priced};
use super::workloads::{HELD_OUT, WORKLOADS, Workload};

/// The rounds of one workload on one server.
#[derive(Clone)]
pub(super) struct Rounds {
    pub(super) workload: &'static str,
    pub(super) server: &'static str,
    pub(super) alone: Vec<Alone>,
    priced: Vec<Priced>,
}

/// A recording of one server priced for another.
#[derive(Clone)]
pub(super) struct Crossed {
    pub(super) workload: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    /// With the other server's parameters.
    pub(super) estimate_ms: f64,
    /// With those of the recorded one: the naive forecast.
    pub(super) naive_ms: f64,
    /// What the recorded server spent while it was recorded, by the kernel.
    pub(super) recorded_ms: f64,
    pub(super) truth_ms: f64,
    /// What the recorded server spent.
    pub(super) from_truth_ms: f64,
}

impl Rounds {
    /// None yet.
    pub(super) fn new(workload: &'static str, server: &'static str) -> Rounds {
        Rounds {
            workload,
            server,
            alone: Vec::new(),
            priced: Vec::new(),
        }
    }

    /// A row that `json` gave; `None` where its workload or server is not one of these.
    pub(super) fn from_json(row: &Value) -> Option<Rounds> {
        let mut workloads = WORKLOADS.iter();
        let workload = workloads.find(|it| row["workload"] == it.name)?.name;
        let server = ServerKind::from_name(row["server"].as_str()?)?.name();
        let list = |name: &str| row[name].as_array().into_iter().flatten();
        Some(Rounds {
            workload,
            server,
            alone: list("alone").filter_map(Alone::from_json).collect(),
            priced: list("priced").filter_map(Priced::from_json).collect(),
        })
    }

    /// Its recording's price of now, in place of those of the rounds.
    pub(super) fn again(&mut self, priced: Priced) {
        self.priced = vec![priced];
    }

    /// Whether it is of that workload on that server.
    pub(super) fn is_of(&self, workload: &Workload, kind: ServerKind) -> bool {
        self.workload == workload.name && self.server == kind.name()
    }

    pub(super) fn kind(&self) -> Option<ServerKind> {
        ServerKind::from_name(self.server)
    }

    pub(super) fn push(&mut self, alone: Alone, priced: Priced) {
        self.alone.push(alone);
        self.priced.push(priced);
    }

    /// How many rounds it has had.
    pub(super) fn runs(&self) -> usize {
        self.priced.len().min(self.alone.len())
    }

    /// What the server spent on it unrecorded, in milliseconds: the truth.
    pub(super) fn truth(&self) -> f64 {
        median(self.alone.iter().map(|it| it.server_ms))
    }

    fn of(&self, field: impl Fn(&Priced) -> f64) -> f64 {
        median(self.priced.iter().map(field))
    }

    pub(super) fn ratio(&self) -> f64 {
        self.of(|it| it.estimate_ms) / self.truth()
    }

    /// How far the estimate is off, relative to the truth.
    pub(super) fn error(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }

    /// What of that is more than the truth's own spread.
    pub(super) fn beyond_spread(&self) -> f64 {
        (self.error() - self.spread()).max(0.0)
    }

    /// The estimate over what the server spent while it was recorded.
    pub(super) fn ratio_to_recorded(&self) -> f64 {
        self.of(|it| it.estimate_ms / it.recorded_ms)
    }

    /// Half of the range of the truth, relative to it.
    pub(super) fn spread(&self) -> f64 {
        let all = || self.alone.iter().map(|it| it.server_ms);
        let (least, most) = (
            all().fold(f64::INFINITY, f64::min),
            all().fold(0.0, f64::max),
        );
        (most - least) / 2.0 / self.truth()
    }

    /// How far each truth but the first is from the one before, relative to that: what a truth would be off as an
    /// estimate of another.
    pub(super) fn by_another(&self) -> impl Iterator<Item = f64> {
        let pairs = self.alone.windows(2);
        pairs.map(|pair| (pair[1].server_ms / pair[0].server_ms - 1.0).abs())
    }

    pub(super) fn inside(&self) -> usize {
        let truth = self.truth();
        let inside = |it: &&Priced| (it.low_ms..=it.high_ms).contains(&truth);
        self.priced.iter().filter(inside).count()
    }

    /// The recorder's influence on the server's processor time and on the wall.
    pub(super) fn influence(&self) -> (f64, f64) {
        let wall = median(self.alone.iter().map(|it| it.wall_ms));
        (
            self.of(|it| it.recorded_ms) / self.truth(),
            self.of(|it| it.wall_ms) / wall,
        )
    }

    /// The clients' time and the estimate, of the recording's wall clock (Table 8 of the paper);
    /// on one processor nothing overlaps.
    fn of_wall(&self) -> f64 {
        self.of(|it| (it.client_ms + it.estimate_ms) / it.wall_ms)
    }

    /// Prints its row, over the rounds so far.
    pub(super) fn print(&self) {
        let (cpu, wall) = self.influence();
        println!(
            "{:<22} {:<10} {:>9.1} {:>9.1} {:>6.3} {:>6.1}% {:>5} {:>9.1} {:>6.3} {:>6.3} {:>6.3} {:>7.3} {:>7.2}%{}",
            self.workload,
            self.server,
            self.of(|it| it.estimate_ms),
            self.truth(),
            self.ratio(),
            100.0 * self.spread(),
            format!("{}/{}", self.inside(), self.priced.len()),
            self.of(|it| it.recorded_ms),
            self.ratio_to_recorded(),
            cpu,
            wall,
            self.of_wall(),
            100.0 * self.of(|it| it.priced),
            self.host()
                .map_or_else(String::new, |host| format!("  host {host:.1} ms")),
        );
    }

    /// What the server's own host spent unrecorded, in milliseconds, where it has one.
    fn host(&self) -> Option<f64> {
        let host = median(self.alone.iter().filter_map(|it| it.host_ms));
        host.is_finite().then_some(host)
    }

    pub(super) fn json(&self) -> Value {
        let (cpu, wall) = self.influence();
        json!({
            "workload": self.workload, "server": self.server, "runs": self.priced.len(),
            "estimate_ms": self.of(|it| it.estimate_ms), "truth_ms": self.truth(),
            "ratio": self.ratio(), "truth_spread": self.spread(), "inside_bounds": self.inside(),
            "host_ms": self.host(),
            "recorded_ms": self.of(|it| it.recorded_ms),
            "ratio_to_recorded": self.ratio_to_recorded(),
            "recorder": { "server_cpu": cpu, "wall": wall },
            "client_and_server_of_wall": self.of_wall(),
            "share_priced": self.of(|it| it.priced),
            // Each round, to go on from, and for the half of the workloads that bounds are taken from.
            "alone": self.alone.iter().map(Alone::json).collect::<Vec<_>>(),
            "priced": self.priced.iter().map(Priced::json).collect::<Vec<_>>(),
        })
    }
}

impl Crossed {
    pub(super) fn print(&self) {
        println!(
            "{:<22} {:>10} -> {:<10} {:>9.1} {:>9.1} {:>6.3} naive {:>6.3} anchored {:>6.3}",
            self.workload,
            self.from,
            self.to,
            self.estimate_ms,
            self.truth_ms,
            self.estimate_ms / self.truth_ms,
            self.naive_ms / self.truth_ms,
            self.anchored_ms() / self.truth_ms,
        );
    }

    /// The kernel's figure for the recorded server, changed as the estimates differ: what the model
    /// lacks for both servers alike cancels out, and the recorder's influence does not.
    fn anchored_ms(&self) -> f64 {
        self.recorded_ms * self.estimate_ms / self.naive_ms
    }

    /// How far the forecast is off, relative to the truth.
    pub(super) fn error(&self) -> f64 {
        (self.estimate_ms / self.truth_ms - 1.0).abs()
    }

    /// The same of the naive one.
    pub(super) fn naive_error(&self) -> f64 {
        (self.naive_ms / self.truth_ms - 1.0).abs()
    }

    /// Whether it is forecast which of the two servers spends less; `None` where they differ by
    /// less than 15 %.
    fn order(&self) -> Option<bool> {
        let forecast = self.estimate_ms < self.naive_ms;
        let right = forecast == (self.truth_ms < self.from_truth_ms);
        self.differ().then_some(right)
    }

    /// Whether the two servers differ by over 15 %; where they do not, the naive forecast is hardly
    /// off by more than that either.
    fn differ(&self) -> bool {
        (self.truth_ms / self.from_truth_ms - 1.0).abs() > 0.15
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "workload": self.workload, "from": self.from, "to": self.to,
            "estimate_ms": self.estimate_ms, "naive_ms": self.naive_ms,
            "anchored_ms": self.anchored_ms(), "truth_ms": self.truth_ms,
            "ratio": self.estimate_ms / self.truth_ms, "naive_ratio": self.naive_ms / self.truth_ms,
            "order": self.order(),
        })
    }
}

/// The heading over `Rounds::print`.
pub(super) fn heading() {
    println!(
        "{:<22} {:<10} {:>9} {:>9} {:>6} {:>7} {:>5} {:>9} {:>6} {:>6} {:>6} {:>7} {:>8}",
        "workload",
        "server",
        "estimate",
        "truth ms",
        "ratio",
        "spread",
        "in",
        "recorded",
        "ratio",
        "cpu×",
        "wall×",
        "of wall",
        "priced"
    );
}

/// Prints what all rows come to.
pub(super) fn summary(rows: &[Rounds], crossed: &[Crossed]) {
    let count = |(inside, all): (usize, usize), row: &Rounds| {
        (inside + row.inside(), all + row.priced.len())
    };
    let (inside, all) = rows.iter().fold((0, 0), count);
    let held_out = rows.iter().filter(|row| HELD_OUT.contains(&row.workload));
    let (inside_held, held) = held_out.fold((0, 0), count);
    println!(
        "same server: median |error| {:.1} %, 95th percentile {:.1} % beyond the truth's spread, \
         {inside} of {all} truths inside the likely bounds, {inside_held} of {held} of programs that these are not taken from",
        100.0 * median(rows.iter().map(Rounds::error)),
        100.0 * quantile(rows.iter().map(Rounds::beyond_spread), 0.95),
    );
    let another = || rows.iter().flat_map(Rounds::by_another);
    if another().next().is_some() {
        println!(
            "a truth by the one before: median |error| {:.1} %, 95th percentile {:.1} %",
            100.0 * median(another()),
            100.0 * quantile(another(), 0.95),
        );
    }
    let recorded: Vec<f64> = rows
        .iter()
        .map(|row| (row.ratio_to_recorded() - 1.0).abs())
        .collect();
    println!(
        "against the server while it was recorded: median |error| {:.1} %, 95th percentile {:.1} %",
        100.0 * median(recorded.iter().copied()),
        100.0 * quantile(recorded, 0.95),
    );
    if crossed.is_empty() {
        return;
    }
    let errors = |pairs: &[&Crossed]| {
        let of = |error: fn(&Crossed) -> f64| 100.0 * median(pairs.iter().map(|it| error(it)));
        format!(
            "median |error| {:.1} %, naive {:.1} %, anchored {:.1} %",
            of(Crossed::error),
            of(Crossed::naive_error),
            of(|it| (it.anchored_ms() / it.truth_ms - 1.0).abs()),
        )
    };
    let (differ, alike): (Vec<&Crossed>, Vec<&Crossed>) =
        crossed.iter().partition(|it| it.differ());
    println!(
        "across servers: {}",
        errors(&crossed.iter().collect::<Vec<_>>())
    );
    println!("  {} that are alike: {}", alike.len(), errors(&alike));
    let orders: Vec<bool> = crossed.iter().filter_map(Crossed::order).collect();
    println!(
        "  {} that differ by over 15 %: {}; {} orders right",
        differ.len(),
        errors(&differ),
        orders.iter().filter(|right| **right).count(),
    );
}

/// The value in the middle, or the mean of the two that are.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    (at(sorted.len().saturating_sub(1) / 2) + at(sorted.len() / 2)) / 2.0
}

/// The value that so much of `values` does not exceed.
pub(super) fn quantile(values: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let at = rank.saturating_sub(1);
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::{median, quantile};

    #[test]
    fn quantiles_are_values_of_the_list() {
        assert_eq!(quantile([3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile([3.0, 1.0, 2.0], 0.95), 3.0);
        assert!(quantile([], 0.5).is_nan());
    }

    #[test]
    fn a_median_lies_between_two() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 2.5);
        assert!(median([]).is_nan());
    }
}
