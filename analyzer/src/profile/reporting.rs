//! Creates the document of a profile, with the summary of its trace and a network.

use rustc_hash::FxHashMap;
use x11prof_cost_model::{Cost, Network};

use crate::clients::ClientChoice;
use crate::forecast::ForecastCause;
use crate::link::LinkReport;
use crate::profile::partition::PartitionReport;
use crate::profile::report::{
    ConnectionReport, EventReport, GroupReport, NetworkReport, OwnReport, ProfileReport,
    RequestReport, ServerReport, TraceReport, TransportReport,
};
use crate::profile::tally::Line;
use crate::profile::total::TotalReport;
use crate::profile::transport::PARTS;
use crate::profile::{NetworkModel, Profile};
use crate::recording::trace_summary::TraceSummary;
use crate::recording::warnings::{Warning, WarningKind};
use crate::server_time::TimeSource;
use crate::text::units::{duration_ms, ms, percent};
use x11prof_server_model::TransportPart;
use x11prof_trace::ConnectionId;

/// The version of the JSON.
const FORMAT: u32 = 1;
/// The relative error of a total that is computed from costs. Of 48 forecasts for programs that had no part in the
/// tables, 92 % were within it (validation/results/2026-11-30-carried.md).
const MODEL_ERROR: f64 = 0.3;

impl ProfileReport {
    /// Creates the report on `profile` over `network`. `summary` is of the same trace, and `path` is the trace's path
    /// as given by the user.
    pub fn new(
        path: &str,
        summary: &TraceSummary,
        profile: &Profile,
        network: &Network,
    ) -> ProfileReport {
        let mut transport = transport(profile, network);
        let total = total(profile, summary, network, &transport);
        transport.percent_of_time = percent(transport.time_ms, total.time_ms);
        let requests = profile
            .lines()
            .filter(|(_, line)| line.count > 0)
            .map(|(name, line)| {
                let mut report = request(name.as_str(), &line, network);
                report.no_cost = without_cost(profile, report.no_cost);
                report
            });
        ProfileReport {
            format: FORMAT,
            trace: trace(path, summary, profile.choice()),
            server: ServerReport::new(profile, summary),
            network: NetworkReport::new(network, NetworkModel::Paper),
            requests: shares(requests.collect(), &total),
            groups: groups(profile, summary, network, &total),
            running: None,
            off_cpu: Vec::new(),
            callers: None,
            events: events(profile, network),
            client_and_server: PartitionReport::new(
                &total,
                transport.event_ms,
                summary.activity().filter(|_| profile.choice().is_all()),
                summary.stacks_took(),
            ),
            scaled: profile.scales().report(),
            link: summary.link().map(LinkReport::new),
            start_up: Vec::new(),
            slowest_action: None,
            forecast: None,
            resources: None,
            grabs: None,
            stalls: None,
            warnings: warnings(profile, summary),
            transport,
            total,
        }
    }
}

impl ProfileReport {
    /// Returns the report over another network. `causes` is the time on the critical path of the forecast: each request
    /// and event gets its own causes, and transport the rest. Groups share the requests' time in proportion to their
    /// bytes and round trips.
    pub fn over(mut self, network: &Network, causes: &[ForecastCause]) -> ProfileReport {
        let mut by_name: FxHashMap<&str, f64> = FxHashMap::default();
        let (mut all, mut of_requests) = (0.0, 0.0);
        for cause in causes {
            *by_name.entry(&cause.name).or_default() += cause.ms;
            all += cause.ms;
        }
        for line in &mut self.requests {
            let added = by_name.get(line.name.as_str()).copied().unwrap_or(0.0);
            of_requests += added;
            line.add_network(added);
        }
        for event in &mut self.events {
            event.network_ms = by_name.get(event.name.as_str()).copied().unwrap_or(0.0);
        }
        self.transport.network_ms = (all - of_requests).max(0.0);
        self.transport.time_ms += self.transport.network_ms;
        let total = &mut self.total;
        total.network_ms = all;
        for sum in [&mut total.time_ms, &mut total.low_ms, &mut total.high_ms] {
            *sum += all;
        }
        self.transport.percent_of_time = percent(self.transport.time_ms, total.time_ms);
        self.requests = shares(std::mem::take(&mut self.requests), total);
        if let Some(groups) = &mut self.groups {
            let weight = |line: &RequestReport| {
                let bytes = line.bytes.saturating_add(line.returned_bytes);
                network.time(bytes, line.blocking).0
            };
            let weights: f64 = groups.lines.iter().map(weight).sum();
            for line in groups.lines.iter_mut().filter(|_| weights > 0.0) {
                line.add_network(of_requests * weight(line) / weights);
            }
            groups.lines = shares(std::mem::take(&mut groups.lines), total);
        }
        self.network = NetworkReport::new(network, NetworkModel::Simulated);
        self
    }

