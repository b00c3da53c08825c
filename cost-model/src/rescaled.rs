//! The origin of rescaled parameters: the machine on which they were measured, and the factor.

use serde::{Deserialize, Serialize};

/// The machine on which rescaled costs were measured, and the factor by which they were multiplied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rescaled {
    /// The processor model of the machine on which the costs were measured.
    pub from: String,
    /// The factor: the median ratio of the times on the two machines.
    #[serde(rename = "factor")]
    pub times: f64,
    /// The lower end of the range of the middle 80 % of the ratios.
    pub low: f64,
    /// The upper end of the range of the middle 80 % of the ratios.
    pub high: f64,
}

impl Rescaled {
    /// True if the factor and its range are positive and finite.
    pub(crate) fn is_sound(&self) -> bool {
        let all = [self.times, self.low, self.high];
        all.iter().all(|part| part.is_finite() && *part > 0.0)
    }
}

/// The factors as text: `by 1.28 (0.88 to 1.47)`.
impl std::fmt::Display for Rescaled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Rescaled {
            times, low, high, ..
        } = self;
        write!(f, "by {times:.2} ({low:.2} to {high:.2})")
    }
}
