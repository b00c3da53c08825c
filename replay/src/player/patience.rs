//! The times that the player waits.

use std::time::Duration;

/// The time after which a silent display is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The time after which a client lets others go on while one of them has grabbed the server.
const TURN_IN_A_GRAB: Duration = Duration::from_millis(250);
/// The time after which others go on without a grab: one of them may have to free a fence or a counter first.
const TURN: Duration = Duration::from_secs(2);
/// The wait for a recorded event before the player asks whether the display has caught up.
pub(super) const EVENT_PATIENCE: Duration = Duration::from_millis(500);

/// The longest wait for an answer before others go on.
pub(super) fn turn(is_grabbed: bool) -> Duration {
    match is_grabbed {
        true => TURN_IN_A_GRAB,
        false => TURN,
    }
}
