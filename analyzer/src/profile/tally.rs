//! Charges summed by a key: the name of a request, a client, or a window.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use x11prof_cost_model::{Cost, CostSource, Micros};
use x11prof_server_model::{Charge, TransportPart};

use crate::server_time::{Rate, Share};

/// The sums over the requests under one key.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The number of requests in the sums.
    pub count: u64,
    /// The number of bytes of the requests on the wire.
    pub bytes: u64,
    /// The number of requests that are charged the network's latency.
    pub blocking: u64,
    /// The number of requests that failed with an X error.
    pub failed: u64,
    /// The server's time for the operations of the requests, without transport.
    pub server: Cost,
    /// The number of bytes of replies and errors to the requests; for a client or a window, also of its events.
    pub returned: u64,
    /// The server's time for the transport of the requests, which is also part of the sums of transport.
    pub transport: Cost,
    /// The part of `transport` for pixels that were not in the processor's caches.
    pub(crate) cold: Cost,
    /// The measured share of the server's time in `server` and in `transport`.
    pub(crate) measured: Share,
    pub(crate) measured_transport: Share,
    /// The number of requests with a cost measured at their size.
    pub exact: u64,
    /// The number of requests with a size between or beyond the measured sizes.
    pub interpolated: u64,
    /// The number of requests with the cost of another value of an attribute.
    pub substituted: u64,
    /// The number of requests without cost data.
    pub no_cost: u64,
}

impl Line {
    /// Adds a charge. The cost of an operation is multiplied by `factor`.
    pub(crate) fn add(&mut self, charge: &Charge<'_>, factor: f64) {
        match charge {
            Charge::Request { bytes, cost, .. } => {
                self.count += 1;
                self.bytes = self.bytes.saturating_add(*bytes);
                self.server += cost.server.times(factor);
                *self.counter_of(cost.basis) += 1;
            }
            Charge::RepeatedRequests(alike) => {
                self.count += alike.times;
                self.bytes = (self.bytes).saturating_add(alike.bytes.saturating_mul(alike.times));
                *self.counter_of(alike.cost.basis) += alike.times;
                let times = alike.times as f64;
                let cold = alike.cold.times(times);
                self.transport += alike.read.times(times) + cold;
                self.cold += cold;
                self.server += alike.cost.server.times(factor * times);
            }
            Charge::Failed { correction, .. } => {
                self.failed += 1;
                if let Some((was, now)) = correction {
                    self.server = self.server.without(was.times(factor)) + now.times(factor);
                }
            }
            Charge::Transport {
                part,
                bytes,
                server,
                ..
            } => {
                self.returned = self.returned.saturating_add(*bytes);
                self.transport += *server;
                if *part == TransportPart::Cold {
                    self.cold += *server;
                }
            }
            Charge::Blame { server, .. } => self.transport += *server,
        }
    }

    /// The counter of requests with this cost source.
    fn counter_of(&mut self, basis: CostSource) -> &mut u64 {
        match basis {
            CostSource::Exact => &mut self.exact,
            CostSource::Interpolated => &mut self.interpolated,
            CostSource::Substituted => &mut self.substituted,
            CostSource::NoCost => &mut self.no_cost,
        }
    }
}

impl Line {
    /// Returns the cost of the operations, including the extra cost of cold caches.
    pub(crate) fn with_cold(&self) -> Cost {
        self.server + self.cold
    }

    /// Returns the line with its measured shares converted to times by `rate`; unchanged without a rate.
    pub(crate) fn at(&self, rate: Option<Rate>) -> Line {
        match rate {
            None => self.clone(),
            Some(rate) => Line {
                server: match rate.timed {
                    true => Cost::exact(rate.time(self.measured)),
                    false => measured(rate.time(self.measured), self.with_cold()),
                },
                transport: measured(rate.time(self.measured_transport), self.transport),
                ..self.clone()
            },
        }
    }

