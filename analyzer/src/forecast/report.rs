//! A forecast as a document (docs/REFERENCE.md).

use serde::{Deserialize, Serialize};
use x11prof_cost_model::Network;
use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, EmulatedNetwork};

use super::changes::Changes;
use super::collect::{Forecasts, Recorded};
use super::critical_path::{PathKind, critical_path};
use super::never_came::NeverCame;
use super::simulate::{ForecastLink, Simulated, simulate};
use crate::networks::{emulated, network};
use crate::pipeline::start_up::StartUpReport;
use crate::text::label::client_name;

/// The additional start-up time that a person notices, in nanoseconds: the limit for keeping the user's flow of thought
/// (Nielsen 1993, chapter 5).
const NOTICED: u64 = 1_000_000_000;
/// Range of the round trips and speeds that are tested for [`LinkLimits`].
const LONGEST_TRIP: u64 = 2_000_000_000;
const SPEEDS: (f64, f64) = (1e3, 1e9);
/// Moments of the recording that are simulated for start-ups, at most. The longest start-ups come first.
const START_UP_MOMENTS: usize = 1 << 21;

/// The forecast of a recording over another link. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastReport {
    /// The speed of the link, in bytes per second; null if bytes take no time.
    pub bytes_per_second: Option<f64>,
    /// The round-trip time of the link in milliseconds.
    pub rtt_ms: f64,
    /// The round-trip time of the recorded link, in milliseconds; null if the recording was made without a link.
    pub recorded_rtt_ms: Option<f64>,
    /// The recorded time from the trace's first record to the last write or read of a client, in milliseconds.
    pub recorded_ms: f64,
    /// The simulated time from the trace's first record to the last write or read of a client, in milliseconds, without
    /// a link.
    pub local_ms: f64,
    /// The simulated time from the trace's first record to the last write or read of a client, over the link, in
    /// milliseconds.
    pub forecast_ms: f64,
    /// The causes of the network's time on the critical path, the largest first.
    pub causes: Vec<ForecastCause>,
    /// The start-up of each client that drew a first frame. Work after the first frame does not count.
    pub start_ups: Vec<ForecastStartUp>,
    /// The limits of latency and bandwidth from which a start-up takes noticeably longer; null if no start-up is
    /// complete.
    pub limits: Option<LinkLimits>,
    /// The replies that clients waited for and never received, the longest wait first.
    pub never_came: Vec<NeverCame>,
    /// True if the recording was too long, so that only its first part was forecast.
    pub is_cut: bool,
}

/// A cause of the network's time on the critical path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastCause {
    /// The kind of cause: `round-trips`, `events`, `connection`, `bytes-to-server` or `bytes-back`.
    pub kind: String,
    /// The name of the request or the event.
    pub name: String,
    /// The name of the client that waited.
    pub client: String,
    /// The number of the client's connection.
    pub connection: u32,
    /// The number of times that the cause is on the critical path.
    pub count: u64,
    /// The time of the cause on the critical path, in milliseconds.
    pub ms: f64,
}

/// The forecast of a client's start-up over another link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastStartUp {
    /// The name of the client whose start-up is forecast.
    pub client: String,
    /// The number of the client's connection.
    pub connection: u32,
    /// The recorded time of the start-up in milliseconds.
    pub recorded_ms: f64,
    /// The simulated time of the start-up over the link, in milliseconds.
    pub forecast_ms: f64,
}

/// The limits of a link on which a start-up takes less than a second longer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkLimits {
    /// The longest round-trip time, at unlimited speed; null if even a round trip of two seconds is not noticed.
    pub rtt_ms: Option<f64>,
    /// The lowest speed, in bytes per second, without latency; null if even 1 kB/s is not noticed.
    pub bytes_per_second: Option<f64>,
}

impl Forecasts {
    /// Keeps only the recording up to `until_ms`, in milliseconds after the trace's first record. The recording then
    /// ends with the last write or read of a client for which `wanted` returns true.
    pub fn keep(&mut self, until_ms: Option<f64>, wanted: impl Fn(ConnectionId) -> bool) {
        if let Some(until) = until_ms {
            // The cast saturates.
            let until = self.recorded.first.saturating_add((until * 1e6) as u64);
            self.recorded = self.recorded.until(until);
        }
        self.start_ups
            .retain(|one| wanted(ConnectionId(one.connection)));
        let clients = self.recorded.of_client.keys().copied();
        self.recorded.not_wanted = clients.filter(|client| !wanted(*client)).collect();
    }

