//! Times of another server than the recorded one: its prices, times what was measured here over prices here.
//!
//! What both prices lack is about the same on both servers: cold caches, page faults, this machine's hour.

use x11prof_cost_model::{Cost, FastMap, Micros};
use x11prof_protocol::Symbol;

use super::tally::{Line, Tally};
use super::transport::{PARTS, TransportLine, index};
use x11prof_server_model::TransportPart;

/// What something took, and its price.
pub(super) type MeasuredAndPrice = (Micros, Micros);

/// Measured over priced, on the recorded server.
pub(super) struct Carried {
    requests: FastMap<Symbol, f64>,
    parts: [f64; PARTS.len()],
    /// Of all that has a price: for what has none here.
    all: f64,
    /// Of the other server's requests together: for groups of them, which so add up to the same.
    groups: f64,
}

impl Carried {
    /// From what each request and each part of transport took on the recorded server, and its price there, to the
    /// other server's `lines`.
    pub(super) fn new(
        requests: impl Iterator<Item = (Symbol, MeasuredAndPrice)>,
        parts: impl Fn(TransportPart) -> MeasuredAndPrice,
        lines: &Tally<Symbol>,
    ) -> Carried {
        let (mut measured, mut priced) = (Micros::ZERO, Micros::ZERO);
        let mut ratio = |(took, price): MeasuredAndPrice| {
            measured += took;
            priced += price;
            Some(took.0 / price.0).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        };
        let requests = requests.filter_map(|(name, both)| Some((name, ratio(both)?)));
        let requests: FastMap<Symbol, f64> = requests.collect();
        let parts = PARTS.map(|part| match part {
            // Not carried: what the recorded server does for nobody is its own.
            TransportPart::Own | TransportPart::Cold | TransportPart::Update => None,
            _ => ratio(parts(part)),
        });
        let all = measured.0 / priced.0;
        let all = if all.is_finite() && all > 0.0 {
            all
        } else {
            1.0
        };
        let (mut carried, mut there) = (0.0, 0.0);
        for (name, line) in lines.iter() {
            let price = line.with_cold().time.0;
            carried += price * requests.get(&name).copied().unwrap_or(all);
            there += price;
        }
        Carried {
            requests,
            parts: parts.map(|ratio| ratio.unwrap_or(all)),
            all,
            groups: if there > 0.0 { carried / there } else { all },
        }
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
            server: line.with_cold().times(self.groups),
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
