//! The parts of the results that a page shows. The full results of a long trace have many megabytes, and a browser
//! would have to parse all of them before it shows anything.

use serde::Serialize;
use x11prof_analyzer::{
    BlockingRequest, ChildReport, ClientResources, CumulativeReport, EpisodeReport, EpisodesReport,
    HeldOverTime, KindResources, LandmarkReport, MarkReport, NetworkReport, PartitionReport,
    PartsReport, PatternReport, ProfileReport, RequestReport, RoundTripsReport, ServerReport,
    SummaryReport, ThinkReport, TotalReport, Warning, component_name,
};

use crate::roundtrips::{self, sentence};

/// The maximum number of episodes on a page. The longest episodes are shown.
const EPISODES: usize = 4000;
/// Maximum number of suggestions on a page, the largest savings first.
const SUGGESTIONS: usize = 200;

/// The parts of the profile that a page shows.
#[derive(Debug, Serialize)]
pub(super) struct Profile<'a> {
    trace: Trace<'a>,
    server: &'a ServerReport,
    network: &'a NetworkReport,
    requests: &'a [RequestReport],
    total: &'a TotalReport,
    client_and_server: &'a PartitionReport,
    resources: Vec<Client<'a>>,
    warnings: &'a [Warning],
}

#[derive(Debug, Serialize)]
struct Trace<'a> {
    path: &'a str,
    duration_ms: f64,
    connection_count: u64,
}

/// The resources of a client on the page.
#[derive(Debug, Serialize)]
struct Client<'a> {
    name: &'a str,
    kinds: Vec<Kind<'a>>,
}

#[derive(Debug, Serialize)]
struct Kind<'a> {
    kind: &'a str,
    held: u64,
    peak: u64,
    peak_bytes: u64,
    created: u64,
    grows: bool,
    over_time: &'a [HeldOverTime],
}

/// The parts of the report on episodes that a page shows.
#[derive(Debug, Serialize)]
pub(super) struct Episodes<'a> {
    summary: &'a SummaryReport,
    think_and_wait: &'a ThinkReport,
    patterns: Vec<Pattern<'a>>,
    distribution: &'a [CumulativeReport],
    landmarks: Vec<Landmark<'a>>,
    episodes: Vec<Episode<'a>>,
    marks: &'a [MarkReport],
    marks_omitted: u64,
}

#[derive(Debug, Serialize)]
struct Landmark<'a> {
    landmark: &'a str,
    count: u64,
    perceptible: u64,
    p50_ms: f64,
    max_ms: f64,
    total_ms: f64,
}

#[derive(Debug, Serialize)]
struct Pattern<'a> {
    pattern: Option<u64>,
    group: &'a str,
    shape: &'a str,
    count: u64,
    perceptible: u64,
    slow: &'a str,
    p50_ms: f64,
    max_ms: f64,
    total_ms: f64,
    parts: &'a PartsReport,
    main_cause: &'a str,
}

#[derive(Debug, Serialize)]
struct Episode<'a> {
    client_name: &'a str,
    landmark: &'a str,
    pattern: Option<u64>,
    start_ms: f64,
    latency_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    caused_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blame: Option<&'a str>,
    parts: &'a PartsReport,
    round_trips: u64,
    blocked_ms: f64,
    main_cause: &'a str,
    requests: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertain: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Child<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    messages: &'a [String],
}

#[derive(Debug, Serialize)]
struct Child<'a> {
    landmark: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<&'a str>,
    start_ms: f64,
    latency_ms: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Child<'a>>,
}

/// The parts of the report on round trips that a page shows.
#[derive(Debug, Serialize)]
pub(super) struct RoundTrips<'a> {
    round_trips: &'a [BlockingRequest],
    verdict: Vec<String>,
    heading: String,
    /// Each suggestion with its reason.
    suggestions: Vec<[String; 2]>,
}

