//! The round trips of a trace as a document (docs/REFERENCE.md).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use x11prof_protocol::SequenceNumber;
use x11prof_trace::ConnectionId;

use super::RoundTrips;
use super::insights::Finding;
use super::round_trip::{Kind, Waited};
use crate::callers::{CallerReport, CallersReport};
use crate::forecast::changes::Changes;
use crate::forecast::{ForecastReport, ForecastStartUp};
use crate::networks::emulated;
use crate::pipeline::start_up::{ClientRole, StartUpReport};
use crate::text::label::Label;
use crate::text::units::nanos_ms as ms;

/// The version of the JSON.
const FORMAT: u32 = 1;
/// Maximum number of suggestions whose savings are simulated.
const SUGGESTIONS: usize = 24;
/// Maximum number of suggestions without a simulation.
const LISTED: usize = 1000;
/// A suggestion must save at least this share of the forecast or of a shorter start-up, and this many milliseconds.
const LEAST: (f64, f64) = (0.005, 1.0);

/// The round trips of a trace. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundTripsReport {
    /// The version of this document's layout.
    pub format: u32,
    /// The path of the trace, as the user specified it.
    pub trace: String,
    /// The round-trip time of the forecast's link, in milliseconds.
    pub rtt_ms: f64,
    /// The forecast of the recording over the link; null without a forecast.
    pub forecast: Option<ForecastReport>,
    /// True if the report contains only round trips of start-ups.
    pub start_up_only: bool,
    /// The round trips by request, the most frequent first.
    #[serde(rename = "round_trips")]
    pub blocking: Vec<BlockingRequest>,
    /// The call sites that waited for replies; null without `record --stacks`.
    pub callers: Option<CallersReport>,
    /// The round trips by phase of the session, the most frequent first.
    #[serde(rename = "phases")]
    pub places: Vec<Place>,
    /// The pipelined requests, for whose replies no client waited.
    #[serde(rename = "pipelined")]
    pub ahead: Vec<Ahead>,
    /// The requests that clients repeated unnecessarily.
    pub duplicates: Vec<DuplicateRequest>,
    /// The suggestions, the largest saving first. A saving is the difference of two simulations.
    pub suggestions: Vec<Suggestion>,
    /// The start-up of each client.
    pub start_ups: Vec<StartUpReport>,
    /// The round trips of each client.
    pub clients: Vec<ClientRoundTrips>,
    /// The individual round trips in time order, up to the first 10,000.
    pub in_order: Vec<Wait>,
    /// The number of round trips that are not in `in_order`.
    pub in_order_omitted: u64,
    /// The sums over all clients.
    pub total: TotalRoundTrips,
}

/// The round trips with one kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockingRequest {
    /// The request.
    pub request: String,
    /// `request`, or `synchronisation` (GetInputFocus, as XSync sends it).
    pub kind: String,
    /// The number of round trips.
    pub count: u64,
    /// The time that clients waited in the recording, in milliseconds.
    pub waited_ms: f64,
}

/// The round trips in one phase of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The phase: `start-up`, the landmark of a user action, or `outside episodes`.
    #[serde(rename = "phase")]
    pub place: String,
    /// The number of round trips.
    pub count: u64,
    /// The time that clients waited in the recording, in milliseconds.
    pub waited_ms: f64,
    /// The round trips of the phase by request.
    pub requests: Vec<BlockingRequest>,
}

/// The pipelined requests of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ahead {
    /// The name of the request.
    pub request: String,
    /// The number of pipelined requests.
    pub count: u64,
}

/// A request that was repeated with the same reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DuplicateRequest {
    /// The name of the request.
    pub request: String,
    /// The number of requests that are unnecessary.
    pub count: u64,
    /// The number of unnecessary requests whose reply the client waited for.
    pub round_trips: u64,
}

