//! A finished episode and the components of its latency.

use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

use super::awaited::AwaitedRequest;
use super::cross_client::causal_edge::{CausalEdge, EpisodeId};
use super::cross_client::path_step::PathStep;
use super::cross_client::steps::Steps;
pub use super::latency_component::{LatencyBreakdown, LatencyComponent};
use super::states::Busy;
use super::tree::Tree;
use super::user::tag::Tags;
use crate::forecast::ForecastTimes;
use crate::text::label::Label;

/// The kind of stimulus that begins an episode (the thesis, section 4.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// An event of an input device: the user did something.
    Input,
    /// Drawing is due or complete: Expose, ConfigureNotify, a Present event, or the tick of a frame.
    Output,
    /// Any other stimulus, such as a message of another client, a timer or a file.
    Asynchronous,
}

impl Trigger {
    /// The three kinds of trigger.
    pub const ALL: [Trigger; 3] = [Trigger::Input, Trigger::Output, Trigger::Asynchronous];

    /// The name of the trigger in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Input => "input",
            Trigger::Output => "output",
            Trigger::Asynchronous => "asynchronous",
        }
    }
}

/// The landmark of a client's start-up.
pub(crate) const START_UP: &str = "Start-up";
/// The shortest kept child, in nanoseconds. Shorter children are merged into their parent, because they would print as
/// 0.0 ms.
pub(crate) const SHORTEST_CHILD: u64 = 1_000_000;

/// A part of an episode that the episode's own requests caused: the handling of an event in the same client, or an
/// episode of another client.
#[derive(Debug, Clone)]
pub struct Child {
    /// The client of the child, if the child is an episode of another client; otherwise `None`.
    pub client: Option<ConnectionId>,
    /// The request that caused the child, if the child is an episode of another client.
    pub request: Option<Symbol>,
    /// The event that began the child, and its window.
    pub landmark: Label,
    /// The time at which that event was delivered.
    pub start: Timestamp,
    /// Nanoseconds from the event's delivery to the next event that is not nested in this one, or to the episode's last
    /// request. For an episode of another client: nanoseconds to the end of all its effects.
    pub latency: u64,
    /// The latency without the latencies of `children`, in nanoseconds.
    pub exclusive: u64,
    /// The effects of the child's own requests.
    pub children: Vec<Child>,
}

impl Child {
    /// The time at which the child ends.
    pub(crate) fn end(&self) -> Timestamp {
        Timestamp::from_nanos(self.start.as_nanos().saturating_add(self.latency))
    }
}

/// Returns `latency` without the latencies of `children`, in nanoseconds.
pub(crate) fn without(latency: u64, children: &[Child]) -> u64 {
    let children = children.iter().map(|child| child.latency);
    latency.saturating_sub(children.fold(0, u64::saturating_add))
}

/// Adds the nanoseconds of each request in `more` to `sums`.
pub(crate) fn add_times(sums: &mut Vec<(Symbol, u64)>, more: &[(Symbol, u64)]) {
    for (request, nanos) in more {
        match sums.iter_mut().find(|(name, _)| name == request) {
            Some((_, sum)) => *sum = sum.saturating_add(*nanos),
            None => sums.push((*request, *nanos)),
        }
    }
}

/// The reason why the end of an episode may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsure {
    /// A thread of the client waited for another thread.
    WaitForThread,
    /// A second process writes on the client's connection.
    AnotherProcess,
    /// The client drew several frames and never waited for X between them.
    NeverWaits,
    /// The recording has a gap during the episode.
    Hole,
    /// The recording ended before the client had handled the stimulus.
    Ended,
}

impl Unsure {
    /// The reason why the end of the episode is uncertain, as text.
    pub fn why(self) -> &'static str {
        match self {
            Unsure::AnotherProcess => {
                "another process than the one that connected sends the requests"
            }
            Unsure::NeverWaits => {
                "the client drew frame after frame without waiting for X, so any of them may be the last one"
            }
            Unsure::Hole => "a part of the recording is missing there",
            Unsure::Ended => "the recording ended before the client was done",
            Unsure::WaitForThread => {
                "the client waited for a thread or process, and the recording does not show why"
            }
        }
    }
}

