//! How fast each kind of request comes, and the rows of a live view in the order that is wanted.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use x11prof_analyzer::{ProfileReport, RequestReport};

/// Rates are over so much of the latest time: long enough to be read, short enough to follow.
const OVER: Duration = Duration::from_secs(1);
/// A rate over less than this is noise.
const LEAST: Duration = Duration::from_millis(200);

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Order {
    /// The most time first.
    #[default]
    Time,
    /// The most requests first.
    Number,
    /// The most bytes first.
    Bytes,
    /// By the alphabet.
    Name,
}

/// What a kind of request has had, or has in a second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sums {
    /// Requests.
    pub(super) count: f64,
    /// Their bytes.
    pub(super) bytes: f64,
    /// Time of the server with the transport that they caused, in milliseconds.
    pub(super) ms: f64,
}

/// A row of the view.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The request.
    pub(super) name: String,
    /// Since the recording's begin.
    pub(super) sums: Sums,
    /// In a second; nothing where it is too early to tell.
    pub(super) rates: Option<Sums>,
}

/// The sums of the latest time.
#[derive(Debug, Default)]
pub(super) struct Rates {
    seen: VecDeque<(Duration, HashMap<String, Sums>)>,
}

impl Sums {
    fn of(line: &RequestReport) -> Sums {
        Sums {
            count: line.count as f64,
            bytes: line.bytes as f64,
            ms: line.charged_ms,
        }
    }

    fn plus(self, other: Sums) -> Sums {
        Sums {
            count: self.count + other.count,
            bytes: self.bytes + other.bytes,
            ms: self.ms + other.ms,
        }
    }

    /// In a second, where it was `before` that long ago.
    fn a_second(self, before: Sums, ago: Duration) -> Sums {
        let seconds = ago.as_secs_f64();
        // What was measured may be divided anew, so that a sum becomes less.
        let rate = |now: f64, before: f64| (now - before).max(0.0) / seconds;
        Sums {
            count: rate(self.count, before.count),
            bytes: rate(self.bytes, before.bytes),
            ms: rate(self.ms, before.ms),
        }
    }
}

impl Rates {
    /// The rows of `report`, as it is `at` that time since the view began, and all of them together.
    pub(super) fn rows(&mut self, report: &ProfileReport, at: Duration, order: Order) -> Rows {
        let now: HashMap<String, Sums> = report
            .requests
            .iter()
            .map(|line| (line.name.clone(), Sums::of(line)))
            .collect();
        let total = |sums: &HashMap<String, Sums>| {
            sums.values().fold(Sums::default(), |all, of| all.plus(*of))
        };
        // Counts that have become less have started afresh.
        let fewer = |(_, last): &(_, HashMap<String, Sums>)| total(last).count > total(&now).count;
        if self.seen.back().is_some_and(fewer) {
            self.seen.clear();
        }
        // One that is older than the time of a rate stays.
        while self
            .seen
            .get(1)
            .is_some_and(|(then, _)| at.saturating_sub(*then) >= OVER)
        {
            self.seen.pop_front();
        }
        let before = self.seen.front();
        let before = before.map(|(then, sums)| (at.saturating_sub(*then), sums));
        let before = before.filter(|(ago, _)| *ago >= LEAST);
        let mut rows: Vec<Row> = now
            .iter()
            .map(|(name, sums)| Row {
                name: name.clone(),
                sums: *sums,
                rates: before.map(|(ago, before)| {
                    sums.a_second(before.get(name).copied().unwrap_or_default(), ago)
                }),
            })
            .collect();
        sort(&mut rows, order);
        let all = Row {
            name: "All requests".to_owned(),
            sums: total(&now),
            rates: before.map(|(ago, before)| total(&now).a_second(total(before), ago)),
        };
        self.seen.push_back((at, now));
        Rows { rows, all }
    }
}

/// The rows, and all of them together.
#[derive(Debug)]
pub(super) struct Rows {
    /// One for each kind of request.
    pub(super) rows: Vec<Row>,
    /// Their sum.
    pub(super) all: Row,
}

fn sort(rows: &mut [Row], order: Order) {
    let by: fn(&Row) -> f64 = match order {
        Order::Time => |row| row.sums.ms,
        Order::Number => |row| row.sums.count,
        Order::Bytes => |row| row.sums.bytes,
        Order::Name => |_| 0.0,
    };
    rows.sort_by(|a, b| by(b).total_cmp(&by(a)).then_with(|| a.name.cmp(&b.name)));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use x11prof_analyzer::{LiveProfile, ProfileReport};
    use x11prof_cost_model::{Network, Substitutions, built_in};
    use x11prof_trace::Reader;

    use super::{Order, Rates, Rows, Sums};

    /// The report of a recording.
    fn report() -> ProfileReport {
        let bytes = include_bytes!("../../tests/data/xclock.mcap");
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        let sun = built_in().iter().find(|known| known.name == "sun4-ipc");
        let parameters = sun.unwrap().parameters().unwrap();
        let mut profile = LiveProfile::new(&parameters, &Substitutions::default());
        while let Some(record) = reader.next().unwrap() {
            profile.feed(record);
        }
        profile.end();
        profile.report("x11prof.mcap", &Network::NONE, false)
    }

    fn names(rows: &Rows) -> Vec<&str> {
        rows.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn rates_are_of_the_latest_second() {
        let (mut rates, mut report) = (Rates::default(), report());
        let at = |ms| Duration::from_millis(ms);
        let first = rates.rows(&report, at(0), Order::Time);
        assert_eq!(first.all.rates, None);
        assert_eq!(first.all.sums.count, report.total.count as f64);
        // 50 more in half a second.
        report.requests[0].count += 50;
        let next = rates.rows(&report, at(500), Order::Time);
        assert_eq!(next.all.rates.unwrap().count, 100.0);
        // In the second after the next nothing came.
        for ms in [1000, 1500] {
            rates.rows(&report, at(ms), Order::Time);
        }
        let last = rates.rows(&report, at(2000), Order::Time);
        assert_eq!(last.all.rates, Some(Sums::default()));
        // A fresh start is no negative rate.
        report.requests.truncate(1);
        let fresh = rates.rows(&report, at(2500), Order::Time);
        assert_eq!(fresh.all.rates, None);
    }

    #[test]
    fn each_order_puts_its_most_first() {
        let report = report();
        let rows = |order| Rates::default().rows(&report, Duration::ZERO, order);
        for (order, by) in [
            (Order::Time, (|sums| sums.ms) as fn(Sums) -> f64),
            (Order::Number, |sums| sums.count),
            (Order::Bytes, |sums| sums.bytes),
        ] {
            let rows = rows(order).rows;
            let falls = rows
                .windows(2)
                .all(|two| by(two[0].sums) >= by(two[1].sums));
            assert!(rows.len() > 5 && falls, "{order:?}: {rows:?}");
        }
        let by_name = rows(Order::Name);
        assert!(names(&by_name).is_sorted(), "{by_name:?}");
        assert_ne!(names(&rows(Order::Number)), names(&by_name));
    }
}
