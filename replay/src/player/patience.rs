//! The time limits for waits of the player.

use std::time::Duration;

/// If the player has waited in vain for this long, for all clients together, or the display accepts no bytes for this long,
/// the player stops. Replies that arrive may take any time in sum, because over a slow link each may take a second.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The time after which other clients continue while a client has grabbed the server.
const TURN_IN_A_GRAB: Duration = Duration::from_millis(250);
/// After this time other clients continue without a grab. One of them may have to trigger a fence or a counter first.
pub(super) const TURN: Duration = Duration::from_secs(2);
/// If the display has nothing yet, the player checks again after this time.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// The wait for a recorded event before the player checks if the display has handled all requests.
pub(super) const EVENT_PATIENCE: Duration = Duration::from_millis(500);

/// The longest wait for a client's reply before other clients continue; shorter if a client has grabbed the server.
pub(super) fn turn(is_grabbed: bool) -> Duration {
    match is_grabbed {
        true => TURN_IN_A_GRAB,
        false => TURN,
    }
}
