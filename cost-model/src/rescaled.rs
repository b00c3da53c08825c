//! The origin of rescaled parameters: the machine and the factor.

use serde::{Deserialize, Serialize};

/// The machine from which costs were rescaled, and the factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rescaled {
    /// The processor model on which the costs were measured.
    pub from: String,
    /// The median ratio of the loads' times.
    #[serde(rename = "factor")]
    pub times: f64,
    /// The smallest factor.
    pub low: f64,
    /// The largest factor.
    pub high: f64,
}

impl Rescaled {
    /// True if all factors are positive and finite.
    pub(crate) fn is_sound(&self) -> bool {
        let all = [self.times, self.low, self.high];
        all.iter().all(|part| part.is_finite() && *part > 0.0)
    }
}

/// The factors as text: `at 1.28 (0.88 to 1.47) times their cost`.
impl std::fmt::Display for Rescaled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Rescaled {
            times, low, high, ..
        } = self;
        write!(f, "at {times:.2} ({low:.2} to {high:.2}) times their cost")
    }
}
