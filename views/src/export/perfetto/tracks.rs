//! The tracks of a trace: clients and the server, with their sub-tracks.

use x11prof_trace::ConnectionId;

use super::proto::{CounterDescriptor, EXPLICIT, TrackDescriptor, UNIT_COUNT, UNIT_SIZE_BYTES};
use crate::export::timeline::{ClientCounter, Counter};

/// A track. Slices of one track must nest, so overlapping slices go to several equivalent tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Track {
    /// The server's track, which contains its other tracks.
    Server,
    /// The server's runs.
    Runs,
    /// The user's marks.
    Marks,
    /// A client's track, which contains its other tracks.
    Client(ConnectionId),
    /// The episodes in this lane.
    Episodes(ConnectionId, usize),
    /// Requests without a reply.
    Requests(ConnectionId),
    /// Requests with a reply in this lane.
    RoundTrips(ConnectionId, usize),
    /// Messages from the server.
    FromServer(ConnectionId),
    /// A count over time.
    Count(Counter),
}

/// The number of bits of a lane: a client has up to 2^LANE_BITS tracks of one kind.
const LANE_BITS: u32 = 24;
/// The number of bits of a client's kind of track.
const KIND_BITS: u32 = 4;

impl Track {
    /// The track's number in the file, made from client, kind and lane.
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

    /// The track's place among its siblings.
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

    /// The track's descriptor in the file; `name` is the client's name.
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

    /// The parent track, if there is one. It must be described first.
    pub(super) fn within(self) -> Option<Track> {
        self.parent()
    }
}
