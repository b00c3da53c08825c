//! Names of landmarks, windows and locations. They contain window titles, and a session may have any number of titles.
//!
//! A `Symbol` lives as long as the program, and there is space for about ten thousand symbols. A label lives as long as
//! its owner.

use std::fmt;
use std::sync::Arc;

use x11prof_trace::ConnectionId;

/// The name of a client in reports: the name of its process, if known, and the number of its connection.
pub fn client_name(process: Option<&str>, connection: ConnectionId) -> String {
    match process {
        Some(name) => format!("{name} (client {})", connection.0),
        None => format!("client {}", connection.0),
    }
}

/// The name of a client's process, from its name in reports: `xterm` of `xterm (client 1)`. `None` if it is unknown.
pub fn program_of(client: &str) -> Option<&str> {
    client.rsplit_once(" (client ").map(|(name, _)| name)
}

/// A name that its users share. It is freed with its last reference.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(Arc<str>);

impl Label {
    /// Creates a label with this text.
    pub fn new(text: &str) -> Label {
        Label(text.into())
    }

    /// The text of the label.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
