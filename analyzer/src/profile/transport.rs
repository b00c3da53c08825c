//! The parts of transport, and the sums over each part.

use x11prof_cost_model::Cost;
use x11prof_server_model::TransportPart;

use super::tally::measured;
use crate::server_time::{Rate, Share};

/// The sums over one part of transport.
#[derive(Debug, Clone, Copy, Default)]
pub struct TransportLine {
    /// The number of charges, such as wakeups or events.
    pub count: u64,
    /// The number of bytes on the wire that do not belong to requests.
    pub bytes: u64,
    /// The server's time for this part.
    pub server: Cost,
    /// The measured share of the server's time in `server`.
    pub(crate) measured: Share,
}

impl TransportLine {
    /// Returns the line with its measured share converted to a time by `rate`; unchanged without a rate.
    pub(super) fn at(self, rate: Option<Rate>) -> TransportLine {
        let server = rate.map_or(self.server, |rate| {
            measured(rate.time(self.measured), self.server)
        });
        TransportLine { server, ..self }
    }

    pub(super) fn add(&mut self, bytes: u64, server: Cost) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.server += server;
    }

    /// Adds this cost `times` times, without bytes.
    pub(super) fn add_times(&mut self, server: Cost, times: u64) {
        self.count += times;
        self.server += server.times(times as f64);
    }
}

/// The parts of transport that use server time.
pub(crate) const PARTS: [TransportPart; 8] = [
    TransportPart::Wakeup,
    TransportPart::Read,
    TransportPart::Cold,
    TransportPart::Reply,
    TransportPart::Event,
    TransportPart::Error,
    TransportPart::Setup,
    TransportPart::Own,
];

/// The index of a part in `PARTS`.
pub(super) fn index(part: TransportPart) -> usize {
    match part {
        TransportPart::Wakeup => 0,
        TransportPart::Read => 1,
        TransportPart::Cold => 2,
        TransportPart::Reply => 3,
        TransportPart::Event => 4,
        TransportPart::Error => 5,
        TransportPart::Setup => 6,
        TransportPart::Own => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::{PARTS, index};

    #[test]
    fn transport_parts_match_their_index() {
        assert!(
            PARTS
                .iter()
                .enumerate()
                .all(|(at, part)| index(*part) == at)
        );
    }
}