    /// The recorded network, or a typical one if none was recorded.
    pub fn recorded_network(&self) -> Network {
        self.link.network().map_or(Network::USUAL, network)
    }

    /// True if the recording contains bytes that clients wrote, so that it can be forecast.
    pub(crate) fn has_any(&self) -> bool {
        !self.recorded.writes.is_empty()
    }

    /// The forecast of the recording over a network.
    pub fn over(&self, network: &Network) -> ForecastReport {
        self.report(emulated(network))
    }

    /// The causes of the network's time on the critical path, the largest first. `from_s` and `to_s` limit them to a
    /// part of the recording, in seconds after its start.
    pub fn causes_over(
        &self,
        network: &Network,
        from_s: Option<f64>,
        to_s: Option<f64>,
    ) -> Vec<ForecastCause> {
        let link = link(network);
        let link = link.as_ref();
        // The cast saturates.
        let time = |seconds: f64| self.recorded.first.saturating_add((seconds * 1e9) as u64);
        let from = from_s.map_or(0, time);
        let Some(to) = to_s.map(time) else {
            let times = self.simulated(link, &Changes::default());
            return self.causes(&self.recorded, &times, link, from);
        };
        let recorded = self.recorded.until(to);
        let times = simulate(&recorded, link, &Changes::default());
        self.causes(&recorded, &times, link, from)
    }

    /// The causes of time on the critical path since a recorded time, the largest first.
    fn causes(
        &self,
        recorded: &Recorded,
        times: &Simulated,
        link: ForecastLink<'_>,
        from: u64,
    ) -> Vec<ForecastCause> {
        let Some(end) = times.end else {
            return Vec::new();
        };
        let path = critical_path(recorded, times, link, (end, from));
        let cause = |((kind, name, client), (nanos, count))| {
            let kind = match kind {
                PathKind::RoundTrip => "round-trips",
                PathKind::Event => "events",
                PathKind::Connection => "connection",
                PathKind::BytesToServer => "bytes-to-server",
                PathKind::BytesBack => "bytes-back",
                PathKind::Client | PathKind::Server => return None,
            };
            let known = self.names.get(&client).cloned();
            Some(ForecastCause {
                kind: kind.to_owned(),
                name: Symbol::to_string(&name),
                client: known.unwrap_or_else(|| client_name(None, client)),
                connection: client.0,
                count,
                ms: ms(nanos),
            })
        };
        let mut causes: Vec<ForecastCause> = path.into_iter().filter_map(cause).collect();
        causes.sort_by(|a, b| b.ms.total_cmp(&a.ms).then_with(|| a.name.cmp(&b.name)));
        causes
    }

    /// The simulated length of the recording over a link of this speed and round-trip time, in milliseconds.
    pub fn length_ms(&self, bytes_per_second: Option<f64>, rtt_ms: f64) -> f64 {
        let link = EmulatedNetwork {
            bytes_per_second,
            // The cast saturates.
            round_trip_ns: (rtt_ms * 1e6) as u64,
            ..EmulatedNetwork::default()
        };
        ms(self.length_with(&link, &Changes::default()))
    }

    /// The forecast of the recording over an emulated network.
    pub fn report(&self, network: EmulatedNetwork) -> ForecastReport {
        let (bytes_per_second, rtt_ms) = (network.bytes_per_second, ms(network.round_trip_ns));
        let network = network.expected();
        let link = Some(&network).filter(|network| has_delays(network));
        let none = Changes::default();
        let local = self.simulated(None, &none);
        let there = self.simulated(link, &none);
        let causes = self.causes(&self.recorded, &there, link, 0);
        let moments = self.recorded.ends();
        let recorded = moments.map(|moment| self.recorded.time(moment)).max();
        ForecastReport {
            bytes_per_second,
            rtt_ms,
            recorded_rtt_ms: self.link.network().map(|network| ms(network.round_trip_ns)),
            recorded_ms: ms(recorded.unwrap_or(0).saturating_sub(self.recorded.first)),
            local_ms: ms(self.length(&local)),
            forecast_ms: ms(self.length(&there)),
            causes,
            start_ups: self.start_ups_over(link),
            limits: self.limits(),
            never_came: self.missing.report(),
            is_cut: self.recorded.is_cut,
        }
    }

    /// The simulated length of the recording over a network, with `changes` of the program's behaviour, in nanoseconds.
    pub(crate) fn length_with(&self, network: &EmulatedNetwork, changes: &Changes) -> u64 {
        let network = network.expected();
        let link = Some(&network).filter(|network| has_delays(network));
        self.length(&self.simulated(link, changes))
    }

