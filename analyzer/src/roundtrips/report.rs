//! The round trips of a trace as a document (docs/REFERENCE.md).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use x11prof_protocol::SequenceNumber;
use x11prof_trace::ConnectionId;

use super::RoundTrips;
use super::insights::Finding;
use super::round_trip::{Kind, Waited};
use super::together::{Beyond, Together};
use crate::callers::{CallerReport, CallersReport};
use crate::pipeline::start_up::StartUpReport;
use crate::text::label::Label;

/// The version of the JSON.
const FORMAT: u32 = 1;
/// The latencies that savings are told for, in milliseconds.
const LATENCIES: [f64; 4] = [1.0, 10.0, 50.0, 100.0];
/// The longest list of suggestions.
const SUGGESTIONS: usize = 1000;

/// Round trips of a trace. Times are milliseconds; `at_rtt_ms` is what the network adds at `rtt_ms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundTripsReport {
    /// The version of this layout.
    pub format: u32,
    /// The trace, as the user named it.
    pub trace: String,
    /// The round-trip latency that times are computed for.
    pub rtt_ms: f64,
    /// Only start-up was counted.
    pub start_up_only: bool,
    /// Round trips by request, the most first.
    pub blocking: Vec<BlockingRequest>,
    /// Where in the programs the waits began; null without `record --stacks`.
    pub callers: Option<CallersReport>,
    /// Round trips by place, the most first.
    pub places: Vec<Place>,
    /// Questions asked ahead, which nobody waited for.
    pub ahead: Vec<Ahead>,
    /// Questions repeated without need.
    pub duplicates: Vec<DuplicateRequest>,
    /// Advice; the largest saving at `rtt_ms` first. Each saving is that of this advice alone.
    pub suggestions: Vec<Suggestion>,
    /// The start-up of each client.
    pub start_ups: Vec<StartUpReport>,
    /// The round trips of each client.
    pub clients: Vec<ClientRoundTrips>,
    /// Round trips one by one, in the order of time; the first 10,000.
    pub in_order: Vec<Wait>,
    /// The number of round trips not listed.
    pub in_order_omitted: u64,
    /// The totals of all clients.
    pub total: TotalRoundTrips,
}

/// Round trips of one kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockingRequest {
    /// The request.
    pub request: String,
    /// `question`, or `synchronisation` where only the server's progress was waited for.
    pub kind: String,
    /// The number.
    pub count: u64,
    /// Time really waited.
    pub waited_ms: f64,
    /// Time that the network adds.
    pub at_rtt_ms: f64,
}

/// Round trips in one place of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// `start-up`, an action of the user by its landmark, or `the rest`.
    pub place: String,
    /// The number.
    pub count: u64,
    /// Time really waited.
    pub waited_ms: f64,
    /// Time that the network adds.
    pub at_rtt_ms: f64,
    /// The round trips by request.
    pub requests: Vec<BlockingRequest>,
}

/// Questions that were asked ahead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ahead {
    /// The request.
    pub request: String,
    /// The number.
    pub count: u64,
}

/// A request repeated with the same answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DuplicateRequest {
    /// The request.
    pub request: String,
    /// The number of superfluous requests.
    pub count: u64,
    /// Superfluous requests that the client waited for.
    pub round_trips: u64,
    /// Time that the network adds for them.
    pub at_rtt_ms: f64,
}

/// An advice with its savings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The kind of insight: `serial`, `duplicates`, `synchronisation`, `extensions`, `motion`, `polling`,
    /// `pieces`, `slow`, `images`.
    pub kind: String,
    /// The client.
    pub client: String,
    /// The request that it is mostly about.
    pub request: String,
    /// The number of requests concerned.
    pub count: u64,
    /// The advice.
    #[serde(rename = "do")]
    pub action: String,
    /// The observation behind it.
    pub why: String,
    /// Round trips that it saves.
    pub round_trips: u64,
    /// Bytes that it saves.
    pub bytes: u64,
    /// Time that the recording itself lost with it.
    pub recorded_ms: f64,
    /// Time that it saves at the latency asked for: what the network adds, and what the recording lost.
    pub saves_ms: f64,
    /// Round trips that it saves beyond the suggestions before it, with which it may overlap.
    pub adds_round_trips: u64,
    /// Time that it saves beyond these.
    pub adds_ms: f64,
    /// The fix of `record --try` that does it for the program; null where there is none.
    #[serde(rename = "try")]
    pub fix: Option<String>,
    /// The places in the program from which it waited for these replies; empty without stacks.
    pub callers: Vec<CallerReport>,
    /// The time at other latencies.
    pub at: Vec<AtRtt>,
}