    /// Limits the report to a part of the trace, in seconds after its start. The kernel's clocks are read only at the
    /// ends of a recording, so their figures are left out for a part.
    pub fn of_part(mut self, from_s: Option<f64>, to_s: Option<f64>) -> ProfileReport {
        self.trace.from_s = from_s;
        self.trace.to_s = to_s;
        if from_s.is_none() && to_s.is_none() {
            return self;
        }
        self.warnings
            .retain(|warning| warning.kind != WarningKind::ClocksDiffer);
        if to_s.is_some() {
            self.trace.complete = true;
            self.warnings
                .retain(|warning| warning.kind != WarningKind::Incomplete);
        }
        self.total.client_cpu_ms = None;
        self.total.server_cpu_ms = None;
        self.client_and_server = PartitionReport {
            client_ms: None,
            sum_ms: None,
            overlap_ms: None,
            idle_ms: None,
            percent_of_wall: None,
            server_cpu_ms: None,
            estimate_ratio: None,
            ..self.client_and_server
        };
        self
    }
}

impl ProfileReport {
    /// Removes the start-ups, stalls, grabs and resources of clients that the user did not select.
    pub fn limit_to(&mut self, choice: &ClientChoice, summary: &TraceSummary) {
        if choice.is_all() {
            return;
        }
        let holds = |connection: u32| choice.holds(ConnectionId(connection));
        let connections = self.trace.connections.iter();
        let names: Vec<String> = connections
            .map(|one| summary.client_name(ConnectionId(one.id)))
            .collect();
        self.start_up.retain(|one| holds(one.connection));
        if let Some(stalls) = &mut self.stalls {
            stalls.stalls.retain(|one| holds(one.connection));
            stalls.clients.retain(|one| names.contains(&one.client));
            stalls.count = stalls.clients.iter().map(|one| one.count).sum();
            stalls.held_ms = stalls.clients.iter().map(|one| one.held_ms).sum();
        }
        if let Some(resources) = &mut self.resources {
            resources.clients.retain(|one| holds(one.client));
            resources.others = None;
        }
        if let Some(grabs) = &mut self.grabs {
            grabs.grabs.retain(|one| names.contains(&one.client));
            grabs.count = grabs.grabs.len() as u64;
        }
    }
}

impl ServerReport {
    fn new(profile: &Profile, summary: &TraceSummary) -> ServerReport {
        let (machine, brought) = profile.machine();
        ServerReport {
            name: profile.server().to_owned(),
            clock: profile.clock(),
            basis: profile.basis(),
            relay: summary.link().and_then(|link| link.relay.clone()),
            not_timed: summary.not_timed().map(str::to_owned),
            machine,
            brought,
        }
    }
}

/// The lines with their shares of the total, the most time first.
fn shares(mut lines: Vec<RequestReport>, total: &TotalReport) -> Vec<RequestReport> {
    for line in &mut lines {
        line.percent_of_time = percent(line.time_ms, total.time_ms);
        line.percent_charged = percent(line.charged_ms, total.time_ms);
        line.percent_of_count = percent(line.count as f64, total.count as f64);
    }
    lines.sort_by(|a, b| {
        let by_time = b.charged_ms.total_cmp(&a.charged_ms);
        by_time
            .then(b.count.cmp(&a.count))
            .then_with(|| a.name.cmp(&b.name))
    });
    lines
}