impl<'a> Profile<'a> {
    pub(super) fn of(report: &'a ProfileReport) -> Profile<'a> {
        let clients = report.resources.iter().flat_map(|held| &held.clients);
        Profile {
            trace: Trace {
                path: &report.trace.path,
                duration_ms: report.trace.duration_ms,
                connection_count: report.trace.connection_count,
            },
            server: &report.server,
            network: &report.network,
            requests: &report.requests,
            total: &report.total,
            client_and_server: &report.client_and_server,
            resources: clients
                .filter(|client| !client.kinds.is_empty())
                .map(Client::of)
                .collect(),
            warnings: &report.warnings,
        }
    }
}

impl<'a> Client<'a> {
    fn of(client: &'a ClientResources) -> Client<'a> {
        let kind = |of: &'a KindResources| Kind {
            kind: &of.kind,
            held: of.counts.held,
            peak: of.counts.most,
            peak_bytes: of.counts.most_bytes,
            created: of.counts.created,
            grows: of.grows,
            over_time: &of.over_time,
        };
        Client {
            name: &client.name,
            kinds: client.kinds.iter().map(kind).collect(),
        }
    }
}

impl<'a> Episodes<'a> {
    pub(super) fn of(report: &'a EpisodesReport) -> Episodes<'a> {
        Episodes {
            summary: &report.summary,
            think_and_wait: &report.think_and_wait,
            patterns: report.patterns.iter().map(Pattern::of).collect(),
            distribution: &report.distribution,
            landmarks: report.landmarks.iter().map(Landmark::of).collect(),
            episodes: longest(report).map(Episode::of).collect(),
            marks: &report.marks,
            marks_omitted: report.marks_omitted,
        }
    }
}

impl<'a> Landmark<'a> {
    fn of(of: &'a LandmarkReport) -> Landmark<'a> {
        Landmark {
            landmark: &of.landmark,
            count: of.count,
            perceptible: of.perceptible,
            p50_ms: of.median_ms,
            max_ms: of.max_ms,
            total_ms: of.total_ms,
        }
    }
}

impl<'a> Pattern<'a> {
    fn of(of: &'a PatternReport) -> Pattern<'a> {
        Pattern {
            pattern: of.pattern,
            group: of.landmark.as_ref().unwrap_or(&of.group),
            shape: &of.shape,
            count: of.count,
            perceptible: of.perceptible,
            slow: of.slow,
            p50_ms: of.median_ms,
            max_ms: of.max_ms,
            total_ms: of.total_ms,
            parts: &of.parts,
            main_cause: component_name(of.culprit),
        }
    }
}

impl<'a> Episode<'a> {
    fn of(of: &'a EpisodeReport) -> Episode<'a> {
        Episode {
            client_name: &of.client_name,
            landmark: &of.landmark,
            pattern: of.pattern,
            start_ms: of.start_ms,
            latency_ms: of.latency_ms,
            caused_by: of.led_to_by.as_deref(),
            blame: of.blame.as_ref().map(|blame| blame.sentence.as_str()),
            parts: &of.parts,
            round_trips: of.round_trips,
            blocked_ms: of.blocked_ms,
            main_cause: component_name(of.culprit),
            requests: of.requests,
            bytes: of.bytes,
            uncertain: of.unsure,
            children: Child::all(&of.children),
            messages: &of.messages,
        }
    }
}

impl<'a> Child<'a> {
    fn all(children: &'a [ChildReport]) -> Vec<Child<'a>> {
        let child = |of: &'a ChildReport| Child {
            landmark: &of.landmark,
            client_name: of.client_name.as_deref(),
            start_ms: of.start_ms,
            latency_ms: of.latency_ms,
            children: Child::all(&of.children),
        };
        children.iter().map(child).collect()
    }
}

impl<'a> RoundTrips<'a> {
    pub(super) fn of(report: &'a RoundTripsReport) -> RoundTrips<'a> {
        let suggestions = roundtrips::suggestions(report).take(SUGGESTIONS);
        let suggestion = |one| [roundtrips::line(report, one), sentence(&one.why)];
        RoundTrips {
            round_trips: &report.blocking,
            verdict: roundtrips::verdict(report),
            heading: roundtrips::heading(report),
            suggestions: suggestions.map(suggestion).collect(),
        }
    }
}

/// Returns the episodes that are on the page, in the order of the report.
fn longest(report: &EpisodesReport) -> impl Iterator<Item = &EpisodeReport> {
    let all = &report.episodes;
    let mut order: Vec<usize> = (0..all.len()).collect();
    if order.len() > EPISODES {
        let latency = |at: &usize| all[*at].latency_ms;
        order.sort_by(|a, b| latency(b).total_cmp(&latency(a)));
        order.truncate(EPISODES);
        order.sort_unstable();
    }
    order.into_iter().map(|at| &all[at])
}

/// Returns sentences on results that were left out of the page. The list is empty if the page is complete.
pub(super) fn thinned(
    report: &ProfileReport,
    episodes: &EpisodesReport,
    roundtrips: &RoundTripsReport,
    with_messages: usize,
) -> Vec<String> {
    let own = |one: &&EpisodeReport| one.led_to_by.is_none();
    let listed = longest(episodes).filter(own).count();
    let all = episodes.episodes.iter().filter(own).count() as u64 + episodes.omitted;
    let mut said = Vec::new();
    if listed as u64 != all {
        said.push(format!(
            "This page shows the {listed} longest of {all} episodes; the figures count all.",
        ));
    }
    if listed > with_messages {
        said.push(format!(
            "This page has the messages of the {with_messages} longest episodes; `x11prof dump --from … \
             --to …` prints others."
        ));
    }
    let suggestions = roundtrips.suggestions.len();
    if suggestions > SUGGESTIONS {
        said.push(format!(
            "This page shows the first {SUGGESTIONS} of {suggestions} suggestions; `x11prof network \
             --all` prints all."
        ));
    }
    let held = report.resources.iter();
    let (clients, others) = held.fold((0, 0), |(clients, others), held| {
        let more = held.others.as_ref().map_or(0, |others| others.count);
        (clients + held.clients.len(), others + more)
    });
    if others > 0 {
        said.push(format!(
            "This page shows the resources of {clients} of {} clients, those with the most.",
            clients as u64 + others
        ));
    }
    said
}
