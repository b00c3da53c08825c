//! The rates between the oldest snapshot and the newest.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;
use x11prof_session::ResourceKind;
use x11prof_trace::{ConnectionId, Timestamp};

use super::ClientsNow;
use super::report::{ClientNow, GrabNow, HeldNow, NowReport, RateNow, RowNow};
use super::request_rates::ClientWaits;
use super::snapshot::Snapshot;
use crate::profile::stacks::{StackKey, StackSum, WorkKind};
use crate::stalls::report::StallLine;
use crate::stalls::stall::Stall;
use crate::text::pattern::holds;
use crate::text::units::nanos_ms;

/// The version of the JSON.
const FORMAT: u32 = 1;
/// Maximum number of rows of each table: the table of windows and the table of requests.
const ROWS: usize = 1000;
/// A client that repeats a request at this rate per second or more is polling.
const POLLS: f64 = 10.0;
/// The name of unattributed work.
const SERVER: &str = "(unattributed)";

/// Messages and costs of one client, on one window, of one kind.
struct RowTotals {
    client: Option<ConnectionId>,
    name: String,
    window: String,
    what: WorkKind,
    request: String,
    count: f64,
    bytes: f64,
    server_ms: f64,
}

impl RowTotals {
    /// True if one of the names contains `text`, ignoring case.
    fn holds(&self, text: &str) -> bool {
        let names = [&self.name, &self.window, &self.request];
        names.into_iter().any(|name| holds(name, text))
    }
}

/// Sums of a row.
#[derive(Default)]
struct Row {
    count: f64,
    bytes: f64,
    server_ms: f64,
    /// The most server time of one client, and the name of that client.
    most: (f64, String),
}

impl Row {
    fn add(&mut self, came: &RowTotals) {
        self.count += came.count;
        self.bytes += came.bytes;
        self.server_ms += came.server_ms;
        if self.most.1.is_empty() || came.server_ms > self.most.0 {
            self.most = (came.server_ms, came.name.clone());
        }
    }
}

impl ClientsNow {
    /// Creates the report of the time window. With a `filter`, the report contains only clients, windows and requests
    /// whose name contains that text.
    pub fn report(&mut self, filter: Option<&str>) -> NowReport {
        let now = self.snapshot();
        let period = self.snapshots.front().map_or(0, |first| first.period);
        let stacks = self.profile.now(|profile| {
            let stacks = profile.stack_sums().map(|stacks| stacks.since(period));
            stacks.unwrap_or_default()
        });
        // Before the first record, the elapsed time is 0.
        let start = self.summary.first();
        let start = start.unwrap_or(Timestamp::from_nanos(now.time));
        let none = Snapshot {
            time: start.as_nanos(),
            ..Snapshot::default()
        };
        let first = self.snapshots.front().unwrap_or(&none);
        let seconds = (now.time.saturating_sub(first.time) as f64 / 1e9).max(1e-3);
        let mut came = self.came(&stacks, seconds);
        if let Some(text) = filter {
            came.retain(|one| one.holds(text));
        }
        let rate = self.profile.rate();
        let own = now.own + first.own.part(-1.0);
        let own_ms = rate.map_or(0.0, |rate| rate.time(own).as_ms().max(0.0)) / seconds;
        let sum =
            |part: fn(&RowTotals) -> f64| came.iter().map(part).fold(0.0, |all, one| all + one);
        let (server_ms, requests) = (sum(|one| one.server_ms), sum(|one| one.count));
        let of_none = came.iter().filter(|one| one.client.is_none());
        let of_none: f64 = of_none.map(|one| one.server_ms).sum();
        let stalls = self.stalls_since(first.time);
        let stalls = stalls
            .iter()
            .map(|one| StallLine::new(one, &self.summary, start));
        NowReport {
            format: FORMAT,
            seconds,
            at_s: now.time.saturating_sub(start.as_nanos()) as f64 / 1e9,
            basis: self.profile.basis(),
            costs: self.profile.server().to_owned(),
            server_ms_per_s: server_ms + own_ms,
            own_ms_per_s: own_ms + of_none,
            requests_per_s: requests,
            clients: self.clients(&came, first, &now, filter),
            windows: windows(&came),
            requests: self.requests(&came, first, &now, filter, seconds),
            stalls: stalls.collect(),
            waits: self.episodes.waits_at(now.time, start),
            loops: self.episodes.loops_since(first.time, start),
            backlogs: self.episodes.backlogs_at(now.time, start),
        }
    }

    /// Returns the rates per second of the sums `stacks`.
    fn came(&self, stacks: &FxHashMap<StackKey, StackSum>, seconds: f64) -> Vec<RowTotals> {
        let rate = self.profile.rate();
        let of = |(key, sum): (&StackKey, &StackSum)| {
            let server_ms = sum.server(rate).as_ms().max(0.0);
            if sum.is_nothing() && server_ms == 0.0 {
                return None;
            }
            Some(RowTotals {
                client: key.client,
                name: key.client.map_or(SERVER.to_owned(), |id| self.name(id)),
                window: self.profile.window_label(key.window, &self.summary),
                what: key.what,
                request: key.what.name(),
                count: sum.count as f64 / seconds,
                bytes: sum.sent.saturating_add(sum.returned) as f64 / seconds,
                server_ms: server_ms / seconds,
            })
        };
        stacks.iter().filter_map(of).collect()
    }