fn groups(
    profile: &Profile,
    summary: &TraceSummary,
    network: &Network,
    total: &TotalReport,
) -> Option<GroupReport> {
    let groups = profile.groups()?;
    let lines = profile
        .group_lines()
        .map(|(key, line)| {
            let label = groups.label(key, |connection| summary.client_name(connection));
            request(&label, &line, network)
        })
        .collect();
    Some(GroupReport {
        by: groups.by().name().to_owned(),
        lines: shares(lines, total),
    })
}

fn events(profile: &Profile, network: &Network) -> Vec<EventReport> {
    let mut events: Vec<EventReport> = profile
        .events()
        .map(|(name, line)| EventReport {
            name: name.to_string(),
            count: line.count,
            bytes: line.bytes,
            server_ms: ms(line.server.time),
            network_ms: ms(network.time(line.bytes, 0)),
        })
        .collect();
    events.sort_by(|a, b| {
        let by_time = b.server_ms.total_cmp(&a.server_ms);
        let by_count = || b.count.cmp(&a.count);
        by_time
            .then_with(by_count)
            .then_with(|| a.name.cmp(&b.name))
    });
    events
}

impl NetworkReport {
    /// Describes `network` and the source of its times.
    pub fn new(network: &Network, model: NetworkModel) -> NetworkReport {
        let model = match model {
            NetworkModel::Simulated => "simulated",
            NetworkModel::Paper => "paper",
        };
        NetworkReport {
            bytes_per_second: network.bytes_per_second,
            rtt_ms: ms(network.rtt),
            compression: network.compression,
            model: (*network != Network::NONE).then(|| model.to_owned()),
        }
    }
}

impl RequestReport {
    /// Adds `added` milliseconds on the network to the line.
    fn add_network(&mut self, added: f64) {
        self.network_ms += added;
        for sum in [
            &mut self.time_ms,
            &mut self.low_ms,
            &mut self.high_ms,
            &mut self.charged_ms,
        ] {
            *sum += added;
        }
        self.ms_per_call = self.time_ms / self.count.max(1) as f64;
    }
}

fn trace(path: &str, summary: &TraceSummary, choice: &ClientChoice) -> TraceReport {
    let connections = summary.connections().iter();
    let connections = connections.filter(|connection| choice.holds(connection.id));
    let connections: Vec<ConnectionReport> = connections
        .map(|connection| ConnectionReport {
            id: connection.id.0,
            pid: connection.pid,
            name: connection.name.clone(),
            command: connection.command.clone(),
            requests: connection.requests,
            last_sequence: connection.last_sequence,
        })
        .collect();
    TraceReport {
        path: path.to_owned(),
        duration_ms: duration_ms(summary.duration()),
        records: summary.records(),
        complete: summary.is_complete(),
        from_s: None,
        to_s: None,
        command: summary
            .started()
            .map(|started| started.command.clone())
            .unwrap_or_default(),
        client: choice.typed().map(str::to_owned),
        connection_count: match choice.is_all() {
            true => summary.connected(),
            false => connections.len() as u64,
        },
        connections,
        unpaired_replies: summary.unpaired_replies(),
    }
}

/// The number of requests without cost data that count as 0 ms, of `no_cost` such requests. Timed requests need no cost
/// data.
fn without_cost(profile: &Profile, no_cost: u64) -> u64 {
    match profile.basis() {
        TimeSource::Timed => 0,
        _ => no_cost,
    }
}

fn request(name: &str, line: &Line, network: &Network) -> RequestReport {
    let wire = network.time(line.bytes, line.blocking);
    let time = line.server.time + wire;
    RequestReport {
        name: name.to_owned(),
        count: line.count,
        bytes: line.bytes,
        time_ms: ms(time),
        server_ms: ms(line.server.time),
        network_ms: ms(wire),
        percent_of_time: 0.0,
        percent_of_count: 0.0,
        ms_per_call: ms(time * (1.0 / line.count.max(1) as f64)),
        low_ms: ms(line.server.low + wire),
        high_ms: ms(line.server.high + wire),
        blocking: line.blocking,
        failed: line.failed,
        transport_ms: ms(line.transport.time),
        returned_bytes: line.returned,
        charged_ms: ms(time + line.transport.time + network.time(line.returned, 0)),
        percent_charged: 0.0,
        exact: line.exact,
        interpolated: line.interpolated,
        substituted: line.substituted,
        no_cost: line.no_cost,
    }
}