/// A suggestion, with its savings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The kind of insight: `serial`, `duplicates`, `synchronisation`, `motion`, `polling`,
    /// `pieces`, `slow`, `images`, `properties`, `fonts`.
    pub kind: String,
    /// The name of the client that the suggestion is for.
    pub client: String,
    /// The main request that the suggestion is about.
    pub request: String,
    /// The number of requests that the suggestion is about.
    pub count: u64,
    /// What to change in the client, as a sentence.
    pub action: String,
    /// The reason for the suggestion, as a sentence.
    #[serde(rename = "reason")]
    pub why: String,
    /// The number of round trips that the suggestion saves.
    pub round_trips: u64,
    /// The number of bytes that the suggestion saves.
    pub bytes: u64,
    /// The time that this suggestion alone saves in the session over the link, in milliseconds.
    pub saves_ms: f64,
    /// The additional time that this suggestion saves after the suggestions before it, in milliseconds.
    pub adds_ms: f64,
    /// The client that the start-up waits for in the forecast, so that the suggestion saves no time; null otherwise.
    pub delayed_by: Option<String>,
    /// The experiment of `record --try` that tests the suggestion without changing the program; null if there is none.
    #[serde(rename = "experiment")]
    pub fix: Option<String>,
    /// The call sites that waited for the replies; empty without stacks.
    pub callers: Vec<CallerReport>,
}

/// The round trips of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientRoundTrips {
    /// The name of the client that made the round trips.
    pub client: String,
    /// The number of the client's connection.
    pub connection: u32,
    /// The number of round trips, including synchronisations.
    pub round_trips: u64,
    /// The number of round trips that only synchronised.
    pub synchronisations: u64,
    /// The number of pipelined requests.
    #[serde(rename = "pipelined")]
    pub ahead: u64,
    /// The time that the client waited in the recording, in milliseconds.
    pub waited_ms: f64,
}

/// A single round trip of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The time of the request, in milliseconds since the trace's first record.
    pub at_ms: f64,
    /// The number of the client's connection.
    pub connection: u32,
    /// The name of the request.
    pub request: String,
    /// True if the round trip was during the client's start-up.
    pub start_up: bool,
    /// The time that the client waited in the recording, in milliseconds.
    pub waited_ms: f64,
}

/// The sums over all round trips of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TotalRoundTrips {
    /// The number of round trips, including synchronisations.
    pub round_trips: u64,
    /// The number of round trips that only synchronised.
    pub synchronisations: u64,
    /// The number of pipelined requests.
    #[serde(rename = "pipelined")]
    pub ahead: u64,
    /// The time that clients waited in the recording, in milliseconds.
    pub waited_ms: f64,
    /// The forecast length of the session over the link, in milliseconds; null without a forecast.
    pub before_ms: Option<f64>,
    /// The forecast length of the session over the link if all suggestions are followed, in milliseconds; null without
    /// a forecast.
    pub after_ms: Option<f64>,
    /// The number of round trips that remain if all suggestions are followed.
    pub round_trips_after: u64,
}

impl RoundTrips {
    /// Creates the report at the end of the trace. `path` is the trace's path as given by the user.
    pub fn finish(self, path: &str) -> RoundTripsReport {
        self.finish_with(path, |_, _| Vec::new())
    }

