//! A forecast as a document (docs/REFERENCE.md).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use x11prof_cost_model::Network;
use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, EmulatedNetwork};

use super::changes::Changes;
use super::collect::{Forecasts, Moment, Recorded, Write};
use super::critical_path::{PathKind, critical_path};
use super::never_came::NeverCame;
use super::simulate::{ForecastLink, Simulated, simulate};
use crate::networks::{emulated, network};
use crate::pipeline::start_up::StartUpReport;
use crate::text::label::client_name;
use crate::text::units::nanos_ms as ms;

/// The additional start-up time that a person notices, in nanoseconds: the limit for keeping the user's flow of thought
/// (Nielsen 1993, chapter 5).
const NOTICED: u64 = 1_000_000_000;
/// The worst and the best round-trip time that are tested for [`LinkLimits`], in nanoseconds.
const TRIPS: (f64, f64) = (2e9, 1e4);
/// The lowest and the highest speed that are tested for [`LinkLimits`], in bytes per second.
const SPEEDS: (f64, f64) = (1e3, 1e9);

/// The number of writes and reads up to which start-ups are simulated separately.
pub(super) const SIMULATED: usize = 1 << 20;

/// The forecast of a recording over another link. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastReport {
    /// The speed of the link, in bytes per second; null if bytes take no time.
    pub bytes_per_second: Option<f64>,
    /// The factor by which the link's ends compress all bytes, which is part of the speed; null without compression.
    pub compression: Option<f64>,
    /// The round-trip time of the link in milliseconds.
    pub rtt_ms: f64,
    /// The round-trip time of the recorded link, in milliseconds; null if the recording was made without a link.
    pub recorded_rtt_ms: Option<f64>,
    /// The recorded time from the trace's first record until the server has handled the last request and the clients have
    /// received the last bytes, in milliseconds.
    pub recorded_ms: f64,
    /// The simulated time from the trace's first record until the server has handled the last request and the clients
    /// have received the last bytes, in milliseconds, without a link.
    pub local_ms: f64,
    /// The simulated time from the trace's first record until the server has handled the last request and the clients
    /// have received the last bytes, over the link, in milliseconds.
    pub forecast_ms: f64,
    /// The number of bytes of images in shared memory, which count as sent.
    pub shared_bytes: u64,
    /// The number of bytes of the pixels of all images that clients sent, also in shared memory.
    pub pixel_bytes: u64,
    /// The simulated time that images without pixels would save, in milliseconds: an upper bound of what fewer or
    /// smaller images save. Null if bytes to the server are not the main cause, or if clients sent no images.
    pub pixels_ms: Option<f64>,
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
    /// The other client with the most time on the critical path of the start-up; null if no other client is on it.
    pub awaited_client: Option<String>,
    /// The time of that client on the critical path, in milliseconds.
    pub awaited_ms: f64,
}

/// The limits of a link on which a start-up takes less than a second longer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkLimits {
    /// The longest round-trip time with which a start-up takes less than a second longer, at unlimited speed; null if even
    /// a round trip of two seconds is not noticed.
    pub rtt_ms: Option<f64>,
    /// The lowest speed with which a start-up takes less than a second longer, in bytes per second, without latency; null
    /// if even 1 kB/s is not noticed.
    pub bytes_per_second: Option<f64>,
}

impl ForecastStartUp {
    /// The other client that delays the start-up by a fifth of its time or more; `None` without such a client.
    pub fn delayed_by(&self) -> Option<&str> {
        let is_long = self.awaited_ms >= 0.2 * self.forecast_ms;
        self.awaited_client.as_deref().filter(|_| is_long)
    }
}

