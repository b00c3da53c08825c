//! The plan of a calibration: its requests and its thoroughness.

use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};
use x11prof_cost_model::RequestCosts;
use x11prof_session::Operation;

/// A spread that need not be improved on when a measurement is resumed.
const ENOUGH: f64 = 0.1;

/// The plan of a calibration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Fewer sizes, shorter batches, fewer passes.
    pub quick: bool,
    /// Only these requests (and the transport costs); all where empty.
    pub only: Vec<String>,
    /// Operations to measure beside those that `only` names: entries with their attributes, at their sizes. If there
    /// are any, no other request is measured.
    pub needed: Vec<Operation>,
    /// Known costs, which need not be measured again.
    pub known: Vec<RequestCosts>,
    /// Measures only entries. The file that they are added to has the transport of this server on this machine, which
    /// takes half a minute to measure.
    pub entries_only: bool,
    /// Pin the server and this process to processors, which steadies the figures. Where that is
    /// not permitted, they are measured where they are, and the result says so.
    pub pin: Option<Pin>,
    /// Requests as well that a user of the display would notice: grabs, the focus, the pointer,
    /// the keyboard's map, the screen saver. They are undone afterwards.
    pub intrusive: bool,
    /// True if the server times its handlers: then each request's own time is read, and only the transport is measured
    /// by saturating the server.
    pub timed: bool,
    /// The longest duration. Without a limit a whole run takes up to a minute and a quick one ten seconds, if the server
    /// times its handlers; else up to four minutes and half a minute. Loads that are not measured often enough by then
    /// keep the spread that they have.
    pub time_limit: Option<Duration>,
}

/// The processors of the server and the sender during the measurement; both are restored afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// The shared processor. The server's processor time is steadiest there, for the server always finds a full socket,
    /// still in the cache.
    pub both: usize,
    /// A second processor, for the server's helpers.
    pub other: Option<usize>,
}

impl Pin {
    /// The last two processors that this process may run on; `None` where there is one only. The
    /// first is left alone: interrupts arrive there by default.
    pub fn usual() -> Option<Pin> {
        let allowed = sched_getaffinity(None).ok()?;
        let mut from_last = (0..CpuSet::MAX_CPU)
            .rev()
            .filter(|cpu| allowed.is_set(*cpu));
        let both = from_last.next()?;
        let other = from_last.next()?;
        Some(Pin {
            both,
            other: Some(other),
        })
    }
}

/// The progress of a calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// The present phase in words: `choosing sizes`.
    pub phase: &'a str,
    /// The share that is done, from 0 to 1; it never falls.
    pub share: f64,
    /// The longest time that the rest will take.
    pub left: Duration,
    /// The request being measured; empty if there is none.
    pub request: &'a str,
}

impl Plan {
    /// The number of measurements of each load.
    pub(crate) fn passes(&self) -> usize {
        if self.quick { 6 } else { 12 }
    }

    /// The longest duration of the sampling; the choice of sizes takes a sixth of it in addition.
    pub(crate) fn limit(&self) -> Duration {
        let usual = Duration::from_secs(match (self.quick, self.timed) {
            (true, true) => 6,
            (true, false) => 23,
            (false, true) => 36,
            (false, false) => 180,
        });
        match self.time_limit {
            Some(limit) => limit * 6 / 7,
            None => usual,
        }
    }

    /// The longest duration of the choice of sizes. A quick run, and a server that does not time its handlers, have the
    /// initial sizes.
    pub(crate) fn exploring(&self) -> Duration {
        match self.timed && !self.quick {
            true => self.limit() / 6,
            false => Duration::ZERO,
        }
    }

    /// The least duration of one batch.
    pub(crate) fn batch(&self) -> Duration {
        Duration::from_micros(if self.quick { 850 } else { 4000 })
    }

    /// The number of requests that are sent alone, one after the other, for the cost of a wakeup.
    pub(crate) fn lone_requests(&self) -> u32 {
        if self.quick { 60 } else { 150 }
    }

    /// The sizes to measure at: all of `sizes`, or for a quick run every other one and the last.
    pub(crate) fn sizes<'a, T>(&self, sizes: &'a [T]) -> impl Iterator<Item = &'a T> {
        let step = if self.quick { 2 } else { 1 };
        let last = sizes.len().saturating_sub(1);
        sizes
            .iter()
            .enumerate()
            .filter(move |(at, _)| at % step == 0 || *at == last)
            .map(|(_, size)| size)
    }

    /// True where the request `name` is to be measured.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let named = self.only.iter().any(|only| only.eq_ignore_ascii_case(name));
        let needed = self
            .needed
            .iter()
            .any(|operation| operation.request.as_str() == name);
        (self.only.is_empty() && self.needed.is_empty()) || named || needed
    }

    /// True where `operation` has been measured well enough: at its size, with a spread.
    pub(crate) fn knows(&self, operation: &Operation) -> bool {
        let size = match operation.items.as_slice() {
            [] => 0.0,
            [size] => *size,
            _ => return false,
        };
        let is_narrow = |spread: Option<f64>| spread.is_some_and(|spread| spread <= ENOUGH);
        let mut entries = self.known.iter().filter(|entry| {
            entry.name == operation.request.as_str()
                && entry.attribute_set() == operation.attributes
        });
        entries.any(|entry| {
            let mut points = entry.points.iter();
            points.any(|point| point.size == size && is_narrow(point.spread))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use x11prof_cost_model::{Point, RequestCosts};
    use x11prof_session::Operation;

    #[test]
    fn a_quick_plan_thins_the_sizes_but_keeps_both_ends() {
        let quick = Plan {
            quick: true,
            ..Plan::default()
        };
        assert_eq!(
            quick.sizes(&[1, 2, 3, 4]).copied().collect::<Vec<_>>(),
            [1, 3, 4]
        );
        assert_eq!(
            Plan::default()
                .sizes(&[1, 2, 3])
                .copied()
                .collect::<Vec<_>>(),
            [1, 2, 3]
        );
    }

    #[test]
    fn only_names_what_is_wanted() {
        let mut plan = Plan {
            only: vec!["polyline".into()],
            ..Plan::default()
        };
        assert!(plan.wants("PolyLine"));
        assert!(!plan.wants("PolyText8"));
        assert!(Plan::default().wants("PolyText8"));
        plan.needed.push(Operation::new("PolyText8".into()));
        assert!(plan.wants("PolyText8") && plan.wants("PolyLine"));
    }

    #[test]
    fn only_costs_with_a_spread_at_that_size_are_known() {
        let mut known = RequestCosts {
            name: "NoOperation".into(),
            ..RequestCosts::default()
        };
        known.points.push(Point {
            spread: Some(0.1),
            ..Point::default()
        });
        let plan = Plan {
            known: vec![known],
            ..Plan::default()
        };
        let mut operation = Operation::new("NoOperation".into());
        assert!(plan.knows(&operation));
        operation.items = vec![8.0];
        assert!(!plan.knows(&operation));
    }
}
