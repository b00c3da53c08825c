//! Charges added up under a key: a request's name, a client, a window.

use std::hash::Hash;

use x11prof_cost_model::{Basis, Cost, FastMap};

use crate::profile::pricing::Charge;

/// What the requests under one key add up to.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// How many.
    pub count: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// How many are charged the network's latency.
    pub blocking: u64,
    /// How many failed.
    pub failed: u64,
    /// The server's time for the operations.
    pub server: Cost,
    /// The server's time for their transport, which is part of the transport's line.
    pub transport: Cost,
    /// How many were priced as measured.
    pub exact: u64,
    /// How many between or beyond measured sizes.
    pub interpolated: u64,
    /// How many with another attribute's value standing in.
    pub substituted: u64,
    /// How many have no price.
    pub unpriced: u64,
}

impl Line {
    /// Adds a charge, an operation's cost multiplied by `factor`.
    pub(crate) fn add(&mut self, charge: &Charge<'_>, factor: f64) {
        match charge {
            Charge::Request {
                bytes,
                price,
                blocking,
                ..
            } => {
                self.count += 1;
                self.bytes = self.bytes.saturating_add(*bytes);
                self.blocking += u64::from(*blocking);
                self.server += price.server.times(factor);
                *match price.basis {
                    Basis::Exact => &mut self.exact,
                    Basis::Interpolated => &mut self.interpolated,
                    Basis::Substituted => &mut self.substituted,
                    Basis::Unpriced => &mut self.unpriced,
                } += 1;
            }
            Charge::Failed { correction, .. } => {
                self.failed += 1;
                if let Some((was, now)) = correction {
                    self.server = less(self.server, was.times(factor)) + now.times(factor);
                }
            }
            Charge::Pipelined { .. } => self.blocking = self.blocking.saturating_sub(1),
            Charge::Transport { server, .. } | Charge::Blame { server, .. } => {
                self.transport += *server;
            }
        }
    }
}

/// `all` without `part`, which was added to it before.
pub(crate) fn less(all: Cost, part: Cost) -> Cost {
    Cost {
        time: all.time - part.time,
        low: all.low - part.low,
        high: all.high - part.high,
    }
}

/// Lines by key.
#[derive(Debug)]
pub(crate) struct Tally<K>(FastMap<K, Line>);

impl<K> Default for Tally<K> {
    fn default() -> Tally<K> {
        Tally(FastMap::default())
    }
}

impl<K: Eq + Hash + Copy> Tally<K> {
    /// The line of `key`.
    pub(crate) fn line(&mut self, key: K) -> &mut Line {
        self.0.entry(key).or_default()
    }

    pub(crate) fn get(&self, key: K) -> Option<&Line> {
        self.0.get(&key)
    }

    /// All lines, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &Line)> {
        self.0.iter().map(|(key, line)| (*key, line))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn contains(&self, key: K) -> bool {
        self.0.contains_key(&key)
    }
}
