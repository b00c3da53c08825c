//! A finished episode, and what its time is made of.

use x11prof_cost_model::Network;
use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

use super::across::link::{EpisodeId, Link};
use super::across::path_step::PathStep;
use super::across::steps::Steps;
pub use super::owner::{Owner, Parts};
use super::states::Busy;
use super::tree::Tree;
use super::user::tag::Tags;
use crate::label::Label;

/// What began an episode (thesis, section 4.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// An event of a device: the user did something.
    Input,
    /// Something has to be drawn, or has been: Expose, ConfigureNotify, Present, a frame's tick.
    Output,
    /// Anything else: a message of another client, a timer, a file.
    Asynchronous,
}

impl Trigger {
    /// All of them.
    pub const ALL: [Trigger; 3] = [Trigger::Input, Trigger::Output, Trigger::Asynchronous];

    /// As it is named in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Input => "input",
            Trigger::Output => "output",
            Trigger::Asynchronous => "asynchronous",
        }
    }
}

/// Shorter children are their parent's: they would print as 0.0 ms.
pub(crate) const SHORTEST_CHILD: u64 = 1_000_000;

/// What an episode led to: a part of its handling that an event of its own doing began, or an episode of
/// another client.
#[derive(Debug, Clone)]
pub struct Child {
    /// The client, of an episode of another one.
    pub client: Option<ConnectionId>,
    /// The request that led to it, of an episode of another client.
    pub request: Option<Symbol>,
    /// The event and its window.
    pub landmark: Label,
    /// When it was delivered.
    pub start: Timestamp,
    /// From there to the next event that is not within it, or to the last request of the episode; of an episode
    /// of another client, to the end of all that it led to. In nanoseconds.
    pub latency: u64,
    /// The same without its children.
    pub exclusive: u64,
    /// What its own requests led to.
    pub children: Vec<Child>,
}

impl Child {
    /// When it was over.
    pub(crate) fn end(&self) -> Timestamp {
        Timestamp::from_nanos(self.start.as_nanos().saturating_add(self.latency))
    }
}

/// What is left of a latency without these children of it, in nanoseconds.
pub(crate) fn without(latency: u64, children: &[Child]) -> u64 {
    let children = children.iter().map(|child| child.latency);
    latency.saturating_sub(children.fold(0, u64::saturating_add))
}

/// Why an episode may have ended elsewhere than it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsure {
    /// A thread of the client waited for another one.
    WaitForThread,
    /// Another process writes on the client's connection.
    AnotherProcess,
    /// It drew frame after frame and never waited for X in between.
    NeverWaits,
}

impl Unsure {
    /// For people.
    pub fn why(self) -> &'static str {
        match self {
            Unsure::AnotherProcess => {
                "its requests came while no thread of the process ran that had connected: another one sends them"
            }
            Unsure::NeverWaits => {
                "its client drew frame after frame without waiting for X: where the response ended among them does not show"
            }
            Unsure::WaitForThread => {
                "a thread waited for another one, and no event had shown yet whether for work or in the middle of it"
            }
        }
    }
}

