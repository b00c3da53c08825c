//! The player's time limits.

use std::time::Duration;

/// If the display sends nothing for this long, the player stops.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The time after which other clients continue while a client has grabbed the server.
const TURN_IN_A_GRAB: Duration = Duration::from_millis(250);
/// After this time other clients continue without a grab. One of them may have to trigger a fence or a counter first.
const TURN: Duration = Duration::from_secs(2);
/// The wait for a recorded event before the player checks if the display has caught up.
pub(super) const EVENT_PATIENCE: Duration = Duration::from_millis(500);

/// The longest wait for a reply before other clients continue.
pub(super) fn turn(is_grabbed: bool) -> Duration {
    match is_grabbed {
        true => TURN_IN_A_GRAB,
        false => TURN,
    }
}
