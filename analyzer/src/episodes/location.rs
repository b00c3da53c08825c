//! Locations of an episode's time (the thesis, section 4.3.3), as precise as the protocol stream and the kernel allow:
//! the client's code, the round trips of a request, drawing in a window.

use std::fmt;

use x11prof_protocol::Symbol;

use super::cause::{Cause, ServerCause};
use super::episode::{Episode, LatencyBreakdown, LatencyComponent};
use crate::text::label::Label;

/// A location of an episode's time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Location {
    /// A location that is known only by its owner.
    Of(LatencyComponent),
    /// The client waited for replies to requests of this name.
    RoundTrips(Symbol),
    /// The client waited until the server accepted the bytes that it wrote.
    Writing,
    /// The server drew on a window with this label.
    Drawing(Label),
}

impl Location {
    /// The locations of an episode's time, each with nanoseconds. They add up to the latency.
    pub(crate) fn of(episode: &Episode) -> Vec<(Location, u64)> {
        let mut all = Vec::new();
        let mut replies = 0_u64;
        for owner in LatencyBreakdown::OWNERS {
            let nanos = episode.parts.of(owner);
            match owner {
                LatencyComponent::Server(ServerCause::Reply) => replies += nanos,
                LatencyComponent::Server(ServerCause::Drawing) => {
                    let on = episode.drawn.clone().map(Location::Drawing);
                    all.push((on.unwrap_or(Location::Of(owner)), nanos));
                }
                owner => all.push((Location::Of(owner), nanos)),
            }
        }
        for (request, nanos) in &episode.asked {
            let nanos = (*nanos).min(replies);
            replies -= nanos;
            all.push((Location::RoundTrips(*request), nanos));
        }
        all.push((Location::Writing, replies));
        all.retain(|(_, nanos)| *nanos > 0);
        all
    }

    /// Returns the location without the name of the request or the window.
    pub(crate) fn like(self) -> Location {
        match self {
            Location::RoundTrips(_) => Location::Of(LatencyComponent::Server(ServerCause::Reply)),
            Location::Drawing(_) => Location::Of(LatencyComponent::Server(ServerCause::Drawing)),
            other => other,
        }
    }

    /// The kind of location, as reports name it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Location::Drawing(_) | Location::Of(LatencyComponent::Server(ServerCause::Drawing)) => {
                "drawing"
            }
            Location::Of(LatencyComponent::Server(ServerCause::Processor)) => "server_processor",
            Location::Of(LatencyComponent::Server(ServerCause::Grabbed)) => "grab",
            Location::RoundTrips(_) | Location::Of(LatencyComponent::Server(_)) => "round_trips",
            Location::Writing => "writing",
            Location::Of(LatencyComponent::Waiting) => "waiting",
            Location::Of(LatencyComponent::Client) => "client",
            Location::Of(LatencyComponent::OffCpu(Cause::Processor)) => "processor",
            Location::Of(LatencyComponent::OffCpu(Cause::Sleeping)) => "sleeping",
            Location::Of(LatencyComponent::OffCpu(Cause::Synchronisation)) => "lock",
            Location::Of(LatencyComponent::OffCpu(Cause::File)) => "file",
            Location::Of(LatencyComponent::OffCpu(Cause::Poll)) => "poll",
            Location::Of(LatencyComponent::OffCpu(Cause::Elsewhere)) => "elsewhere",
            Location::Of(LatencyComponent::Network) => "network",
            Location::Of(LatencyComponent::Others) => "other_clients",
            Location::Of(LatencyComponent::Awaited) => "awaited",
        }
    }

    /// The name of the request or the window; `None` for other locations.
    pub(crate) fn what(&self) -> Option<&str> {
        match self {
            Location::RoundTrips(what) => Some(what.as_str()),
            Location::Drawing(what) => Some(what.as_str()),
            Location::Of(_) | Location::Writing => None,
        }
    }
}

/// The location as text.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::RoundTrips(request) => return write!(f, "round trips of {request}"),
            Location::Drawing(window) => return write!(f, "drawing in {window}"),
            _ => {}
        }
        f.write_str(component_name(self.kind()))
    }
}

/// The name that pages print for a component of the latency, or for a part of a component, from its name in JSON. A part
/// is in brackets after its component.
pub fn component_name(kind: &str) -> &str {
    match kind {
        "waiting" => "event queued",
        "client" => "client CPU",
        "off_cpu" => "off-CPU",
        "processor" => "off-CPU (no free CPU)",
        "sleeping" => "off-CPU (sleep)",
        "lock" => "off-CPU (lock or thread)",
        "file" => "off-CPU (file)",
        "poll" => "off-CPU (frame or timer)",
        "elsewhere" => "off-CPU (other waits)",
        "server" => "server wait",
        "writing" => "server wait (writing)",
        "round_trips" => "server wait (replies)",
        "grab" => "server wait (grab)",
        "server_processor" => "server wait (no free CPU for the server)",
        "drawing" => "server wait (drawing)",
        "other_clients" => "other clients",
        "awaited" => "other clients (response awaited)",
        other => other,
    }
}