/// An episode: the handling of one stimulus by one client.
#[derive(Debug, Clone)]
pub struct Episode {
    pub(crate) id: EpisodeId,
    /// True when the effects of the episode on other clients are known and counted; false while only the client has
    /// ended it.
    pub settled: bool,
    /// The client that handled the stimulus.
    pub client: ConnectionId,
    /// The landmark of the episode: stimulus, window, and key or button.
    pub landmark: Label,
    /// The kind of user action and the class of the window.
    pub group: Symbol,
    /// The kind of stimulus that began the episode.
    pub trigger: Trigger,
    /// The time at which the episode began.
    pub start: Timestamp,
    /// The components of the latency. Their sum is the latency.
    pub parts: LatencyBreakdown,
    /// The number of replies that the client waited for.
    pub round_trips: u64,
    /// The number of requests that the client sent.
    pub requests: u64,
    /// The number of bytes of the client's requests in the episode.
    pub bytes: u64,
    /// The number of bytes of the replies that the client waited for; for a start-up, of all messages that the client
    /// received.
    pub received: u64,
    /// The number of events that the client handled.
    pub events: u64,
    /// Nanoseconds in which threads of the client were running or ready, added up over the threads.
    pub runnable: u64,
    /// Nanoseconds in which the client was busy with the episode, by state of the client.
    pub(crate) busy: Busy,
    /// Nanoseconds in which the stimulus waited although the client handled nothing else.
    pub(crate) waited_idle: u64,
    /// The reason why the end of the episode may be wrong; `None` if the end is certain.
    pub unsure: Option<Unsure>,
    /// The effects within the latency: events that the client's own requests caused, such as the Expose of a window
    /// that it mapped, and episodes of other clients.
    pub children: Vec<Child>,
    /// Nanoseconds of the latency that belong to `children`.
    pub(crate) of_children: u64,
    /// The request of another client that caused the episode; `None` if no client caused it.
    pub(crate) link: Option<CausalEdge>,
    /// The requests of other clients that caused events during the handling.
    pub(crate) fed: Vec<CausalEdge>,
    /// The latency components over time, kept until `path` is known.
    pub(crate) steps: Steps,
    /// The time at which the stimulus was delivered, in nanoseconds; `None` without a delivered stimulus.
    pub(crate) delivered: Option<u64>,
    /// The user-defined events that the episode starts and ends, and the resources that it creates.
    pub(crate) tags: Tags,
    /// The chain of waits from the beginning of the episode to its end.
    pub(crate) path: Vec<PathStep>,
    /// The tree of the episode's intervals without their times, which decides the pattern.
    pub(crate) tree: Tree,
    /// The number of the episode's pattern, from 1; `None` before it is assigned, and if there are too many patterns.
    pub pattern: Option<u64>,
    /// Nanoseconds that the client waited for replies, by request.
    pub(crate) asked: Vec<(Symbol, u64)>,
    /// The window that the client last drew on; `None` if unknown.
    pub(crate) drawn: Option<Label>,
    /// Nanoseconds from the last request until the server had drawn its result, including the time in which the request
    /// was in flight.
    pub(crate) presentation: u64,
    /// The nanoseconds of the latency that a forecast over another link adds; zero without a forecast.
    pub(crate) added: u64,
    /// Nanoseconds that the server's handlers used while replies were pending, by request; empty if the server was not
    /// timed.
    pub(crate) handled: Vec<(Symbol, u64)>,
    /// The open requests to other clients, the longest waits first.
    pub awaited: Vec<AwaitedRequest>,
    /// True if the latency components are based on context switches, false if they are based on messages only.
    pub scheduled: bool,
}

impl Episode {
    /// Nanoseconds from the beginning of the episode to the end of all its effects, including effects in other clients.
    pub fn latency(&self) -> u64 {
        self.parts.total()
    }

    /// True for a client's first episode, which began when the client connected.
    pub(crate) fn is_first(&self) -> bool {
        self.landmark.as_str() == START_UP
    }

    /// The part of the latency up to the end of the client's own response, in nanoseconds.
    pub(crate) fn of_client(&self) -> u64 {
        self.latency()
            .saturating_sub(self.parts.of(LatencyComponent::Others))
    }

    /// Nanoseconds in which the stimulus waited while the client handled something else.
    pub(crate) fn queued(&self) -> u64 {
        let waited = self.parts.of(LatencyComponent::Waiting);
        waited.saturating_sub(self.waited_idle)
    }

    /// Nanoseconds in which the client waited for replies, or for the server to accept its data.
    pub fn blocked(&self) -> u64 {
        let all = self.parts.server() + self.parts.of(LatencyComponent::Network);
        all.saturating_sub(self.presentation)
    }

    /// The latency without the latencies of the children, in nanoseconds.
    pub fn exclusive(&self) -> u64 {
        self.latency().saturating_sub(self.of_children)
    }

    /// The request of another client that caused the episode. Prefers a request whose sender waits for this client;
    /// otherwise the first request.
    pub fn asked(&self) -> Option<Symbol> {
        let link = self.link.as_ref()?;
        let same = self.fed.iter().filter(|fed| fed.from == link.from);
        let mut awaited = std::iter::once(link)
            .chain(same)
            .filter(|one| one.is_awaited());
        Some(awaited.next().unwrap_or(link).request)
    }

    /// True if another client's episode caused this one. The latency of the other episode then includes this one.
    pub fn is_led_to(&self) -> bool {
        self.link.is_some()
    }

    /// The tree of the episode's intervals without times, as text. Episodes of one pattern have equal texts.
    pub fn shape(&self) -> String {
        self.tree.to_string()
    }

    /// The episode over another link. Latency that the simulation adds is attributed to the network.
    pub(crate) fn over(&self, link: &ForecastTimes) -> Episode {
        let mut episode = self.clone();
        let [start, end] = [self.start, self.end()].map(Timestamp::as_nanos);
        // While the server draws, the client may already write the next frame.
        let last = [end.saturating_sub(self.presentation), self.presentation];
        let own = match self.landmark.as_str() {
            START_UP => link.start_up(self.client, [start, end], last),
            _ => link.latency(self.client, [start, end], last),
        };
        let Some(own) = own else {
            return episode;
        };
        let others = self.children.iter().filter_map(|child| {
            let end = child.start.as_nanos().saturating_add(child.latency);
            link.latency(child.client?, [start, end], [end, self.presentation])
        });
        let latency = others.max().unwrap_or(0).max(own);
        let recorded = self.parts.of(LatencyComponent::Network);
        let network = latency.saturating_sub(self.latency() - recorded);
        episode.added = network.saturating_sub(recorded);
        episode.parts.set(LatencyComponent::Network, network);
        episode
            .path
            .retain(|step| step.owner != LatencyComponent::Network);
        let step = PathStep::network(self.client, self.end().as_nanos(), network);
        episode.path.extend((network > 0).then_some(step));
        episode
    }

    /// The time at which the episode's client had finished its own response, without effects in other clients.
    pub fn end(&self) -> Timestamp {
        Timestamp::from_nanos(self.start.as_nanos().saturating_add(self.of_client()))
    }
}
