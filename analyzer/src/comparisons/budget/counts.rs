//! Counts the requests of the selected clients for a budget, by name.

use std::collections::BTreeMap;

use x11prof_protocol::{Message, Symbol};
use x11prof_trace::{ConnectionId, Control};

use crate::clients::ClientChoice;
use crate::pipeline::Observation;

/// Maximum number of counted request names; requests with further names are not counted.
const NAMES: usize = 1 << 13;

/// The number of requests of the selected clients, by name.
#[derive(Debug, Default)]
pub struct BudgetCounts {
    choice: ClientChoice,
    clients: u64,
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) by_name: BTreeMap<Symbol, u64>,
}

impl BudgetCounts {
    /// Selects the clients whose name contains `client`, or the client with this number; all clients if `client` is
    /// `None`.
    pub fn new(client: Option<&str>) -> BudgetCounts {
        BudgetCounts {
            choice: ClientChoice::new(client),
            ..BudgetCounts::default()
        }
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Control(_, control @ Control::Opened(opened)) => {
                self.choice.control(control);
                self.clients += u64::from(self.choice.holds(opened.connection));
            }
            Observation::Message(seen) => {
                if let Message::Request(request) = seen.message
                    && self.choice.holds(seen.connection)
                {
                    self.requests += 1;
                    self.bytes = self.bytes.saturating_add(request.wire_len);
                    if self.by_name.len() < NAMES || self.by_name.contains_key(&request.name) {
                        *self.by_name.entry(request.name).or_default() += 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// True if the requests of this connection count.
    pub(super) fn is_wanted(&self, connection: u32) -> bool {
        self.choice.holds(ConnectionId(connection))
    }

    /// True if the recording has a selected client.
    pub fn has_clients(&self) -> bool {
        self.clients > 0
    }
}