    /// Creates the report at the end of the trace. `callers` returns the call sites at which a client waited for the
    /// replies to the given requests.
    pub fn finish_with(
        mut self,
        path: &str,
        mut callers: impl FnMut(ConnectionId, &[SequenceNumber]) -> Vec<CallerReport>,
    ) -> RoundTripsReport {
        let mut forecasts = self.forecasts.take().unwrap_or_default();
        let ends = self.start_ups.iter().filter_map(StartUpReport::end_ms);
        let until = ends.max_by(f64::total_cmp);
        let all = self.options.client.is_none();
        forecasts.keep(until.filter(|_| self.options.start_up), |client| {
            all || self.is_wanted(client)
        });
        let network = self.options.link;
        let network = network.unwrap_or_else(|| forecasts.recorded_network());
        let link = emulated(&network);
        // A start-up does not begin with the recording.
        let start_ups = self.start_ups.iter().filter(|_| self.options.start_up);
        let starts = start_ups.map(|one| one.start_ms);
        let start = starts.min_by(f64::total_cmp).unwrap_or(0.0);
        let length = |changes: &Changes| ms(forecasts.length_with(&link, changes)) - start;
        let forecast = forecasts.has_any().then(|| forecasts.over(&network));
        let before = forecast
            .as_ref()
            .map(|forecast| forecast.forecast_ms - start);
        let mut findings = self.insights.findings();
        findings.retain(|one| self.is_wanted(one.client));
        // The most that each can save, in milliseconds.
        let most = |one: &Finding| {
            let bytes = link
                .bytes_per_second
                .map_or(0.0, |speed| one.saves.bytes as f64 / speed * 1e3);
            one.saves.round_trips as f64 * ms(link.round_trip_ns) + bytes + ms(one.saves.nanos)
        };
        findings.sort_by(|a, b| most(b).total_cmp(&most(a)));
        let duplicates = duplicates(&findings);
        findings.truncate(match before {
            Some(_) => SUGGESTIONS,
            None => LISTED,
        });
        // A suggestion must save this, also if it concerns only a start-up.
        let shortest = forecast.iter().flat_map(|forecast| &forecast.start_ups);
        let shortest = shortest
            .map(|one| one.forecast_ms)
            .fold(f64::INFINITY, f64::min);
        let least = before.map(|before| (before.min(shortest) * LEAST.0).max(LEAST.1));
        let savings = |finding: &Finding| {
            let (Some(before), Some(forecast)) = (before, &forecast) else {
                return (ms(finding.saves.nanos), None);
            };
            let saves = (before - length(&finding.changes())).max(0.0);
            // The server causes slow replies, independent of the link.
            if finding.saves.round_trips == 0 {
                return (saves.max(ms(finding.saves.nanos)), None);
            }
            let mut start_ups = forecast.start_ups.iter();
            let start_up = start_ups.find(|one| one.connection == finding.client.0);
            let is_delayed = |least| saves < least && most(finding) >= least;
            let delayed = start_up.filter(|_| least.is_some_and(is_delayed));
            let delayed = delayed.and_then(ForecastStartUp::delayed_by);
            (saves, delayed.map(str::to_owned))
        };
        let mut findings: Vec<_> = findings
            .into_iter()
            .map(|finding| (savings(&finding), finding))
            .collect();
        let helps = |one: &Finding| {
            let mut all = self.start_ups.iter();
            all.any(|up| up.role == ClientRole::Helper && up.connection == one.client.0)
        };
        findings.sort_by(|((a, _), _), ((b, _), _)| b.total_cmp(a));
        findings.sort_by_key(|(_, one)| helps(one));
        let mut all = Changes::default();
        let mut after = before;
        let mut suggestions = Vec::new();
        for ((saves, delayed_by), finding) in findings {
            let mut both = all.clone();
            both.add(finding.changes());
            let so_far = before.map(|_| length(&both));
            let adds = match after.zip(so_far) {
                Some((after, so_far)) if finding.saves.round_trips > 0 || so_far < after => {
                    (after - so_far).max(0.0)
                }
                _ => saves,
            };
            // A client that was faster than the others may become the slowest.
            let is_enough = |least| saves.max(adds) >= least || delayed_by.is_some();
            if !least.is_none_or(is_enough) {
                continue;
            }
            // In another order, the bytes of several clients may take longer: then the suggestion is an alternative.
            if so_far <= after {
                (all, after) = (both, so_far);
            }
            suggestions.push(Suggestion {
                kind: finding.kind.to_owned(),
                client: self.client(finding.client),
                request: finding.request.to_string(),
                count: finding.count,
                action: finding.action.clone(),
                why: finding.why.clone(),
                round_trips: finding.saves.round_trips,
                bytes: finding.saves.bytes,
                saves_ms: saves,
                adds_ms: adds,
                delayed_by,
                fix: finding.fix().map(str::to_owned),
                callers: callers(finding.client, &finding.saves.waits),
            });
        }
        let saved = all.not_awaited.len() as u64;
        let clients = self.client_rows();
        let in_order = self.in_order();
        let ahead = self.ahead_rows();
        let mut start_ups = self.start_ups;
        start_ups.sort_by_key(|one| (Reverse(one.role), one.connection));
        let counted = self.places.finish();
        let round_trips: u64 = clients.iter().map(|one| one.round_trips).sum();
        RoundTripsReport {
            format: FORMAT,
            trace: path.to_owned(),
            rtt_ms: ms(link.round_trip_ns),
            forecast,
            start_up_only: self.options.start_up,
            blocking: by_request(&counted),
            callers: None,
            places: by_place(&counted),
            ahead,
            duplicates,
            suggestions,
            start_ups,
            in_order,
            in_order_omitted: self.more,
            total: TotalRoundTrips {
                round_trips,
                synchronisations: clients.iter().map(|one| one.synchronisations).sum(),
                ahead: clients.iter().map(|one| one.ahead).sum(),
                waited_ms: clients.iter().map(|one| one.waited_ms).sum(),
                before_ms: before,
                after_ms: after,
                round_trips_after: round_trips.saturating_sub(saved),
            },
            clients,
        }
    }