impl Forecasts {
    /// Ends the recording with the last write or read of a client for which `wanted` returns true, up to `until_ms`,
    /// in milliseconds after the trace's first record. What came later is left out: over a slower link, the user would
    /// wait before the next action, and other programs would start later.
    pub fn keep(&mut self, until_ms: Option<f64>, wanted: impl Fn(ConnectionId) -> bool) {
        if let Some(until) = until_ms {
            // The cast saturates.
            let until = (until * 1e6).round() as u64;
            self.recorded = self
                .recorded
                .until(self.recorded.first.saturating_add(until));
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
        let compression = network.compression.filter(|ratio| *ratio != 1.0);
        ForecastReport {
            compression,
            ..self.report(emulated(network))
        }
    }

    /// The causes of the network's time on the critical path, the largest first. `from_s` limits them to a part of the
    /// recording, in seconds after its start.
    pub fn causes_over(&self, network: &Network, from_s: Option<f64>) -> Vec<ForecastCause> {
        let link = link(network);
        let times = self.simulated(link.as_ref(), &Changes::default());
        // The cast saturates.
        let time = |seconds: f64| self.recorded.first.saturating_add((seconds * 1e9) as u64);
        self.causes(&times, link.as_ref(), from_s.map_or(0, time))
    }

    fn name(&self, client: ConnectionId) -> String {
        let known = self.names.get(&client).cloned();
        known.unwrap_or_else(|| client_name(None, client))
    }

    /// The causes of time on the critical path since a recorded time, the largest first.
    fn causes(&self, times: &Simulated, link: ForecastLink<'_>, from: u64) -> Vec<ForecastCause> {
        let recorded = &self.recorded;
        let Some(end) = times.end else {
            return Vec::new();
        };
        let counts = |moment| recorded.time(moment) >= from;
        let path = critical_path(recorded, times, link, end, counts);
        let cause = |((kind, name, client), (nanos, count))| {
            let kind = match kind {
                PathKind::RoundTrip => "round-trips",
                PathKind::Event => "events",
                PathKind::Connection => "connection",
                PathKind::BytesToServer => "bytes-to-server",
                PathKind::BytesBack => "bytes-back",
                PathKind::Client | PathKind::Server => return None,
            };
            Some(ForecastCause {
                kind: kind.to_owned(),
                name: Symbol::to_string(&name),
                client: self.name(client),
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
        let network = delays(&network);
        let link = network.as_ref();
        let none = Changes::default();
        let local = self.simulated(None, &none);
        let there = self.simulated(link, &none);
        let causes = self.causes(&there, link, 0);
        let sum = |of: fn(&Write) -> u64| self.recorded.writes.iter().map(of).sum();
        let pixel_bytes = sum(|write| write.pixels);
        let forecast_ms = ms(self.length(&there));
        let main = causes.first().filter(|_| pixel_bytes > 0);
        let main = main.filter(|cause| cause.kind == "bytes-to-server");
        let pixels_ms = main.map(|_| {
            let without = Changes {
                no_pixels: true,
                ..Changes::default()
            };
            forecast_ms - ms(self.length(&self.simulated(link, &without)))
        });
        let moments = self.recorded.ends();
        let recorded = moments.map(|moment| self.recorded.end_time(moment)).max();
        ForecastReport {
            bytes_per_second,
            compression: None,
            rtt_ms,
            recorded_rtt_ms: self.link.network().map(|network| ms(network.round_trip_ns)),
            recorded_ms: ms(recorded.unwrap_or(0).saturating_sub(self.recorded.first)),
            local_ms: ms(self.length(&local)),
            forecast_ms,
            shared_bytes: sum(|write| write.unshared),
            pixel_bytes,
            pixels_ms,
            causes,
            start_ups: self.start_ups_over(&there, link),
            limits: self.limits(),
            never_came: self.missing.report(),
            is_cut: self.recorded.is_cut,
        }
    }

    /// The simulated length of the recording over a network, with `changes` of the program's behaviour, in nanoseconds.
    pub(crate) fn length_with(&self, network: &EmulatedNetwork, changes: &Changes) -> u64 {
        self.length(&self.simulated(delays(network).as_ref(), changes))
    }

    fn simulated(&self, link: ForecastLink<'_>, changes: &Changes) -> Simulated {
        simulate(&self.recorded, link, changes)
    }

    fn length(&self, times: &Simulated) -> u64 {
        let end = times
            .end
            .map_or(0, |end| times.end_time(&self.recorded, end));
        end.saturating_sub(self.recorded.first)
    }

    /// The forecasts of the start-ups, each without what came later. In long recordings of many programs, the later
    /// start-ups are taken from `all`, the simulation of the whole recording.
    fn start_ups_over(&self, all: &Simulated, link: ForecastLink<'_>) -> Vec<ForecastStartUp> {
        let mut left = SIMULATED;
        let over = |one: &StartUpReport| {
            let recorded_ms = one.latency_ms?;
            // Negative before the trace's first record.
            let part = self.recorded.part(self.end_of(one)?, &mut left);
            let own = part
                .as_ref()
                .map(|part| simulate(part, link, &Changes::default()));
            let recorded = part.as_ref().unwrap_or(&self.recorded);
            let times = own.as_ref().unwrap_or(all);
            let delay = times.delay(recorded, ConnectionId(one.connection)) as f64;
            let start = self.recorded.first as f64 + one.start_ms * 1e6 + delay;
            let done = first_frame(recorded, times, one)?;
            let mut others: BTreeMap<ConnectionId, u64> = BTreeMap::new();
            let last = recorded.last_write(ConnectionId(one.connection), self.end_of(one)?)?;
            let counts = |moment| times.time(moment) as f64 >= start;
            let path = critical_path(recorded, times, link, Moment::Write(last), counts);
            for ((kind, _, client), (nanos, _)) in path {
                // Clients that share the line do not wait for each other.
                let is_line = matches!(kind, PathKind::BytesToServer | PathKind::BytesBack);
                if client.0 != one.connection && !is_line {
                    *others.entry(client).or_default() += nanos;
                }
            }
            let most = others.into_iter().max_by_key(|(_, nanos)| *nanos);
            Some(ForecastStartUp {
                client: one.client.clone(),
                connection: one.connection,
                recorded_ms,
                forecast_ms: (done - start) / 1e6,
                awaited_client: most.map(|(client, _)| self.name(client)),
                awaited_ms: most.map_or(0.0, |(_, nanos)| ms(nanos)),
            })
        };
        let mut found: Vec<ForecastStartUp> = self.start_ups.iter().filter_map(over).collect();
        found.sort_by_key(|one| one.connection);
        found
    }

    /// Returns the recorded time at which the first frame ended, in nanoseconds; `None` if unknown.
    fn end_of(&self, one: &StartUpReport) -> Option<u64> {
        // The cast saturates.
        Some((self.recorded.first as f64 + one.end_ms()? * 1e6) as u64)
    }

    fn limits(&self) -> Option<LinkLimits> {
        let slowest = StartUpReport::first(&self.start_ups)?;
        let beginning = self.recorded.until(self.end_of(slowest)?);
        let over = |link: ForecastLink<'_>| {
            let times = simulate(&beginning, link, &Changes::default());
            first_frame(&beginning, &times, slowest)
        };
        let before = over(None)?;
        let is_noticed = |link: EmulatedNetwork| {
            over(Some(&link)).is_some_and(|after| after - before >= NOTICED as f64)
        };
        // The cast saturates.
        let trip = |nanos: f64| EmulatedNetwork {
            round_trip_ns: nanos as u64,
            ..EmulatedNetwork::default()
        };
        let speed = |speed: f64| EmulatedNetwork {
            bytes_per_second: Some(speed),
            ..EmulatedNetwork::default()
        };
        Some(LinkLimits {
            rtt_ms: limit(TRIPS, |nanos| is_noticed(trip(nanos))).map(|nanos| nanos / 1e6),
            bytes_per_second: limit(SPEEDS, |bytes| is_noticed(speed(bytes))),
        })
    }
}

/// Returns the limit of what a person notices, by bisection: the value nearest to `other` for which `is_noticed` is true. It
/// must be false for `other`. `None` if it is false for `noticed`, too.
fn limit((mut noticed, mut other): (f64, f64), is_noticed: impl Fn(f64) -> bool) -> Option<f64> {
    is_noticed(noticed).then(|| {
        while (noticed / other).max(other / noticed) > 1.02 {
            let middle = (noticed * other).sqrt();
            match is_noticed(middle) {
                true => noticed = middle,
                false => other = middle,
            }
        }
        noticed
    })
}

/// Returns the forecast time at which the server has completed the first frame of a start-up, in nanoseconds.
fn first_frame(recorded: &Recorded, times: &Simulated, one: &StartUpReport) -> Option<f64> {
    let server = one.parts.as_ref().and_then(|parts| parts.server_ms);
    let drawing = server.unwrap_or(0.0) * 1e6;
    // The casts saturate.
    let end = (recorded.first as f64 + one.end_ms()? * 1e6) as u64;
    // Rounded up.
    let wrote = end.saturating_sub(drawing as u64).saturating_add(1000);
    let client = ConnectionId(one.connection);
    let done = recorded.done(times, client, [0, end], [wrote, drawing as u64])?;
    Some(done as f64)
}

/// The link of a forecast over a network; `None` if the network has no delays.
pub(super) fn link(network: &Network) -> Option<EmulatedNetwork> {
    delays(&emulated(network))
}

fn delays(network: &EmulatedNetwork) -> Option<EmulatedNetwork> {
    Some(network.expected()).filter(|network| *network != EmulatedNetwork::default())
}
