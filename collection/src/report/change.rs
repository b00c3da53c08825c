//! The change of an issue between two versions, in the report.

use serde::Serialize;

use crate::changes::Change;

/// The difference of an issue, or of a program's issues, between two versions.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ChangeReport {
    /// The kind of the change: `new`, `fixed`, `worse` or `better`; null if the difference is not significant.
    pub change: Option<&'static str>,
    /// The mean time over the threshold per user action in the old version, in milliseconds.
    pub old_per_action_ms: f64,
    /// The mean time over the threshold per user action in the new version, in milliseconds.
    pub new_per_action_ms: f64,
    /// The probability (0 to 1) of such a difference between equal versions; null if there are too few
    /// sessions, or if no issue of the program is among the 200 with the most time.
    #[serde(rename = "p_value")]
    pub chance: Option<f64>,
}

impl ChangeReport {
    pub(super) fn of(change: Change) -> ChangeReport {
        let [old_per_action_ms, new_per_action_ms] = change.per_action_ms;
        ChangeReport {
            change: change.word(),
            old_per_action_ms,
            new_per_action_ms,
            chance: change.chance,
        }
    }
}
