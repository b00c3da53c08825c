//! What says that parameters were brought from one machine to another: by which factors.

use serde::{Deserialize, Serialize};

/// How much longer one machine takes than another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// How many times as long the middle one of the loads takes.
    pub times: f64,
    /// The least of them.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Factor {
    /// The same for all loads.
    pub fn exact(times: f64) -> Factor {
        Factor {
            times,
            low: times,
            high: times,
        }
    }

    /// The median of `ratios` and their range; `None` of none.
    pub(crate) fn of(mut ratios: Vec<f64>) -> Option<Factor> {
        ratios.retain(|ratio| ratio.is_finite() && *ratio > 0.0);
        ratios.sort_by(f64::total_cmp);
        let middle = [
            *ratios.get(ratios.len().saturating_sub(1) / 2)?,
            *ratios.get(ratios.len() / 2)?,
        ];
        Some(Factor {
            times: (middle[0] * middle[1]).sqrt(),
            low: *ratios.first()?,
            high: *ratios.last()?,
        })
    }

    /// Half the width of the range, relative to the middle: the wider half.
    pub(crate) fn spread(&self) -> f64 {
        (self.high / self.times - 1.0).max(1.0 - self.low / self.times)
    }

    fn is_amount(&self) -> bool {
        let all = [self.times, self.low, self.high];
        all.iter().all(|part| part.is_finite() && *part > 0.0)
    }
}

/// From which machine parameters were brought to the one that their `host` names, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brought {
    /// The model of the processor that they were measured on.
    pub from: String,
    /// What requests, replies, events and updates of the screen were multiplied by.
    pub requests: Factor,
    /// What waking up, what is cold afterwards, and writing were.
    pub wakeups: Factor,
}

impl Brought {
    /// True where all of its figures can be multiplied by.
    pub(crate) fn is_sound(&self) -> bool {
        self.requests.is_amount() && self.wakeups.is_amount()
    }
}

/// In words: `2.00 times (1.80 to 2.10) as long for requests, 1.50 times (…) for wakeups`.
impl std::fmt::Display for Brought {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let factor = |factor: &Factor| {
            format!(
                "{:.2} ({:.2} to {:.2})",
                factor.times, factor.low, factor.high
            )
        };
        write!(
            f,
            "requests at {} times their cost, wakeups at {}",
            factor(&self.requests),
            factor(&self.wakeups)
        )
    }
}
