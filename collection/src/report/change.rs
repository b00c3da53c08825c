//! The change between two versions.

use serde::Serialize;

use crate::changes::Change;

/// A difference between two versions.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ChangeReport {
    /// `new`, `fixed`, `worse`, `better`; null if it may be chance.
    pub change: Option<&'static str>,
    /// Time over the threshold for each action of the user, in the old version.
    pub old_per_action_ms: f64,
    /// Milliseconds over the threshold for each action in the new version.
    pub new_per_action_ms: f64,
    /// The probability of such a difference between equal versions; null if there are too few sessions.
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