    fn client_rows(&self) -> Vec<ClientRoundTrips> {
        let mut rows: Vec<ClientRoundTrips> = self
            .clients
            .iter()
            .filter(|(id, _)| self.choice.holds(**id))
            .map(|(id, one)| ClientRoundTrips {
                client: self.client(*id),
                connection: id.0,
                round_trips: one.waited.count,
                synchronisations: one.synchronisations,
                ahead: one.ahead,
                waited_ms: ms(one.waited.nanos),
            })
            .collect();
        rows.sort_by_key(|one| (std::cmp::Reverse(one.round_trips), one.connection));
        rows
    }

    fn in_order(&self) -> Vec<Wait> {
        let first = self.first.unwrap_or_default().as_nanos();
        let single = self.singles.iter().map(|one| Wait {
            at_ms: ms(one.requested_at.saturating_sub(first)),
            connection: one.client.0,
            request: one.kind.0.to_string(),
            start_up: one.starting,
            waited_ms: ms(one.waited),
        });
        single.collect()
    }

    fn ahead_rows(&self) -> Vec<Ahead> {
        let mut rows: Vec<Ahead> = self
            .ahead
            .iter()
            .map(|(name, count)| Ahead {
                request: name.to_string(),
                count: *count,
            })
            .collect();
        rows.sort_by(|a, b| (b.count, &a.request).cmp(&(a.count, &b.request)));
        rows
    }
}

fn row((name, synchronises): Kind, waited: Waited) -> BlockingRequest {
    BlockingRequest {
        request: name.to_string(),
        kind: match synchronises {
            true => "synchronisation",
            false => "request",
        }
        .to_owned(),
        count: waited.count,
        waited_ms: ms(waited.nanos),
    }
}

fn most_first(rows: &mut [BlockingRequest]) {
    rows.sort_by(|a, b| (b.count, &a.request).cmp(&(a.count, &b.request)));
}

fn by_request(counted: &BTreeMap<(Label, Kind), Waited>) -> Vec<BlockingRequest> {
    let mut sums: BTreeMap<Kind, Waited> = BTreeMap::new();
    for ((_, kind), waited) in counted {
        let sum = sums.entry(*kind).or_default();
        sum.count += waited.count;
        sum.nanos = sum.nanos.saturating_add(waited.nanos);
    }
    let mut rows: Vec<_> = sums.into_iter().map(|(kind, sum)| row(kind, sum)).collect();
    most_first(&mut rows);
    rows
}

fn by_place(counted: &BTreeMap<(Label, Kind), Waited>) -> Vec<Place> {
    let mut places: BTreeMap<&str, Vec<BlockingRequest>> = BTreeMap::new();
    for ((place, kind), waited) in counted {
        places
            .entry(place.as_str())
            .or_default()
            .push(row(*kind, *waited));
    }
    let place = |(place, mut requests): (&str, Vec<BlockingRequest>)| {
        most_first(&mut requests);
        Place {
            place: place.to_string(),
            count: requests.iter().map(|one| one.count).sum(),
            waited_ms: requests.iter().map(|one| one.waited_ms).sum(),
            requests,
        }
    };
    let mut places: Vec<Place> = places.into_iter().map(place).collect();
    places.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.place.cmp(&b.place)));
    places
}