    fn simulated(&self, link: ForecastLink<'_>, changes: &Changes) -> Simulated {
        simulate(&self.recorded, link, changes)
    }

    fn length(&self, times: &Simulated) -> u64 {
        let end = times.end.map_or(0, |end| times.time(end));
        end.saturating_sub(self.recorded.first)
    }

    fn start_ups_over(&self, link: ForecastLink<'_>) -> Vec<ForecastStartUp> {
        let mut left = START_UP_MOMENTS;
        let over = |one: &StartUpReport| {
            let end = self.end_of(one)?;
            left = left.checked_sub(self.recorded.moments_until(end))?;
            let beginning = self.recorded.until(end);
            // Negative before the trace's first record.
            let start = self.recorded.first as f64 + one.start_ms * 1e6;
            Some(ForecastStartUp {
                client: one.client.clone(),
                connection: one.connection,
                recorded_ms: one.latency_ms?,
                forecast_ms: (first_frame(&beginning, one, link)? - start) / 1e6,
            })
        };
        let mut found: Vec<ForecastStartUp> = self
            .longest_start_ups()
            .into_iter()
            .filter_map(over)
            .collect();
        found.sort_by_key(|one| one.connection);
        found
    }

    /// The start-ups that have a first frame, the longest first.
    fn longest_start_ups(&self) -> Vec<&StartUpReport> {
        let latency = |one: &StartUpReport| one.latency_ms.unwrap_or(0.0);
        let found = self.start_ups.iter().filter(|one| one.latency_ms.is_some());
        let mut found: Vec<_> = found.collect();
        found.sort_by(|a, b| latency(b).total_cmp(&latency(a)));
        found
    }

    /// The recorded time of a first frame's end.
    fn end_of(&self, one: &StartUpReport) -> Option<u64> {
        // The cast saturates.
        Some((self.recorded.first as f64 + one.end_ms()? * 1e6) as u64)
    }

    fn limits(&self) -> Option<LinkLimits> {
        let slowest = StartUpReport::first(&self.start_ups)?;
        let beginning = self.recorded.until(self.end_of(slowest)?);
        let before = first_frame(&beginning, slowest, None)?;
        let is_noticed = |link: EmulatedNetwork| {
            let after = first_frame(&beginning, slowest, Some(&link));
            after.is_some_and(|after| after - before >= NOTICED as f64)
        };
        let trip = |round_trip_ns| EmulatedNetwork {
            round_trip_ns,
            ..EmulatedNetwork::default()
        };
        let speed = |speed| EmulatedNetwork {
            bytes_per_second: Some(speed),
            ..EmulatedNetwork::default()
        };
        let rtt_ms = is_noticed(trip(LONGEST_TRIP)).then(|| {
            let (mut short, mut long) = (0, LONGEST_TRIP);
            while long - short > long / 50 + 10_000 {
                let middle = short.midpoint(long);
                match is_noticed(trip(middle)) {
                    true => long = middle,
                    false => short = middle,
                }
            }
            ms(long)
        });
        let bytes_per_second = is_noticed(speed(SPEEDS.0)).then(|| {
            let (mut slow, mut fast) = SPEEDS;
            while fast / slow > 1.05 {
                let middle = (slow * fast).sqrt();
                match is_noticed(speed(middle)) {
                    true => slow = middle,
                    false => fast = middle,
                }
            }
            slow
        });
        Some(LinkLimits {
            rtt_ms,
            bytes_per_second,
        })
    }
}

/// The time at which the server has done a first frame, which ends a recording, over a link.
fn first_frame(beginning: &Recorded, one: &StartUpReport, link: ForecastLink<'_>) -> Option<f64> {
    let times = simulate(beginning, link, &Changes::default());
    let server = one.parts.as_ref().and_then(|parts| parts.server_ms);
    let drawing = server.unwrap_or(0.0) * 1e6;
    // The casts saturate.
    let end = (beginning.first as f64 + one.end_ms()? * 1e6) as u64;
    // Rounded up.
    let wrote = end.saturating_sub(drawing as u64).saturating_add(1000);
    let client = ConnectionId(one.connection);
    let done = beginning.done(&times, client, [0, end], [wrote, drawing as u64])?;
    Some(done as f64)
}

/// The link of a forecast over a network; `None` if the network has no delays.
pub(super) fn link(network: &Network) -> Option<EmulatedNetwork> {
    Some(emulated(network).expected()).filter(has_delays)
}

fn has_delays(network: &EmulatedNetwork) -> bool {
    *network != EmulatedNetwork::default()
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