/// A saving at a latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AtRtt {
    /// The latency of a round trip.
    pub rtt_ms: f64,
    /// The saving.
    pub saves_ms: f64,
}

/// The round trips of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientRoundTrips {
    /// The client.
    pub client: String,
    /// The number of its connection.
    pub connection: u32,
    /// The number, with synchronisations.
    pub round_trips: u64,
    /// Round trips that only synchronised.
    pub synchronisations: u64,
    /// Questions that it asked ahead.
    pub ahead: u64,
    /// Time really waited.
    pub waited_ms: f64,
    /// Time that the network adds.
    pub at_rtt_ms: f64,
}

/// A round trip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The time of the question, from the trace's first record on.
    pub at_ms: f64,
    /// The number of the connection.
    pub connection: u32,
    /// The request.
    pub request: String,
    /// True where the round trip was at start-up.
    pub start_up: bool,
    /// Time really waited.
    pub waited_ms: f64,
}

/// The sums over all round trips.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TotalRoundTrips {
    /// The number, with synchronisations.
    pub round_trips: u64,
    /// Round trips that only synchronised.
    pub synchronisations: u64,
    /// Questions asked ahead.
    pub ahead: u64,
    /// Time really waited.
    pub waited_ms: f64,
    /// Time that the network adds.
    pub at_rtt_ms: f64,
    /// Time of all of them at the latency asked for: that of the network, and that which the recording
    /// waited without one.
    pub before_ms: f64,
    /// The time with all advice followed.
    pub after_ms: f64,
    /// Round trips that are left then.
    pub round_trips_after: u64,
}

impl RoundTrips {
    /// The trace, which the user named `path`, has ended: what was found.
    pub fn finish(self, path: &str) -> RoundTripsReport {
        self.finish_with(path, |_, _| Vec::new())
    }

    /// The report, with the places from which a client waited for the replies to some requests.
    pub fn finish_with(
        self,
        path: &str,
        mut callers: impl FnMut(ConnectionId, &[SequenceNumber]) -> Vec<CallerReport>,
    ) -> RoundTripsReport {
        let rtt = self.options.rtt_ms;
        let mut findings = self.insights.findings();
        let saves = |one: &Finding| ms(one.saves.nanos) + one.saves.round_trips as f64 * rtt;
        findings.sort_by(|a, b| {
            saves(b)
                .total_cmp(&saves(a))
                .then_with(|| a.action.cmp(&b.action))
        });
        findings.truncate(SUGGESTIONS);
        let mut together = Together::default();
        let (mut saved, mut saved_ms) = (0, 0.0);
        let mut suggestions = Vec::new();
        for finding in &findings {
            let mut suggestion = self.suggestion(finding, together.add(finding));
            suggestion.callers = callers(finding.client, &finding.saves.waits);
            // Of what nobody waits for it saves no waiting.
            if !finding.saves.waits.is_empty() {
                saved += suggestion.adds_round_trips;
                saved_ms += suggestion.adds_ms;
            }
            suggestions.push(suggestion);
        }
        let clients = self.client_rows();
        let in_order = self.in_order();
        let ahead = self.ahead_rows();
        let mut start_ups = self.start_ups;
        start_ups.sort_by_key(|one| one.connection);
        let counted = self.places.finish();
        let round_trips: u64 = clients.iter().map(|one| one.round_trips).sum();
        let before_ms = ms(self.waited_locally) + round_trips as f64 * rtt;
        RoundTripsReport {
            format: FORMAT,
            trace: path.to_owned(),
            rtt_ms: rtt,
            start_up_only: self.options.start_up,
            blocking: by_request(&counted, rtt),
            callers: None,
            places: by_place(&counted, rtt),
            ahead,
            duplicates: duplicates(&suggestions, rtt),
            suggestions,
            start_ups,
            in_order,
            in_order_omitted: self.more,
            total: TotalRoundTrips {
                round_trips,
                synchronisations: clients.iter().map(|one| one.synchronisations).sum(),
                ahead: clients.iter().map(|one| one.ahead).sum(),
                waited_ms: clients.iter().map(|one| one.waited_ms).sum(),
                at_rtt_ms: clients.iter().map(|one| one.at_rtt_ms).sum(),
                before_ms,
                after_ms: (before_ms - saved_ms).max(0.0),
                round_trips_after: round_trips.saturating_sub(saved),
            },
            clients,
        }
    }