    /// A client's process, or the number of its connection.
    fn name(&self, id: ConnectionId) -> String {
        let known = self.summary.connection(id);
        let name = known.and_then(|one| one.name.clone());
        name.unwrap_or_else(|| format!("client {}", id.0))
    }

    /// The stalls that were active at `since` or later.
    fn stalls_since(&self, since: u64) -> Vec<Stall> {
        let open = self.stalls.open_grab();
        let list = self.stalls.list().iter().chain(&open);
        list.filter(|one| one.to > since).cloned().collect()
    }

    fn clients(
        &self,
        came: &[RowTotals],
        first: &Snapshot,
        now: &Snapshot,
        filter: Option<&str>,
    ) -> Vec<ClientNow> {
        let mut ids: BTreeSet<ConnectionId> = came.iter().filter_map(|one| one.client).collect();
        let connected = self.connected.iter().copied();
        ids.extend(connected.filter(|id| filter.is_none_or(|text| holds(&self.name(*id), text))));
        // Ended clients of one name share a row: a script may start hundreds.
        let mut rows: BTreeMap<_, Vec<ConnectionId>> = BTreeMap::new();
        for id in ids {
            let connected = Some(id).filter(|id| self.connected.contains(id));
            rows.entry((connected, self.name(id))).or_default().push(id);
        }
        let clients = rows.values().filter_map(|ids| {
            let of = came.iter();
            let of = of.filter(|one| one.client.is_some_and(|id| ids.contains(&id)));
            let own: Vec<&RowTotals> = of.collect();
            Some(self.client((*ids.last()?, ids), &own, first, now))
        });
        let mut clients: Vec<ClientNow> = clients.collect();
        clients.sort_by(|a, b| {
            let by_time = b.server_ms_per_s.total_cmp(&a.server_ms_per_s);
            by_time.then(b.requests_per_s.total_cmp(&a.requests_per_s))
        });
        clients
    }

    /// The row of the clients `ids`, of which `id` is the last.
    fn client(
        &self,
        (id, ids): (ConnectionId, &[ConnectionId]),
        came: &[&RowTotals],
        first: &Snapshot,
        now: &Snapshot,
    ) -> ClientNow {
        let seconds = (now.time.saturating_sub(first.time) as f64 / 1e9).max(1e-3);
        let sum = |part: fn(&RowTotals) -> f64| came.iter().fold(0.0, |all, one| all + part(one));
        let mut by_request: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for one in came.iter().filter(|one| one.count > 0.0) {
            let of = by_request.entry(&one.request).or_default();
            *of = (of.0 + one.server_ms, of.1 + one.count);
        }
        let by_cost = by_request.into_iter();
        let mostly = by_cost.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let sum_of = |of: &Snapshot, part: fn(&ClientWaits) -> u64| -> u64 {
            let waits = ids.iter().filter_map(|id| of.client_waits.get(id));
            waits.map(part).sum()
        };
        let came_of =
            |part: fn(&ClientWaits) -> u64| sum_of(now, part).saturating_sub(sum_of(first, part));
        let mut again: BTreeMap<_, u64> = BTreeMap::new();
        for id in ids {
            let before = first.client_waits.get(id);
            let waits = now.client_waits.get(id);
            for (request, count) in waits.into_iter().flat_map(|of| &of.again) {
                let before = before.and_then(|of| of.again.get(request));
                *again.entry(request).or_default() += count.saturating_sub(*before.unwrap_or(&0));
            }
        }
        let polls = again.into_iter().max_by_key(|(_, came)| *came);
        let polls = polls.map(|(request, came)| (request, came as f64 / seconds));
        let known = self.summary.connection(id);
        ClientNow {
            client: Some(id.0),
            connections: ids.len(),
            name: self.name(id),
            pid: known.and_then(|one| one.pid),
            command: known.map(|one| one.command.clone()).unwrap_or_default(),
            server_ms_per_s: sum(|one| one.server_ms),
            requests_per_s: sum(|one| one.count),
            round_trips_per_s: came_of(|of| of.round_trips.values().sum()) as f64 / seconds,
            waited_ms_per_s: nanos_ms(came_of(|of| of.waited)) / seconds,
            bytes_per_s: sum(|one| one.bytes),
            mostly: mostly.map(|(request, (_, per_s))| RateNow {
                request: request.to_owned(),
                per_s,
            }),
            polls: polls
                .filter(|(_, per_s)| *per_s >= POLLS)
                .map(|(request, per_s)| RateNow {
                    request: request.to_string(),
                    per_s,
                }),
            polls_in: None,
            joined: known.is_some_and(|one| one.before > 0),
            connected: self.connected.contains(&id),
            held: self.held(id, now, seconds),
            grabs: self.grabs(ids, first.time, now.time),
        }
    }