fn transport(profile: &Profile, network: &Network) -> TransportReport {
    let part = |part| profile.transport(part);
    let server: Cost = transport_cost(profile);
    let bytes = PARTS
        .iter()
        .map(|which| part(*which).bytes)
        .fold(0, u64::saturating_add);
    let wire = network.time(bytes, 0);
    let measured = profile.basis().is_measured();
    let two = |a, b| ms(part(a).server.time + part(b).server.time);
    TransportReport {
        wakeups: part(TransportPart::Wakeup).count,
        replies: part(TransportPart::Reply).count,
        events: part(TransportPart::Event).count,
        errors: part(TransportPart::Error).count,
        bytes,
        reply_bytes: part(TransportPart::Reply).bytes + part(TransportPart::Error).bytes,
        event_bytes: part(TransportPart::Event).bytes,
        setup_bytes: part(TransportPart::Setup).bytes,
        server_ms: ms(server.time),
        wakeup_ms: ms(part(TransportPart::Wakeup).server.time),
        read_ms: two(TransportPart::Read, TransportPart::Setup),
        cold_requests: part(TransportPart::Cold).count,
        cold_ms: ms(part(TransportPart::Cold).server.time),
        reply_ms: two(TransportPart::Reply, TransportPart::Error),
        event_ms: ms(part(TransportPart::Event).server.time),
        own: measured.then(|| OwnReport {
            runs: part(TransportPart::Own).count,
            ms: ms(part(TransportPart::Own).server.time),
        }),
        network_ms: ms(wire),
        time_ms: ms(server.time + wire),
        percent_of_time: 0.0,
    }
}

fn transport_cost(profile: &Profile) -> Cost {
    PARTS.iter().fold(Cost::default(), |sum, part| {
        sum + profile.transport(*part).server
    })
}

fn total(
    profile: &Profile,
    summary: &TraceSummary,
    network: &Network,
    transport: &TransportReport,
) -> TotalReport {
    let mut all = Line::default();
    for (_, line) in profile.lines() {
        all.count += line.count;
        all.bytes = all.bytes.saturating_add(line.bytes);
        all.blocking += line.blocking;
        all.no_cost += line.no_cost;
        all.server += line.server;
    }
    let server = all.server + transport_cost(profile);
    let server = match profile.basis().is_measured() {
        // The time was measured and only attributed by costs, so it is exact.
        true => Cost::exact(server.time),
        false => server.at_least(MODEL_ERROR),
    };
    let wire = network.time(all.bytes, all.blocking) + network.time(transport.bytes, 0);
    let cpu = summary.cpu(profile.choice());
    TotalReport {
        count: all.count,
        bytes: all.bytes,
        time_ms: ms(server.time + wire),
        server_ms: ms(server.time),
        network_ms: ms(wire),
        low_ms: ms(server.low + wire),
        high_ms: ms(server.high + wire),
        no_cost: without_cost(profile, all.no_cost),
        client_cpu_ms: cpu.clients.map(duration_ms),
        server_cpu_ms: cpu
            .server
            .filter(|_| profile.choice().is_all())
            .map(duration_ms),
        wall_ms: duration_ms(summary.wall_of(profile.choice())),
    }
}

fn warnings(profile: &Profile, summary: &TraceSummary) -> Vec<Warning> {
    // If each request has its measured time, caveats about costs do not apply.
    let mut warnings = match profile.basis() {
        TimeSource::Timed => Vec::new(),
        _ => profile.warnings().list(),
    };
    if profile.on_other_clock() > 0 {
        let count = profile.on_other_clock();
        warnings.push(Warning::general(WarningKind::OtherClock, None, count));
    }
    if !profile.knows_transport() && !profile.server().is_empty() {
        warnings.push(Warning::general(WarningKind::NoTransport, None, 1));
    }
    if let Some((switches, clock)) = profile.doubt() {
        let (switches, clock) = (switches.as_ms(), clock.as_ms());
        let times = format!(
            "{switches:.1} ms by context switches, {clock:.1} ms by the server's CPU clock"
        );
        let differ = Warning::general(WarningKind::ClocksDiffer, Some(times), 1);
        warnings.push(differ);
    }
    warnings.extend(summary.warnings(profile.choice()));
    warnings
}