    fn suggestion(&self, finding: &Finding, beyond: Beyond) -> Suggestion {
        let saves = &finding.saves;
        let recorded = ms(saves.nanos);
        let at = |rtt: f64| recorded + saves.round_trips as f64 * rtt;
        Suggestion {
            kind: finding.kind.to_owned(),
            client: self.client(finding.client),
            request: finding.request.to_string(),
            count: finding.count,
            action: finding.action.clone(),
            why: finding.why.clone(),
            round_trips: saves.round_trips,
            bytes: saves.bytes,
            recorded_ms: recorded,
            saves_ms: at(self.options.rtt_ms),
            adds_round_trips: beyond.round_trips,
            adds_ms: ms(beyond.nanos) + beyond.round_trips as f64 * self.options.rtt_ms,
            fix: finding.fix().map(str::to_owned),
            callers: Vec::new(),
            at: LATENCIES
                .iter()
                .map(|rtt| AtRtt {
                    rtt_ms: *rtt,
                    saves_ms: at(*rtt),
                })
                .collect(),
        }
    }

    fn client_rows(&self) -> Vec<ClientRoundTrips> {
        let mut rows: Vec<ClientRoundTrips> = self
            .clients
            .iter()
            .filter(|(_, one)| one.wanted)
            .map(|(id, one)| ClientRoundTrips {
                client: self.client(*id),
                connection: id.0,
                round_trips: one.waited.count,
                synchronisations: one.synchronisations,
                ahead: one.ahead,
                waited_ms: ms(one.waited.nanos),
                at_rtt_ms: one.waited.count as f64 * self.options.rtt_ms,
            })
            .collect();
        rows.sort_by_key(|one| (std::cmp::Reverse(one.round_trips), one.connection));
        rows
    }

    fn in_order(&self) -> Vec<Wait> {
        let first = self.first.unwrap_or_default().as_nanos();
        let single = self.singles.iter().map(|one| Wait {
            at_ms: ms(one.asked_at.saturating_sub(first)),
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
        rows.sort_by(|a, b| {
            b.count
                .cmp(&a.count)
                .then_with(|| a.request.cmp(&b.request))
        });
        rows
    }
}

fn row((name, synchronises): Kind, waited: Waited, rtt: f64) -> BlockingRequest {
    BlockingRequest {
        request: name.to_string(),
        kind: match synchronises {
            true => "synchronisation",
            false => "question",
        }
        .to_owned(),
        count: waited.count,
        waited_ms: ms(waited.nanos),
        at_rtt_ms: waited.count as f64 * rtt,
    }
}

fn most_first(rows: &mut [BlockingRequest]) {
    rows.sort_by(|a, b| {
        b.count
            .cmp(&a.count)
            .then_with(|| a.request.cmp(&b.request))
    });
}

fn by_request(counted: &BTreeMap<(Label, Kind), Waited>, rtt: f64) -> Vec<BlockingRequest> {
    let mut sums: BTreeMap<Kind, Waited> = BTreeMap::new();
    for ((_, kind), waited) in counted {
        let sum = sums.entry(*kind).or_default();
        sum.count += waited.count;
        sum.nanos = sum.nanos.saturating_add(waited.nanos);
    }
    let mut rows: Vec<_> = sums
        .into_iter()
        .map(|(kind, sum)| row(kind, sum, rtt))
        .collect();
    most_first(&mut rows);
    rows
}

fn by_place(counted: &BTreeMap<(Label, Kind), Waited>, rtt: f64) -> Vec<Place> {
    let mut places: BTreeMap<&str, Vec<BlockingRequest>> = BTreeMap::new();
    for ((place, kind), waited) in counted {
        places
            .entry(place.as_str())
            .or_default()
            .push(row(*kind, *waited, rtt));
    }
    let place = |(place, mut requests): (&str, Vec<BlockingRequest>)| {
        most_first(&mut requests);
        Place {
            place: place.to_string(),
            count: requests.iter().map(|one| one.count).sum(),
            waited_ms: requests.iter().map(|one| one.waited_ms).sum(),
            at_rtt_ms: requests.iter().map(|one| one.at_rtt_ms).sum(),
            requests,
        }
    };
    let mut places: Vec<Place> = places.into_iter().map(place).collect();
    places.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.place.cmp(&b.place)));
    places
}

fn duplicates(suggestions: &[Suggestion], rtt: f64) -> Vec<DuplicateRequest> {
    let mut rows: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for one in suggestions.iter().filter(|one| one.kind == "duplicates") {
        let row = rows.entry(&one.request).or_default();
        row.0 += one.count;
        row.1 += one.round_trips;
    }
    let row = |(request, (count, round_trips)): (&str, (u64, u64))| DuplicateRequest {
        request: request.to_owned(),
        count,
        round_trips,
        at_rtt_ms: round_trips as f64 * rtt,
    };
    let mut rows: Vec<DuplicateRequest> = rows.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        b.count
            .cmp(&a.count)
            .then_with(|| a.request.cmp(&b.request))
    });
    rows
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
