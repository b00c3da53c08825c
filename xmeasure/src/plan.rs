//! What to measure, and how thoroughly.

use std::time::Duration;

/// What to measure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Fewer sizes, shorter batches, fewer passes: under half a minute.
    pub quick: bool,
    /// Only these requests (and the transport costs); all where empty.
    pub only: Vec<String>,
    /// Pin the server and this process to processors, which steadies the figures.
    pub pin: Option<Pin>,
}

/// Where the two processes run while they are measured; both are put back afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// The processor of both: there the server's processor time is steadiest, for it always finds
    /// a full socket, still in the cache.
    pub both: usize,
    /// Another one, from where the cost of a wakeup is measured as well.
    pub other: Option<usize>,
}

/// How far a calibration has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Batches done.
    pub done: usize,
    /// Batches in all.
    pub total: usize,
    /// The request being measured.
    pub name: &'a str,
}

impl Plan {
    /// How often each workload is measured. Six is the least number of samples whose extremes
    /// bound a 95 % confidence interval of the median.
    pub(crate) fn passes(&self) -> usize {
        if self.quick { 6 } else { 11 }
    }

    /// How long one batch is to take at least.
    pub(crate) fn batch(&self) -> Duration {
        Duration::from_millis(if self.quick { 2 } else { 8 })
    }

    /// How many requests are sent alone, one after the other, for the cost of a wakeup.
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
        self.only.is_empty()
            || self
                .only
                .iter()
                .any(|wanted| wanted.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;

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
        let plan = Plan {
            only: vec!["polyline".into()],
            ..Plan::default()
        };
        assert!(plan.wants("PolyLine"));
        assert!(!plan.wants("PolyText8"));
        assert!(Plan::default().wants("PolyText8"));
    }
}
