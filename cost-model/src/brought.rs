//! The record that parameters were brought from one machine to another, and the factors.

use serde::{Deserialize, Serialize};

/// The ratio of the times on two machines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// The median ratio of the loads' times.
    pub times: f64,
    /// The least of them.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Factor {
    /// A factor that is equal for all loads.
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

/// The machine whose parameters were brought to the one that their `host` names, and the factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brought {
    /// The model of the processor that they were measured on.
    pub from: String,
    /// The factor of requests, replies, events and updates of the screen.
    pub requests: Factor,
    /// The factor of waking up, of cold code and data afterwards, and of writing.
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
