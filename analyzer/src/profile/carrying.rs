//! Times of another server than the recorded one: its prices, times what was measured here over prices here.
//!
//! What both prices lack is about the same on both servers: cold caches, page faults, this machine's hour.

use x11prof_cost_model::{Cost, FastMap, Micros};
use x11prof_protocol::Symbol;

use super::charges::TransportPart;
use super::tally::Line;
use super::{PARTS, Profile, TransportLine, index};
use crate::measured::Basis;

/// Measured over priced, on the recorded server.
pub(super) struct Carried {
    requests: FastMap<Symbol, f64>,
    parts: [f64; PARTS.len()],
    /// Of all that has a price: for what has none here.
    all: f64,
}

impl Carried {
    /// From the recorded server's profile; `None` where nothing was measured.
    pub(super) fn from(here: &Profile) -> Option<Carried> {
        if here.basis() != Basis::Measured {
            return None;
        }
        let (mut measured, mut priced) = (Micros::ZERO, Micros::ZERO);
        let mut ratio = |took: Micros, price: Micros| {
            measured += took;
            priced += price;
            Some(took.0 / price.0).filter(|it| it.is_finite() && *it > 0.0)
        };
        let requests = here.lines().filter_map(|(name, line)| {
            let price = here.sums.lines.get(name)?.with_cold().time;
            Some((name, ratio(line.server.time, price)?))
        });
        let requests = requests.collect();
        let parts = PARTS.map(|part| {
            let price = here.sums.transport[index(part)].server.time;
            match part {
                // Not carried: what the recorded server does for nobody is its own.
                TransportPart::Own | TransportPart::Cold | TransportPart::Update => None,
                _ => ratio(here.transport(part).server.time, price),
            }
        });
        let all = measured.0 / priced.0;
        let all = if all.is_finite() && all > 0.0 {
            all
        } else {
            1.0
        };
        Some(Carried {
            requests,
            parts: parts.map(|it| it.unwrap_or(all)),
            all,
        })
    }

    /// A request's line.
    pub(super) fn line(&self, name: Symbol, line: &Line) -> Line {
        let ratio = self.requests.get(&name).copied().unwrap_or(self.all);
        Line {
            server: line.with_cold().times(ratio),
            transport: line.transport.times(self.all),
            ..line.clone()
        }
    }

    /// A group's line, of many requests.
    pub(super) fn group(&self, line: &Line) -> Line {
        Line {
            server: line.with_cold().times(self.all),
            transport: line.transport.times(self.all),
            ..line.clone()
        }
    }

    /// A part of transport.
    pub(super) fn part(&self, part: TransportPart, line: TransportLine) -> TransportLine {
        // Requests have what is cold of them.
        if part == TransportPart::Cold {
            return TransportLine::default();
        }
        let server: Cost = line.server.times(self.parts[index(part)]);
        TransportLine { server, ..line }
    }
}
