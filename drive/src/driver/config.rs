//! The settings with which a session is driven.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::subject::Subject;

/// The pace at which actions are sent. Each action also waits until the program is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Each action is sent as soon as the program is idle.
    Quiet,
    /// Each action is sent after the pause that the session contains.
    Recorded,
    /// The shortest time from the start of one action to the start of the next.
    Every(Duration),
}

/// Returns the clients that the recorder of the display relays: first resource id, and process id if it is known.
pub type RelayedClients = fn() -> Vec<(u32, Option<u32>)>;

/// The settings with which a session is driven.
#[derive(Debug, Clone)]
pub struct DriveConfig {
    /// The program to which the input is sent.
    pub subject: Subject,
    /// The pace at which actions are sent.
    pub pace: Pace,
    /// If the driver starts the program, only windows of these clients receive input.
    pub clients: RelayedClients,
    /// When this becomes true, the session stops as soon as no key is pressed.
    pub stop: Arc<AtomicBool>,
}
