//! The times that the player waits.

use std::time::Duration;

/// The time after which the player gives up a silent display.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The time after which other clients continue while a client has grabbed the server.
const TURN_IN_A_GRAB: Duration = Duration::from_millis(250);
/// The time after which others continue without a grab: one of them may have to trigger a fence or a counter first.
const TURN: Duration = Duration::from_secs(2);
/// The wait for a recorded event before the player checks if the display has caught up.
pub(super) const EVENT_PATIENCE: Duration = Duration::from_millis(500);

/// The longest wait for an answer before others go on.
pub(super) fn turn(is_grabbed: bool) -> Duration {
    match is_grabbed {
        true => TURN_IN_A_GRAB,
        false => TURN,
    }
}