/// The handling of one stimulus by one client.
#[derive(Debug, Clone)]
pub struct Episode {
    pub(crate) id: EpisodeId,
    /// The client.
    pub client: ConnectionId,
    /// What it was about: the trigger, the window, the key or button.
    pub landmark: Label,
    /// The kind of action and the class of the window.
    pub group: Symbol,
    /// What began it.
    pub trigger: Trigger,
    /// When it began.
    pub start: Timestamp,
    /// What its time is made of; together its latency.
    pub parts: Parts,
    /// How often the client waited for a reply.
    pub round_trips: u64,
    /// Requests sent.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Events that it handled.
    pub events: u64,
    /// Nanoseconds for which threads of the client could run, added up over the threads.
    pub runnable: u64,
    /// Nanoseconds of its handling by the state of its client.
    pub(crate) busy: Busy,
    /// Nanoseconds for which its stimulus waited while its client handled nothing.
    pub(crate) waited_idle: u64,
    /// Why it may have ended elsewhere.
    pub unsure: Option<Unsure>,
    /// What it had to handle of its own doing before its response was complete, such as the
    /// Expose of a window that it mapped; and the episodes of other clients that it led to.
    pub children: Vec<Child>,
    /// Nanoseconds of its latency that are its children's.
    pub(crate) of_children: u64,
    /// The request of another client that led to it.
    pub(crate) link: Option<Link>,
    /// Events of other clients that came while it was handled.
    pub(crate) fed: Vec<Link>,
    /// Who owned its time, until its path is known.
    pub(crate) steps: Steps,
    /// When its stimulus was delivered.
    pub(crate) delivered: Option<u64>,
    /// What of the user's own events it starts and ends, and the resources that it makes.
    pub(crate) tags: Tags,
    /// The chain of waits from its beginning to its end.
    pub(crate) path: Vec<PathStep>,
    /// Its intervals without their times: what its pattern is told by.
    pub(crate) tree: Tree,
    /// The number of its pattern, from 1; `None` before it has one, and where there are too many.
    pub pattern: Option<u64>,
    /// Nanoseconds in which it waited for replies, by request.
    pub(crate) asked: Vec<(Symbol, u64)>,
    /// The window that its last drawing was on, where that is known.
    pub(crate) drawn: Option<Label>,
    /// Nanoseconds from its last request until that was drawn, those on the way to the server among them.
    pub(crate) presentation: u64,
    /// Whether context switches told the parts, or the wire alone.
    pub scheduled: bool,
}

impl Episode {
    /// Nanoseconds from its beginning to the end of all that it led to, in other clients as well: what a user waits for.
    pub fn latency(&self) -> u64 {
        self.parts.total()
    }

    /// What of its latency passed until its own client was done.
    pub(crate) fn of_client(&self) -> u64 {
        self.latency().saturating_sub(self.parts.of(Owner::Others))
    }

    /// Nanoseconds for which its stimulus waited while its client handled something else.
    pub(crate) fn queued(&self) -> u64 {
        let waited = self.parts.of(Owner::Waiting);
        waited.saturating_sub(self.waited_idle)
    }

    /// Nanoseconds in which the client waited for replies, or for what it sent to be taken.
    pub fn blocked(&self) -> u64 {
        let all = self.parts.server() + self.parts.of(Owner::Network);
        all.saturating_sub(self.presentation)
    }

    /// Its latency without that of its children.
    pub fn exclusive(&self) -> u64 {
        self.latency().saturating_sub(self.of_children)
    }

    /// The request of another client that made it act: one that waits for it to act, if there is one among those
    /// that its parent sent, else the first.
    pub fn asked(&self) -> Option<Symbol> {
        let link = self.link.as_ref()?;
        let same = self.fed.iter().filter(|fed| fed.from == link.from);
        let mut awaited = std::iter::once(link)
            .chain(same)
            .filter(|one| one.is_awaited());
        Some(awaited.next().unwrap_or(link).request)
    }

    /// Whether an episode of another client led to it, whose latency has its time.
    pub fn is_led_to(&self) -> bool {
        self.link.is_some()
    }

    /// What it did, without times: what patterns are told by.
    pub fn shape(&self) -> String {
        self.tree.to_string()
    }

    /// The same over a network: its requests' bytes, and the latency for each of its round trips
    /// (Xprof's equation 7, with the blocking that was observed).
    pub(crate) fn over(&self, network: &Network) -> Episode {
        let mut episode = self.clone();
        let time = network.time(self.bytes, self.round_trips);
        // As a cast does it: what does not fit is the largest that does.
        let nanos = (time.0 * 1000.0) as u64;
        if nanos == 0 {
            return episode;
        }
        episode.parts.add(Owner::Network, nanos);
        let end = self.end().as_nanos();
        episode
            .path
            .push(PathStep::network(self.client, end, nanos));
        episode
    }

    /// When its own client was done with it.
    pub fn end(&self) -> Timestamp {
        Timestamp::from_nanos(self.start.as_nanos().saturating_add(self.of_client()))
    }
}
