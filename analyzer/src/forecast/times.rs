//! The times of a recording over another link: the end of an episode or a start-up.

use std::sync::atomic::{AtomicUsize, Ordering};

use x11prof_cost_model::Network;
use x11prof_trace::{ConnectionId, EmulatedNetwork};

use super::changes::Changes;
use super::collect::{Forecasts, Id, Recorded};
use super::report::{SIMULATED, link};
use super::simulate::{Simulated, simulate};

/// A recording, and its simulated times over a network link.
#[derive(Debug)]
pub struct ForecastTimes {
    recorded: Recorded,
    times: Simulated,
    link: Option<EmulatedNetwork>,
    /// The number of writes and reads that may still be simulated for single start-ups.
    left: AtomicUsize,
}

impl Forecasts {
    /// Simulates the recording over a network, and returns its times.
    pub fn times(self, network: &Network) -> ForecastTimes {
        let link = link(network);
        ForecastTimes {
            times: simulate(&self.recorded, link.as_ref(), &Changes::default()),
            recorded: self.recorded,
            link,
            left: AtomicUsize::new(SIMULATED),
        }
    }
}

impl ForecastTimes {
    /// Returns the forecast latency in nanoseconds: from `start` until the client's work up to `end` is complete over
    /// the link. `last` has the time up to which the client wrote, and the maximum nanoseconds of the server's last
    /// work. `None` if the client sent nothing in this time.
    pub(crate) fn latency(
        &self,
        client: ConnectionId,
        [start, end]: [u64; 2],
        last: [u64; 2],
    ) -> Option<u64> {
        let done = self
            .recorded
            .done(&self.times, client, [start, end], last)?;
        Some(done.saturating_sub(self.begun(client, start)))
    }

    /// Returns the forecast latency of a start-up, like [`ForecastTimes::latency`]. What came after the start-up is left
    /// out, as in a forecast of start-ups.
    pub(crate) fn start_up(
        &self,
        client: ConnectionId,
        [start, end]: [u64; 2],
        last: [u64; 2],
    ) -> Option<u64> {
        let mut left = self.left.load(Ordering::Relaxed);
        let part = self.recorded.part(end, &mut left);
        self.left.store(left, Ordering::Relaxed);
        let Some(recorded) = part else {
            return self.latency(client, [start, end], last);
        };
        let times = simulate(&recorded, self.link.as_ref(), &Changes::default());
        let done = recorded.done(&times, client, [start, end], last)?;
        let start = start.saturating_add(times.delay(&recorded, client));
        Some(done.saturating_sub(start))
    }

    /// Returns the forecast time of `start` in nanoseconds. The interval between `start` and the stimulus remains as
    /// recorded, and that between the beginning of a start-up and the connection.
    pub(crate) fn begun(&self, client: ConnectionId, start: u64) -> u64 {
        if self.recorded.last_write(client, start).is_none() {
            return start.saturating_add(self.times.delay(&self.recorded, client));
        }
        let mut reads = self.recorded.reads.iter().enumerate();
        let first = reads.find(|(_, read)| read.client == client && read.at >= start);
        first.map_or(start, |(id, read)| {
            let before = read.sent.saturating_sub(start);
            self.times.reads[id].sent.saturating_sub(before)
        })
    }
}

impl Recorded {
    /// The forecast time, in nanoseconds, at which the server has handled all requests that the client had sent by
    /// `end`, and the client has read the replies. The client's last write was at or before `wrote`, and the server's
    /// last work took at most `drawing` nanoseconds. `None` if the client wrote nothing since `start`.
    pub(super) fn done(
        &self,
        times: &Simulated,
        client: ConnectionId,
        [start, end]: [u64; 2],
        [wrote, drawing]: [u64; 2],
    ) -> Option<u64> {
        let ids = self.of_client.get(&client)?;
        let is_before = |id: &Id| self.writes[*id].at <= wrote;
        let last = *ids.get(ids.partition_point(is_before).checked_sub(1)?)?;
        let write = &self.writes[last];
        if write.at < start {
            return None;
        }
        let own = end.saturating_sub(write.arrived).min(drawing);
        let served = times.writes[last].served.saturating_add(own);
        // The last write may have replies that the client waited for. A reply that came while the server drew the end is
        // not one of them.
        let reads = self.reads.iter().enumerate();
        let replies = reads.filter(|(_, read)| {
            read.client == client && read.cause == Some(last) && read.at <= wrote
        });
        replies
            .map(|(id, _)| times.reads[id].delivered)
            .chain([served])
            .max()
    }
}