    /// Adds the sums of another line to this line.
    pub(crate) fn join(&mut self, other: &Line) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.blocking += other.blocking;
        self.failed += other.failed;
        self.server += other.server;
        self.returned = self.returned.saturating_add(other.returned);
        self.transport += other.transport;
        self.cold += other.cold;
        self.measured += other.measured;
        self.measured_transport += other.measured_transport;
        self.exact += other.exact;
        self.interpolated += other.interpolated;
        self.substituted += other.substituted;
        self.no_cost += other.no_cost;
    }
}

/// Returns a measured time as a cost. Its bounds have the same ratio to the time as the bounds of `cost` to `cost`.
pub(crate) fn measured(time: Micros, cost: Cost) -> Cost {
    if cost.time.0 <= 0.0 {
        return Cost::exact(time);
    }
    let part = time.0 / cost.time.0;
    Cost {
        time,
        low: cost.low * part,
        high: cost.high * part,
    }
}

/// The sums of each key.
#[derive(Debug)]
pub(crate) struct Tally<K> {
    lines: Vec<(K, Line)>,
    places: FxHashMap<K, usize>,
    /// The index of the line used last, kept because consecutive charges often have the same key.
    last: usize,
}

impl<K> Default for Tally<K> {
    fn default() -> Tally<K> {
        Tally {
            lines: Vec::new(),
            places: FxHashMap::default(),
            last: 0,
        }
    }
}

impl<K: Eq + Hash + Copy> Tally<K> {
    /// The sums of `key`, for changes.
    pub(crate) fn line(&mut self, key: K) -> &mut Line {
        if self.lines.get(self.last).is_none_or(|(of, _)| *of != key) {
            self.last = *self.places.entry(key).or_insert(self.lines.len());
            if self.last == self.lines.len() {
                self.lines.push((key, Line::default()));
            }
        }
        &mut self.lines[self.last].1
    }

    /// Keeps the sums of the `count` most expensive keys, and adds all other sums to the key `into`.
    pub(crate) fn fold(&mut self, count: usize, into: K) {
        let mut lines = std::mem::take(self).lines;
        let own = lines.iter().position(|(key, _)| *key == into);
        let mut folded = own.map_or_else(Line::default, |at| lines.swap_remove(at).1);
        lines.sort_by(|(_, a), (_, b)| {
            let by_time = b.server.time.0.total_cmp(&a.server.time.0);
            by_time.then(b.count.cmp(&a.count))
        });
        for (_, line) in lines.drain(count.min(lines.len())..) {
            folded.join(&line);
        }
        lines.push((into, folded));
        let keys = lines.iter().enumerate();
        self.places = keys.map(|(place, (key, _))| (*key, place)).collect();
        self.lines = lines;
    }

    pub(crate) fn get(&self, key: K) -> Option<&Line> {
        let place = self.places.get(&key)?;
        self.lines.get(*place).map(|(_, line)| line)
    }

    /// The keys with their sums, in no particular order.
    pub(crate) fn into_lines(self) -> impl Iterator<Item = (K, Line)> {
        self.lines.into_iter()
    }

    /// The keys with their sums, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &Line)> {
        self.lines.iter().map(|(key, line)| (*key, line))
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn contains(&self, key: K) -> bool {
        self.places.contains_key(&key)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Cost, Micros};

    use super::{Line, Tally};

    #[test]
    fn cheap_lines_are_folded_and_the_sum_is_kept() {
        let mut tally: Tally<u32> = Tally::default();
        for key in 1..=10 {
            *tally.line(key) = Line {
                count: 1,
                server: Cost {
                    time: Micros(f64::from(key)),
                    ..Cost::default()
                },
                ..Line::default()
            };
        }
        tally.fold(3, 0);
        assert_eq!(tally.len(), 4);
        assert!((8..=10).all(|key| tally.contains(key)));
        let folded = tally.get(0).unwrap();
        assert_eq!((folded.count, folded.server.time), (7, Micros(28.0)));
        tally.fold(3, 0);
        assert_eq!(tally.get(0).unwrap().count, 7);
    }
}
