//! The tracks of a trace in Perfetto: clients and the server, with the tracks inside them.

use x11prof_trace::ConnectionId;

use super::proto::{CounterDescriptor, EXPLICIT, TrackDescriptor, UNIT_COUNT, UNIT_SIZE_BYTES};
use crate::export::timeline::{ClientCounter, Counter};

/// A track. Slices of one track must nest, so overlapping slices are on several equivalent tracks (lanes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Track {
    /// The server's track, which contains other tracks.
    Server,
    /// The periods in which the server ran.
    Runs,
    /// The marks of the user.
    Marks,
    /// A client's track, which contains other tracks.
    Client(ConnectionId),
    /// The episodes of a client that are in this lane.
    Episodes(ConnectionId, usize),
    /// The requests of a client without a reply.
    Requests(ConnectionId),
    /// The requests of a client with a reply that are in this lane.
    RoundTrips(ConnectionId, usize),
    /// The events and errors that a client received from the server.
    FromServer(ConnectionId),
    /// The values of a counter over time.
    Count(Counter),
}

/// The number of bits for the lane in a track's id. A client has up to 2^LANE_BITS tracks of one kind.
const LANE_BITS: u32 = 24;
/// The number of bits for the kind of track in a track's id.
const KIND_BITS: u32 = 4;

impl Track {
    /// The number of the track in the file, computed from client, kind and lane.
    pub(super) fn uuid(self) -> u64 {
        let of = |client: ConnectionId, kind: u64, lane: usize| {
            let client = (u64::from(client.0) + 1) << (LANE_BITS + KIND_BITS);
            client | kind << LANE_BITS | (lane as u64 & ((1 << LANE_BITS) - 1))
        };
        match self {
            Track::Server => 1,
            Track::Runs => 2,
            Track::Count(Counter::Wakeups) => 3,
            Track::Marks => 4,
            Track::Client(client) => of(client, 0, 0),
            Track::Episodes(client, lane) => of(client, 1, lane),
            Track::RoundTrips(client, lane) => of(client, 2, lane),
            Track::Requests(client) => of(client, 3, 0),
            Track::FromServer(client) => of(client, 4, 0),
            Track::Count(Counter::Client(client, counted)) => of(client, 5 + counted as u64, 0),
        }
    }

    fn parent(self) -> Option<Track> {
        match self {
            Track::Server | Track::Client(_) => None,
            Track::Runs | Track::Marks | Track::Count(Counter::Wakeups) => Some(Track::Server),
            Track::Episodes(client, _)
            | Track::Requests(client)
            | Track::RoundTrips(client, _)
            | Track::FromServer(client)
            | Track::Count(Counter::Client(client, _)) => Some(Track::Client(client)),
        }
    }

    /// Returns the position of the track among its siblings.
    fn rank(self) -> i32 {
        match self {
            Track::Server | Track::Client(_) | Track::Runs | Track::Episodes(..) => 0,
            Track::RoundTrips(..) | Track::Marks => 1,
            Track::Requests(_) => 2,
            Track::FromServer(_) => 3,
            Track::Count(Counter::Wakeups) => 4,
            Track::Count(Counter::Client(_, counted)) => 4 + counted as i32,
        }
    }

    /// The description of the track in the file; `name` is the client's name.
    pub(super) fn descriptor(self, name: &str) -> TrackDescriptor {
        let lane_of = |what: &str, lane: usize| match lane {
            0 => what.to_owned(),
            lane => format!("{what} {}", lane + 1),
        };
        let name = match self {
            Track::Server => "X server".to_owned(),
            Track::Runs => "runs".to_owned(),
            Track::Marks => "marks of the user".to_owned(),
            Track::Client(_) => name.to_owned(),
            Track::Episodes(_, lane) => lane_of("episodes", lane),
            Track::Requests(_) => "requests".to_owned(),
            Track::RoundTrips(_, lane) => lane_of("round trips", lane),
            Track::FromServer(_) => "from the server".to_owned(),
            Track::Count(counted) => match counted {
                Counter::Wakeups => "wakeups",
                Counter::Client(_, ClientCounter::Sent) => "bytes sent",
                Counter::Client(_, ClientCounter::Received) => "bytes received",
                Counter::Client(_, ClientCounter::Resources) => "resources held",
            }
            .to_owned(),
        };
        let unit = match self {
            Track::Count(Counter::Client(_, ClientCounter::Sent | ClientCounter::Received)) => {
                Some(UNIT_SIZE_BYTES)
            }
            Track::Count(_) => Some(UNIT_COUNT),
            _ => None,
        };
        TrackDescriptor {
            uuid: Some(self.uuid()),
            name: Some(name),
            parent_uuid: self.parent().map(Track::uuid),
            counter: unit.map(|unit| CounterDescriptor { unit: Some(unit) }),
            child_ordering: self.parent().is_none().then_some(EXPLICIT),
            sibling_order_rank: self.parent().map(|_| self.rank()),
        }
    }

    /// The track that contains this track; `None` if there is none. The containing track must be described first.
    pub(super) fn within(self) -> Option<Track> {
        self.parent()
    }
}