fn duplicates(findings: &[Finding]) -> Vec<DuplicateRequest> {
    let mut rows: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for one in findings.iter().filter(|one| one.kind == "duplicates") {
        let row = rows.entry(one.request.as_str()).or_default();
        row.0 += one.count;
        row.1 += one.saves.round_trips;
    }
    let row = |(request, (count, round_trips)): (&str, (u64, u64))| DuplicateRequest {
        request: request.to_owned(),
        count,
        round_trips,
    };
    let mut rows: Vec<DuplicateRequest> = rows.into_iter().map(row).collect();
    rows.sort_by(|a, b| (b.count, &a.request).cmp(&(a.count, &b.request)));
    rows
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Network;

    use super::*;
    use crate::pipeline::Pipeline;
    use crate::roundtrips::RoundTripOptions;
    use crate::testing::*;
    use crate::testing_display::Display;

    const WINDOW: u32 = BASE + 9;

    /// A program requests five atoms and maps a window. A window manager, which is starting, requests 20 atoms before it
    /// shows the window.
    fn beside_a_window_manager(client: Option<&str>) -> RoundTripsReport {
        let mut display = Display::new();
        let atom =
            |client: u32, number: u16| request(16, 0, &[4, 1000 * client + u32::from(number)]);
        for number in 1..=20_u16 {
            let at = 0.2 * f64::from(number);
            if number <= 5 {
                display.sends(1, at, atom(1, number));
                display.gets(1, at + 0.05, reply(number));
            }
            display.sends(2, at + 0.1, atom(2, number));
            display.gets(2, at + 0.15, reply(number));
        }
        let window = [WINDOW, ROOT, 0, 100 | 100 << 16, 0, 0, 0];
        let window = [request(1, 0, &window), map_window(WINDOW)];
        display.sends(1, 4.3, window.concat());
        display.sends(2, 4.4, no_operation(1));
        display.gets(1, 4.5, expose(7));
        let fill = [WINDOW, BASE + 1, 0, 100 | 100 << 16];
        display.sends(1, 4.6, request(70, 0, &fill));
        display.sends(1, 90.0, query_font());
        let mut found = RoundTrips::new(&RoundTripOptions {
            link: Network::parse("none,10ms").ok(),
            client: client.map(str::to_owned),
            ..RoundTripOptions::default()
        });
        Pipeline::new().run_records(display.records, |seen| found.observe(seen));
        found.finish("it")
    }

    #[test]
    fn program_that_waits_for_another_client_gets_its_own_suggestions() {
        let report = beside_a_window_manager(Some("1"));
        let start_up = &report.forecast.as_ref().unwrap().start_ups[0];
        assert_eq!(start_up.awaited_client.as_deref(), Some("panel (client 2)"));
        let rounded = [start_up.forecast_ms, start_up.awaited_ms].map(f64::round);
        // Two round trips to connect, 20 for the atoms, and half a trip to the server are the window manager's.
        assert_eq!(rounded, [240.0, 225.0]);
        let one = &report.suggestions[0];
        assert_eq!((one.kind.as_str(), one.round_trips), ("serial", 4));
        assert_eq!((one.saves_ms, one.adds_ms), (0.0, 0.0));
        assert_eq!(one.delayed_by.as_deref(), Some("panel (client 2)"));
    }

    #[test]
    fn savings_add_up_to_the_saving_of_all_suggestions() {
        let total = |report: &RoundTripsReport| {
            let adds: f64 = report.suggestions.iter().map(|one| one.adds_ms).sum();
            let [before, after] = [report.total.before_ms, report.total.after_ms];
            let saved = before.zip(after).map(|(before, after)| before - after);
            assert!((saved.unwrap() - adds).abs() < 1e-6, "{saved:?} {adds}");
            adds
        };
        let all = beside_a_window_manager(None);
        let alone = beside_a_window_manager(Some("2"));
        assert!(total(&all) >= total(&alone));
        let [first, second] = &all.suggestions[..] else {
            panic!("{:?}", all.suggestions)
        };
        // The program's round trips are the longest after those of the window manager.
        assert_eq!((first.round_trips, second.round_trips), (19, 4));
    }
}
