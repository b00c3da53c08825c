//! Times on another server than the recorded server: the other server's estimated cost, times the ratio of measured
//! time to estimated cost on the recorded server.
//!
//! Effects that neither estimate contains are about the same on both servers: cold caches, page faults, the load of the
//! machine.

use rustc_hash::FxHashMap;
use x11prof_cost_model::{Cost, Micros};
use x11prof_protocol::Symbol;

use super::sums::Sums;
use super::tally::Line;
use super::transport::{PARTS, TransportLine, index};
use x11prof_server_model::TransportPart;

/// The parts of transport that are charged to requests.
const CAUSED: [TransportPart; 4] = [
    TransportPart::Wakeup,
    TransportPart::Read,
    TransportPart::Reply,
    TransportPart::Error,
];

/// A measured time, and the estimated cost of the same work, in microseconds.
pub(super) type MeasuredAndEstimate = (Micros, Micros);

/// The ratios of measured time to estimated cost on the recorded server, by request and by part of transport.
pub(super) struct ExtrapolationRatios {
    requests: FxHashMap<Symbol, f64>,
    parts: [f64; PARTS.len()],
    /// The ratio of all parts that requests cause, so that the time charged to requests remains a part of their total.
    caused: f64,
    /// The ratio of the sums over all work with a cost, used for requests without a separate ratio.
    all: f64,
    /// The ratio of the sums of all requests of the other server, used for groups of requests, so that groups add up to
    /// the same total.
    groups: f64,
}

impl ExtrapolationRatios {
    /// Computes the ratios. `requests` and `parts` have the measured time and the estimated cost on the recorded
    /// server. `there` has the estimated costs on the other server.
    pub(super) fn new(
        requests: impl Iterator<Item = (Symbol, MeasuredAndEstimate)>,
        parts: impl Fn(TransportPart) -> MeasuredAndEstimate,
        there: &Sums,
    ) -> ExtrapolationRatios {
        let (mut measured, mut estimated) = (Micros::ZERO, Micros::ZERO);
        let mut ratio = |(took, cost): MeasuredAndEstimate| {
            measured += took;
            estimated += cost;
            Some(took.0 / cost.0).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        };
        let requests = requests.filter_map(|(name, both)| Some((name, ratio(both)?)));
        let requests: FxHashMap<Symbol, f64> = requests.collect();
        let parts = PARTS.map(|part| match part {
            // Not extrapolated: unattributed work is specific to the recorded server.
            TransportPart::Own | TransportPart::Cold => None,
            _ => ratio(parts(part)),
        });
        let all = measured.0 / estimated.0;
        let all = if all.is_finite() && all > 0.0 {
            all
        } else {
            1.0
        };
        let parts = parts.map(|ratio| ratio.unwrap_or(all));
        let together = |each: &mut dyn Iterator<Item = (f64, f64)>| {
            let (carried, estimated) = each
                .fold((0.0, 0.0), |(carried, estimated), (cost, ratio)| {
                    (carried + cost * ratio, estimated + cost)
                });
            if estimated > 0.0 {
                carried / estimated
            } else {
                all
            }
        };
        let lines = there.lines.iter();
        let groups = together(&mut lines.map(|(name, line)| {
            let ratio = requests.get(&name).copied().unwrap_or(all);
            (line.with_cold().time.0, ratio)
        }));
        let caused = together(
            &mut CAUSED
                .map(index)
                .into_iter()
                .map(|part| (there.transport[part].server.time.0, parts[part])),
        );
        ExtrapolationRatios {
            requests,
            parts,
            caused,
            all,
            groups,
        }
    }

    /// Extrapolates the estimated line of a request on the other server.
    pub(super) fn line(&self, name: Symbol, line: &Line) -> Line {
        let ratio = self.requests.get(&name).copied().unwrap_or(self.all);
        Line {
            server: line.with_cold().times(ratio),
            // Requests have what is cold of them.
            transport: line.transport.without(line.cold).times(self.caused),
            ..line.clone()
        }
    }

    /// Extrapolates the estimated line of a group of requests on the other server.
    pub(super) fn group(&self, line: &Line) -> Line {
        Line {
            server: line.with_cold().times(self.groups),
            // Requests have what is cold of them.
            transport: line.transport.without(line.cold).times(self.caused),
            ..line.clone()
        }
    }

    /// Extrapolates the estimated line of a part of transport on the other server.
    pub(super) fn part(&self, part: TransportPart, line: TransportLine) -> TransportLine {
        // Requests have what is cold of them.
        if part == TransportPart::Cold {
            return TransportLine::default();
        }
        let server: Cost = line.server.times(self.parts[index(part)]);
        TransportLine { server, ..line }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Cost, Micros};
    use x11prof_server_model::TransportPart;

    use super::{ExtrapolationRatios, Line, Sums, index};

    #[test]
    fn request_transport_time_sums_to_rescaled_parts() {
        let cost = |us: f64| Cost::exact(Micros(us));
        // On the other server a wake-up costs 10 and a reply 30. Here wake-ups took twice their cost, replies a tenth,
        // setups ten times.
        let mut there = Sums::default();
        there.transport[index(TransportPart::Wakeup)].server = cost(10.0);
        there.transport[index(TransportPart::Reply)].server = cost(30.0);
        let here = |part| match part {
            TransportPart::Wakeup => (Micros(20.0), Micros(10.0)),
            TransportPart::Reply => (Micros(3.0), Micros(30.0)),
            TransportPart::Setup => (Micros(1000.0), Micros(100.0)),
            _ => (Micros::ZERO, Micros::ZERO),
        };
        let carried = ExtrapolationRatios::new(std::iter::empty(), here, &there);
        let part = |part| {
            carried
                .part(part, there.transport[index(part)])
                .server
                .time
                .0
        };
        let parts = part(TransportPart::Wakeup) + part(TransportPart::Reply);
        assert!((parts - 23.0).abs() < 1e-9, "{parts}");
        let line = Line {
            transport: cost(45.0),
            cold: cost(5.0),
            ..Line::default()
        };
        let charged = carried.line("NoOperation".into(), &line).transport.time.0;
        assert!((charged - parts).abs() < 1e-9, "{charged}");
    }
}
