//! The times that the player waits.

use std::time::Duration;

/// The time after which a silent display is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The time after which a client lets others go on: one of them may have grabbed the server.
pub(super) const TURN: Duration = Duration::from_millis(250);
/// Longest wait for an event that the recording has: a server in its own time, on a busy machine.
pub(super) const EVENT_PATIENCE: Duration = Duration::from_millis(500);
