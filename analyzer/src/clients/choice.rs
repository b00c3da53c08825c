//! The clients that the user chose by name or number.

use rustc_hash::FxHashSet;
use x11prof_trace::{ConnectionId, Control};

use super::per_client::MAX_CLIENTS;
use crate::text::pattern::means;

/// A choice of a client or a landmark that matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// `client` or `landmark`.
    pub what: &'static str,
    /// The name that the user gave.
    pub wanted: String,
    /// The existing names.
    pub known: Vec<String>,
}

/// The clients whose name contains a text, or the client with a number; all clients without a choice.
#[derive(Debug, Clone, Default)]
pub struct ClientChoice {
    typed: Option<String>,
    chosen: FxHashSet<ConnectionId>,
    /// The names of clients that were not chosen, for an error message.
    others: Vec<String>,
}

impl ClientChoice {
    /// The choice that the user typed; `None` chooses all clients.
    pub fn new(typed: Option<&str>) -> ClientChoice {
        ClientChoice {
            typed: typed.map(str::to_owned),
            ..ClientChoice::default()
        }
    }

    /// Takes the next control record.
    pub fn control(&mut self, control: &Control) {
        if let Control::Opened(opened) = control
            && let Some(typed) = &self.typed
            && self.chosen.len() + self.others.len() < MAX_CLIENTS
        {
            match means(typed, opened) {
                true => _ = self.chosen.insert(opened.connection),
                false => self.others.extend(opened.name.clone()),
            }
        }
    }

    /// True if the user chose this client, or all of them.
    pub fn holds(&self, client: ConnectionId) -> bool {
        self.typed.is_none() || self.chosen.contains(&client)
    }

    /// True if the user chose all clients.
    pub fn is_all(&self) -> bool {
        self.typed.is_none()
    }

    /// The user's choice; `None` if it is all clients.
    pub fn typed(&self) -> Option<&str> {
        self.typed.as_deref()
    }

    /// The choice, if no client matched it.
    pub fn unmatched(&self) -> Option<Unmatched> {
        let wanted = self.typed.clone().filter(|_| self.chosen.is_empty())?;
        Some(Unmatched {
            what: "client",
            wanted,
            known: self.others.clone(),
        })
    }
}
