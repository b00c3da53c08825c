//! The requests that the server handled recently, according to its handler times.

use std::collections::{BTreeMap, VecDeque};

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::queue::Blamed;
use crate::pipeline::HandledRequest;

/// Maximum number of kept requests; the latest are kept.
const KEPT: usize = 1 << 16;

/// The client whose requests used the most handler time in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Busiest {
    pub(super) blamed: Blamed,
    /// The handler time of the client's requests, in nanoseconds.
    pub(super) nanos: f64,
}

/// The requests that the server handled recently, in the order of their handling.
#[derive(Debug, Default)]
pub(super) struct HandledLately(VecDeque<HandledRequest>);

impl HandledLately {
    /// Adds a handled request. Drops requests whose handlers ended before `turned` (nanoseconds).
    pub(super) fn add(&mut self, one: &HandledRequest, turned: u64) {
        while self
            .0
            .pop_front_if(|one| end(one) < turned as f64)
            .is_some()
        {}
        if self.0.len() < KEPT {
            self.0.push_back(*one);
        }
    }

    /// The client whose requests used the most handler time between `from` and `to` (nanoseconds); `None` if the server
    /// handled no requests.
    pub(super) fn busiest(&self, from: u64, to: u64) -> Option<Busiest> {
        let mut clients: BTreeMap<ConnectionId, BTreeMap<Symbol, f64>> = BTreeMap::new();
        let until = |one: &&HandledRequest| one.start.as_nanos() <= to;
        for one in self.0.iter().take_while(until) {
            let before = from.saturating_sub(one.start.as_nanos()) as f64;
            if one.nanos > before {
                let requests = clients.entry(one.connection).or_default();
                *requests.entry(one.request).or_default() += one.nanos - before;
            }
        }
        let alone = clients.len() == 1;
        let sums = clients
            .into_iter()
            .map(|(client, requests)| (client, requests.values().sum::<f64>(), requests));
        let (client, nanos, requests) = sums.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let longest = requests.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let blamed = Blamed {
            client,
            request: longest.map(|(request, _)| request),
            alone,
        };
        Some(Busiest { blamed, nanos })
    }
}

fn end(one: &HandledRequest) -> f64 {
    one.start.as_nanos() as f64 + one.nanos
}
