//! The time limits for the player's waits.

use std::time::Duration;

/// The player stops if its waits without a reply exceed this sum for all clients, or if the display accepts no bytes
/// for this long. Waits that end with a reply do not count, because each may take a second over a slow link.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The wait for a client's reply after which other clients continue, if a client has grabbed the server.
const TURN_IN_A_GRAB: Duration = Duration::from_millis(250);
/// The wait for a client's reply after which other clients continue, if no client has grabbed the server. Another
/// client may have to trigger a fence or a counter first.
pub(super) const TURN: Duration = Duration::from_secs(2);
/// The shortest wait for a client, and the wait before the player tries again to write to a full socket.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// The wait for a recorded event before the player makes sure that the display has handled all earlier requests.
pub(super) const EVENT_PATIENCE: Duration = Duration::from_millis(500);

/// The longest wait for a client's reply before other clients continue. It is shorter while a client has grabbed the server.
pub(super) fn turn(is_grabbed: bool) -> Duration {
    match is_grabbed {
        true => TURN_IN_A_GRAB,
        false => TURN,
    }
}
