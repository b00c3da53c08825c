//! The clients that the user selected by name or number.

use rustc_hash::FxHashSet;
use x11prof_trace::{ConnectionId, Control};

use super::per_client::MAX_CLIENTS;
use crate::text::label::client_name;
use crate::text::pattern::means;

/// A client or landmark filter that matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// The kind of filter: `client` or `landmark`.
    pub what: &'static str,
    /// The text that the user typed as the filter.
    pub wanted: String,
    /// The names of clients or landmarks that exist.
    pub known: Vec<String>,
}

/// The clients whose name contains a text, or the client with a number; all clients without a filter.
#[derive(Debug, Clone, Default)]
pub struct ClientChoice {
    typed: Option<String>,
    chosen: FxHashSet<ConnectionId>,
    /// The names of clients that are not selected, for an error message.
    others: Vec<String>,
}

impl ClientChoice {
    /// Creates a filter from the text that the user typed; `None` selects all clients.
    pub fn new(typed: Option<&str>) -> ClientChoice {
        ClientChoice {
            typed: typed.map(str::to_owned),
            ..ClientChoice::default()
        }
    }

    /// Processes the next control record, which may name a client.
    pub fn control(&mut self, control: &Control) {
        if let Control::Opened(opened) = control
            && let Some(typed) = &self.typed
            && self.chosen.len() + self.others.len() < MAX_CLIENTS
        {
            match means(typed, opened) {
                true => _ = self.chosen.insert(opened.connection),
                false => {
                    let name = client_name(opened.name.as_deref(), opened.connection);
                    self.others.push(name);
                }
            }
        }
    }

    /// Returns true if the user selected `client`, or all clients.
    pub fn holds(&self, client: ConnectionId) -> bool {
        self.typed.is_none() || self.chosen.contains(&client)
    }

    /// True if the user selected all clients.
    pub fn is_all(&self) -> bool {
        self.typed.is_none()
    }

    /// The text that the user typed as the filter; `None` if all clients are selected.
    pub fn typed(&self) -> Option<&str> {
        self.typed.as_deref()
    }

    /// The user's filter, if it matched no client; `None` if it matched.
    pub fn unmatched(&self) -> Option<Unmatched> {
        let wanted = self.typed.clone().filter(|_| self.chosen.is_empty())?;
        Some(Unmatched {
            what: "client",
            wanted,
            known: self.others.clone(),
        })
    }
}