    /// The resources of a client; for a disconnected client, its resources before the end.
    fn held(&self, id: ConnectionId, now: &Snapshot, seconds: f64) -> BTreeMap<String, HeldNow> {
        let alive: Vec<&Snapshot> = self
            .snapshots
            .iter()
            .chain([now])
            .filter(|one| one.held.contains_key(&id))
            .collect();
        let Some(last) = alive.last() else {
            return BTreeMap::new();
        };
        let first = self.snapshots.front();
        let of_kind = |(kind, (count, bytes)): (&ResourceKind, &(u64, u64))| {
            let (count_before, bytes_before) = first.map_or((0, 0), |one| one.held(id, *kind));
            let rate = |now: u64, before: u64| (now as f64 - before as f64) / seconds;
            let held = HeldNow {
                count: *count,
                bytes: *bytes,
                count_per_s: rate(*count, count_before),
                bytes_per_s: rate(*bytes, bytes_before),
                grows: grows(alive.iter().map(|one| one.held(id, *kind).0)),
            };
            (kind.name().to_owned(), held)
        };
        let held = last.held.get(&id).into_iter().flatten().map(of_kind);
        held.filter(|(_, held)| held.count > 0 || held.count_per_s != 0.0)
            .collect()
    }

    fn grabs(&self, ids: &[ConnectionId], since: u64, now: u64) -> Vec<GrabNow> {
        let start = self.summary.first().unwrap_or_default().as_nanos();
        let all = self.stalls.grabs().after(Timestamp::from_nanos(since));
        let own = all.filter(|(by, ..)| ids.contains(by));
        own.map(|(_, what, from, until)| GrabNow {
            what,
            since_ms: nanos_ms(from.as_nanos().saturating_sub(start)),
            held_ms: nanos_ms(
                until
                    .map_or(now, |until| until.as_nanos())
                    .saturating_sub(from.as_nanos()),
            ),
            goes_on: until.is_none(),
        })
        .collect()
    }

    fn requests(
        &self,
        came: &[RowTotals],
        first: &Snapshot,
        now: &Snapshot,
        filter: Option<&str>,
        seconds: f64,
    ) -> Vec<RowNow> {
        let shown = |id: &ConnectionId, request: &Symbol| {
            filter.is_none_or(|text| holds(&self.name(*id), text) || holds(request.as_str(), text))
        };
        let mut trips: BTreeMap<String, u64> = BTreeMap::new();
        for (id, waits) in &now.client_waits {
            let before = first.client_waits.get(id);
            for (request, count) in waits.round_trips.iter().filter(|(name, _)| shown(id, name)) {
                let before = before.and_then(|of| of.round_trips.get(request)).copied();
                let came = count.saturating_sub(before.unwrap_or(0));
                *trips.entry(request.to_string()).or_default() += came;
            }
        }
        let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
        for one in came {
            rows.entry(&one.request).or_default().add(one);
        }
        sorted(rows.into_iter().map(|(name, row)| {
            let trips = trips.get(name).copied().unwrap_or(0) as f64 / seconds;
            named(name, row, Some(trips))
        }))
    }
}

/// Returns true if the count is larger at the end of each quarter of the time window than at its beginning.
fn grows(counts: impl Iterator<Item = u64>) -> bool {
    let counts: Vec<u64> = counts.collect();
    let last = counts.len().saturating_sub(1);
    let ends = (0..=4).filter_map(|n| counts.get(last * n / 4).copied());
    let ends: Vec<u64> = ends.collect();
    last >= 4 && ends.windows(2).all(|two| two[0] < two[1])
}

fn windows(came: &[RowTotals]) -> Vec<RowNow> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    // Work without a window or request is unattributed.
    let of_windows = came
        .iter()
        .filter(|one| !matches!(one.what, WorkKind::Part(_)));
    for one in of_windows {
        rows.entry(&one.window).or_default().add(one);
    }
    sorted(rows.into_iter().map(|(name, row)| named(name, row, None)))
}

fn named(name: &str, row: Row, round_trips_per_s: Option<f64>) -> RowNow {
    RowNow {
        name: name.to_owned(),
        client: row.most.1,
        server_ms_per_s: row.server_ms,
        requests_per_s: row.count,
        round_trips_per_s,
        bytes_per_s: row.bytes,
    }
}

/// Returns the rows in the order of their cost, the most expensive first.
fn sorted(rows: impl Iterator<Item = RowNow>) -> Vec<RowNow> {
    let mut rows: Vec<RowNow> = rows.collect();
    rows.sort_by(|a, b| {
        let by_time = b.server_ms_per_s.total_cmp(&a.server_ms_per_s);
        by_time.then(b.requests_per_s.total_cmp(&a.requests_per_s))
    });
    rows.truncate(ROWS);
    rows
}
