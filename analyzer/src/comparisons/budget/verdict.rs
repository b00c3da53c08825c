//! Checks a recording against a budget.

use super::{Budget, BudgetCounts};
use crate::forecast::ForecastReport;
use crate::pipeline::start_up::{ClientRole, StartUpReport};
use crate::resources::report::ResourceReport;
use crate::roundtrips::report::RoundTripsReport;

/// A limit of the budget, and the figure of the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetLine {
    /// The name of the limit in the budget file, such as `start_up.round_trips`.
    pub name: String,
    /// The largest figure that the budget allows, in the unit of the limit's name.
    pub limit: f64,
    /// The figure of the recording.
    pub found: Found,
}

/// The figure that is checked against a limit, or the reason why it is not available.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The figure, in the unit of the limit.
    Figure(f64),
    /// The figure is not available; contains the reason.
    None(String),
}

impl BudgetLine {
    /// Returns true if the figure is within the limit; false if it exceeds the limit or is missing.
    pub fn is_kept(&self) -> bool {
        matches!(self.found, Found::Figure(found) if found <= self.limit)
    }
}

/// All limits of a budget, with the figures of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetVerdict {
    /// The limits with their figures: of the whole recording, of start-up, of kinds of request.
    pub lines: Vec<BudgetLine>,
}

impl BudgetVerdict {
    /// Compares the figures found with `budget`. `server_ms` is the server's time, and `forecast` the recording over
    /// the budget's network, if the budget limits them.
    pub fn new(
        budget: &Budget,
        counts: &BudgetCounts,
        round_trips: &RoundTripsReport,
        resources: &ResourceReport,
        (server_ms, forecast): (Option<f64>, Option<&ForecastReport>),
    ) -> BudgetVerdict {
        let mut lines = Vec::new();
        let mut line = |name: String, limit: Option<f64>, found: Found| {
            if let Some(limit) = limit {
                lines.push(BudgetLine { name, limit, found });
            }
        };
        let (total, start_up) = (&budget.total, &budget.start_up);
        let all = &round_trips.total;
        let duplicates = round_trips.duplicates.iter().map(|one| one.count).sum();
        let left = resources
            .clients
            .iter()
            .filter(|client| counts.is_wanted(client.client))
            .flat_map(|client| &client.kinds)
            .map(|kind| kind.counts.held)
            .sum();
        let figures = [
            ("requests", total.requests, counts.requests),
            ("bytes", total.bytes, counts.bytes),
            ("round_trips", total.round_trips, all.round_trips),
            (
                "synchronisations",
                total.synchronisations,
                all.synchronisations,
            ),
            ("duplicates", total.duplicates, duplicates),
            ("resources_left", total.resources_left, left),
        ];
        for (name, limit, found) in figures {
            line(
                format!("total.{name}"),
                limit.map(number),
                Found::Figure(number(found)),
            );
        }
        line(
            "total.network_ms".to_owned(),
            total.network_ms,
            added(forecast.map(|there| there.forecast_ms - there.local_ms)),
        );
        let server = server_ms.map_or_else(
            || Found::None("the server's time was not worked out".to_owned()),
            Found::Figure,
        );
        line("total.server_ms".to_owned(), total.server_ms, server);
        // The life of an input injector would count as its start-up.
        let counts_all = budget.client.is_some();
        let is_wanted = |one: &&StartUpReport| counts_all || one.role != ClientRole::Helper;
        let starts = round_trips.start_ups.iter().filter(is_wanted);
        let starts: Vec<StartUpReport> = starts.cloned().collect();
        let sum = |of: fn(&StartUpReport) -> u64| starts.iter().map(of).sum::<u64>();
        let figures = [
            ("requests", start_up.requests, sum(|one| one.requests)),
            ("bytes", start_up.bytes, sum(|one| one.bytes)),
            (
                "round_trips",
                start_up.round_trips,
                sum(|one| one.round_trips),
            ),
            (
                "synchronisations",
                start_up.synchronisations,
                sum(|one| one.synchronisations),
            ),
        ];
        for (name, limit, found) in figures {
            line(
                format!("start_up.{name}"),
                limit.map(number),
                Found::Figure(number(found)),
            );
        }
        let network = forecast.map(|there| {
            let wanted = there.start_ups.iter().filter(|there| {
                let is_same = |one: &StartUpReport| one.connection == there.connection;
                starts.iter().any(is_same)
            });
            wanted
                .map(|there| there.forecast_ms - there.recorded_ms)
                .sum()
        });
        line(
            "start_up.network_ms".to_owned(),
            start_up.network_ms,
            // A program that ends before its first frame keeps no limit of start-up.
            match latency(&starts) {
                Found::Figure(_) => added(network),
                none => none,
            },
        );
        line(
            "start_up.latency_ms".to_owned(),
            start_up.latency_ms,
            latency(&starts),
        );
        for (name, limit) in &budget.requests {
            let of_name = counts
                .by_name
                .iter()
                .filter(|(one, _)| one.as_str() == name);
            let found = of_name.map(|(_, count)| count).sum();
            line(
                format!("requests.{name}"),
                Some(number(*limit)),
                Found::Figure(number(found)),
            );
        }
        for (name, limit) in &budget.round_trips {
            let of_name = round_trips
                .blocking
                .iter()
                .filter(|one| one.request == *name);
            let found = of_name.map(|one| one.count).sum();
            line(
                format!("round_trips.{name}"),
                Some(number(*limit)),
                Found::Figure(number(found)),
            );
        }
        BudgetVerdict { lines }
    }

    /// True if the recording keeps all limits.
    pub fn is_kept(&self) -> bool {
        self.lines.iter().all(BudgetLine::is_kept)
    }
}

/// Returns the figure for the time that a network link adds, in milliseconds.
fn added(ms: Option<f64>) -> Found {
    let none = || Found::None("nothing was forecast".to_owned());
    ms.map_or_else(none, |ms| Found::Figure(ms.max(0.0)))
}

fn number(count: u64) -> f64 {
    count as f64
}

/// Returns the figure of the longest start-up. Connections without windows have no start-up.
fn latency(starts: &[StartUpReport]) -> Found {
    let longest = starts
        .iter()
        .filter_map(|one| one.latency_ms)
        .max_by(f64::total_cmp);
    longest.map_or_else(
        || {
            let why = starts.iter().find_map(|one| one.why_none.clone());
            Found::None(why.unwrap_or_else(|| "no client connected".to_owned()))
        },
        Found::Figure,
    )
}
