//! Requests counted for a budget: of the clients that it is about, by name.

use std::collections::{BTreeMap, HashSet};

use x11prof_protocol::{Message, Symbol};
use x11prof_trace::{ConnectionId, Control};

use crate::pipeline::Observation;
use crate::text::pattern::means;

/// Clients, and kinds of request, counted at most.
const CLIENTS: usize = 1 << 14;
const NAMES: usize = 1 << 13;

/// The requests of some clients.
#[derive(Debug, Default)]
pub struct BudgetCounts {
    client: Option<String>,
    counted: HashSet<ConnectionId>,
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) by_name: BTreeMap<Symbol, u64>,
}

impl BudgetCounts {
    /// Counts the clients whose name holds `client`, or whose number it is; all where it is `None`.
    pub fn new(client: Option<&str>) -> BudgetCounts {
        BudgetCounts {
            client: client.map(str::to_owned),
            ..BudgetCounts::default()
        }
    }

    /// Takes the next observation of a pass.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Control(_, Control::Opened(opened)) => {
                let typed = self.client.as_ref();
                let counts = typed.is_none_or(|typed| means(typed, opened));
                if counts && self.counted.len() < CLIENTS {
                    self.counted.insert(opened.connection);
                }
            }
            Observation::Message(seen) => {
                if let Message::Request(request) = seen.message
                    && self.counted.contains(&seen.connection)
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

    /// True where the connection is one of the counted clients'.
    pub(super) fn is_wanted(&self, connection: u32) -> bool {
        self.counted.contains(&ConnectionId(connection))
    }

    /// True where there was a client to count.
    pub fn has_clients(&self) -> bool {
        !self.counted.is_empty()
    }
}
