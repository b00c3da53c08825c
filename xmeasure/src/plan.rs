//! The plan of a calibration: the requests to measure, and the precision of the measurement.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};

/// The plan of a calibration, with the user's choices.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// True to measure fewer sizes, in shorter batches and fewer passes.
    pub quick: bool,
    /// The requests to measure, in addition to transport; all requests if empty.
    pub only: Vec<String>,
    /// True to measure only the entries of requests and keep the transport costs in the target file, which take half a
    /// minute to measure.
    pub entries_only: bool,
    /// The processor to which both the server and this thread are pinned; `None` to pin neither. On one processor the
    /// server's CPU time varies least: this thread fills the socket before the server runs, and the data is still in the
    /// cache. If pinning is not permitted, the result contains a note.
    pub pin: Option<usize>,
    /// True to also measure requests that a user of the display would notice: grabs, the focus, the pointer, the
    /// keyboard map, the screen saver. Their effects are undone afterwards.
    pub intrusive: bool,
    /// True if the server times its request handlers. Then each request's handler time is read, and only transport is
    /// measured by saturating the server.
    pub timed: bool,
    /// A flag that ends the calibration with an error when it is set to true.
    pub stop: Arc<AtomicBool>,
}

/// The processor for a calibration: the last one that this process may use, because the first one handles interrupts by
/// default. `None` if it is unknown.
pub fn usual_processor() -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu))
}

/// The progress of a running calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// The name of the current phase, such as `measuring`.
    pub phase: &'a str,
    /// The completed share of the calibration, from 0 to 1; it never decreases.
    pub share: f64,
    /// The maximum time that remains.
    pub left: Duration,
    /// The name of the request that is being measured; empty if there is none.
    pub request: &'a str,
}

impl Plan {
    /// The number of passes over the loads.
    pub(crate) fn passes(&self) -> usize {
        if self.quick { 6 } else { 12 }
    }

    /// The time limit for all passes.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(match (self.quick, self.timed) {
            (true, true) => 4,
            (true, false) => 23,
            (false, true) => 30,
            (false, false) => 180,
        })
    }

    /// The minimum duration of a batch of requests.
    pub(crate) fn batch(&self) -> Duration {
        Duration::from_micros(if self.quick { 850 } else { 4000 })
    }

    /// The number of requests that are sent individually, to measure the cost of a wakeup.
    pub(crate) fn lone_requests(&self) -> u32 {
        if self.quick { 60 } else { 150 }
    }

    /// True if the plan contains additional sizes. A thorough plan requires handler times, with which a load takes only
    /// about a millisecond.
    pub(crate) fn thorough(&self) -> bool {
        self.timed && !self.quick
    }

    /// Selects the sizes to measure from the ascending `sizes`. A quick plan has every other size and the last size; a
    /// thorough plan also has the geometric means of neighbouring sizes.
    pub(crate) fn sizes(&self, sizes: &[u16]) -> Vec<u16> {
        let (step, last) = (1 + usize::from(self.quick), sizes.len().saturating_sub(1));
        let kept = sizes.iter().enumerate();
        let kept = kept.filter(|(at, _)| at % step == 0 || *at == last);
        let mut all: Vec<u16> = kept.map(|(_, size)| *size).collect();
        if !self.thorough() {
            return all;
        }
        let mean = |pair: &[u16]| match pair {
            [low, high] => (f64::from(*low) * f64::from(*high)).sqrt().round() as u16,
            _ => 0,
        };
        all.extend(sizes.windows(2).map(mean));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// True if the request `name` is to be measured.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let mut only = self.only.iter();
        self.only.is_empty() || only.any(|only| only.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn quick_plan_drops_inner_sizes() {
        let quick = Plan {
            quick: true,
            ..Plan::default()
        };
        assert_eq!(quick.sizes(&[1, 2, 3, 4]), [1, 3, 4]);
        assert_eq!(Plan::default().sizes(&[1, 10, 100]), [1, 10, 100]);
        let thorough = Plan {
            timed: true,
            ..Plan::default()
        };
        assert_eq!(thorough.sizes(&[1, 10, 100]), [1, 3, 10, 32, 100]);
    }

    #[test]
    fn only_option_selects_requests_by_name() {
        let plan = Plan {
            only: vec!["polyline".into()],
            ..Plan::default()
        };
        assert!(plan.wants("PolyLine"));
        assert!(!plan.wants("PolyText8"));
        assert!(Plan::default().wants("PolyText8"));
    }
}
