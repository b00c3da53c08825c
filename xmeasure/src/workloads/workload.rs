//! A load: requests of one kind, or a cycle of several kinds, which can be repeated any number of times.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::server::exchange::Load;

/// The way in which the end of a batch is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Sync {
    /// A GetImage request for one pixel of the drawing window, whose reply also waits for drawing that the server
    /// defers.
    ReadBack,
    /// A GetInputFocus request, for batches whose requests do not draw.
    RoundTrip,
    /// The replies to the batch: each unit is sent after the replies to the previous unit, as in a program that waits
    /// for each reply. Xorg servers write the header of a reply and its data separately to a local client that reads
    /// promptly (os/io.c, WriteToClient). A stream of such requests would hide this behaviour, because with a full
    /// socket the server collects the pending output, and moves it within its memory at a cost that grows with the
    /// output's size.
    Turns,
}

impl Sync {
    /// All kinds of synchronisation.
    pub(crate) const ALL: [Sync; 3] = [Sync::ReadBack, Sync::RoundTrip, Sync::Turns];
}

/// A file descriptor that is attached to each request of a phase.
#[derive(Debug, Clone)]
pub(crate) struct PassedDescriptor(pub(crate) Arc<OwnedFd>);

impl PartialEq for PassedDescriptor {
    fn eq(&self, other: &PassedDescriptor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PassedDescriptor {}

/// A unit of requests of one kind (or of several alternating kinds), which a load repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phase {
    /// The bytes of the unit's requests.
    pub(crate) unit: Vec<u8>,
    /// The number of requests in the unit.
    pub(crate) requests: u32,
    /// The number of kinds of requests that alternate in the unit.
    pub(crate) kinds: u32,
    /// The synchronisation at the end of a batch of the phase.
    pub(crate) sync: Sync,
    /// The file descriptor that is attached to each request; `None` for none. With one, a unit has at most
    /// [`CARRYING`](crate::server::connection::CARRYING) requests.
    pub(crate) carried: Option<PassedDescriptor>,
}

impl Phase {
    /// Creates the phase of these requests, all of one kind.
    pub(crate) fn new(requests: impl IntoIterator<Item = Vec<u8>>, sync: Sync) -> Phase {
        let mut phase = Phase {
            unit: Vec::new(),
            requests: 0,
            kinds: 1,
            sync,
            carried: None,
        };
        for request in requests {
            phase.unit.extend_from_slice(&request);
            phase.requests += 1;
        }
        phase
    }

    /// Attaches a file descriptor to each request of the phase.
    pub(crate) fn carrying(self, descriptor: &Arc<OwnedFd>) -> Phase {
        Phase {
            carried: Some(PassedDescriptor(Arc::clone(descriptor))),
            ..self
        }
    }

    /// The bytes to send for `times` units of the phase.
    pub(crate) fn load(&self, times: u64) -> Load<'_> {
        let descriptor = self.carried.as_ref().map(|carried| &*carried.0);
        Load {
            unit: &self.unit,
            times,
            requests: times * u64::from(self.requests),
            descriptors: descriptor.map(|fd| (fd, self.requests as usize)),
            ..Load::default()
        }
    }

    /// Removes all requests after the first `most`. Removes nothing if file descriptors are attached, or if a request
    /// has a BIG-REQUESTS length.
    fn shorten(&mut self, most: u32) {
        let (mut end, mut requests) = (0, 0);
        while requests < most
            && let Some([_, _, low, high, ..]) = self.unit.get(end..)
        {
            let words = u16::from_ne_bytes([*low, *high]);
            if words == 0 || self.carried.is_some() {
                return;
            }
            end += 4 * usize::from(words);
            requests += 1;
        }
        self.unit.truncate(end);
        self.requests = requests;
    }

    /// The mean length of the load's requests in bytes.
    pub(crate) fn bytes_each(&self) -> f64 {
        self.unit.len() as f64 / f64::from(self.requests.max(1))
    }
}

/// Phases that run one after the other, repeatedly. If a request undoes another request (such as FreeGC for CreateGC),
/// it is the second phase of a cycle, so that both requests can be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    /// The bytes of a request that is sent before each batch and not measured; empty if there is none.
    pub(crate) before: Vec<u8>,
    pub(crate) phases: Vec<Phase>,
}

/// The approximate length of a unit in bytes. A unit contains many requests, so that the sender needs few writes.
const UNIT: usize = 1 << 15;
/// Maximum number of requests in a unit.
const UNIT_REQUESTS: usize = 4096;
/// The maximum work of one unit, in pixels, which takes a few milliseconds on any server.
const LONG_WORK: usize = 500_000;

impl Workload {
    /// Creates a load that repeats `request`.
    pub(crate) fn repeated(request: &[u8], sync: Sync) -> Workload {
        Workload::varied(sync, 0, |_| request.to_vec())
    }

    /// Creates a load that alternates two requests, the second of which undoes the first.
    pub(crate) fn alternating(there: &[u8], back: &[u8]) -> Workload {
        let both = [there, back].concat();
        let count = (UNIT / both.len().max(4)).clamp(1, UNIT_REQUESTS / 2);
        let mut phase = Phase::new((0..count).map(|_| both.clone()), Sync::RoundTrip);
        phase.requests *= 2;
        phase.kinds = 2;
        Workload::cycle([phase])
    }

    /// Creates a load of requests that differ only in properties that do not affect their cost, such as the position.
    /// `request` returns the bytes of request number `index`. `work` is the approximate number of pixels of a request,
    /// which limits the length of a unit.
    pub(crate) fn varied(sync: Sync, work: usize, request: impl Fn(usize) -> Vec<u8>) -> Workload {
        let length = request(0).len().max(4);
        let most = (LONG_WORK / work.max(1)).clamp(1, UNIT_REQUESTS);
        let count = (UNIT / length).clamp(1, most);
        Workload::cycle([Phase::new((0..count).map(request), sync)])
    }

    /// Creates a load that sends a request again after each reply to it.
    pub(crate) fn answered(request: &[u8]) -> Workload {
        Workload::cycle([Phase::new([request.to_vec()], Sync::Turns)])
    }

    /// A load that repeats the first request of this load in turns (`Sync::Turns`). `None` unless the load repeats one
    /// kind of request, without a request before it and without file descriptors.
    pub(crate) fn in_turns(&self) -> Option<Workload> {
        let [phase] = self.phases.as_slice() else {
            return None;
        };
        let plain = phase.sync == Sync::RoundTrip && phase.kinds == 1 && phase.carried.is_none();
        // The length in words, as in every request without BIG-REQUESTS.
        let words = u16::from_ne_bytes([*phase.unit.get(2)?, *phase.unit.get(3)?]);
        let first = phase.unit.get(..usize::from(words) * 4)?;
        let plain = plain && self.before.is_empty() && !first.is_empty();
        plain.then(|| Workload::answered(first))
    }

    /// Removes all requests of each unit after the first `most`, unless the load is a cycle, whose phases undo each
    /// other.
    pub(crate) fn shorten(&mut self, most: u32) {
        if let [phase] = self.phases.as_mut_slice() {
            phase.shorten(most);
        }
    }

    /// Creates a load of phases that run one after the other, repeatedly.
    pub(crate) fn cycle(phases: impl IntoIterator<Item = Phase>) -> Workload {
        Workload {
            before: Vec::new(),
            phases: phases.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sync, Workload};

    #[test]
    fn units_batch_short_requests_but_not_long_ones() {
        let short = Workload::repeated(&[127, 0, 1, 0], Sync::RoundTrip);
        assert_eq!((short.phases[0].requests, short.phases[0].kinds), (4096, 1));
        let turns = Workload::alternating(&[1, 0, 1, 0], &[2, 0, 1, 0]);
        assert_eq!((turns.phases[0].requests, turns.phases[0].kinds), (4096, 2));
        assert_eq!(turns.phases[0].bytes_each(), 4.0);
        let long = Workload::repeated(&[0; 100_000], Sync::RoundTrip);
        assert_eq!(long.phases[0].requests, 1);
        assert_eq!(long.phases[0].bytes_each(), 100_000.0);
    }

    #[test]
    fn shortened_load_keeps_whole_requests_and_cycles() {
        let mut short = Workload::repeated(&[2, 0, 2, 0, 1, 1, 1, 1], Sync::RoundTrip);
        short.shorten(3);
        assert_eq!(
            (short.phases[0].requests, short.phases[0].unit.len()),
            (3, 24)
        );
        let cycle = Workload::cycle([short.phases[0].clone(), short.phases[0].clone()]);
        let mut same = cycle.clone();
        same.shorten(1);
        assert_eq!(same, cycle);
        let mut long = Workload::repeated(&[0; 100_000], Sync::RoundTrip);
        long.shorten(3);
        assert_eq!(
            (long.phases[0].requests, long.phases[0].unit.len()),
            (1, 100_000)
        );
    }

    #[test]
    fn turn_based_round_trips_hold_one_request() {
        let many = Workload::repeated(&[20, 0, 2, 0, 1, 2, 3, 4], Sync::RoundTrip);
        let one = many.in_turns().unwrap();
        assert_eq!(one.phases[0].unit, [20, 0, 2, 0, 1, 2, 3, 4]);
        assert_eq!(
            (one.phases[0].sync, one.phases[0].requests),
            (Sync::Turns, 1)
        );
        assert_eq!(one.in_turns(), None);
        let two = Workload::alternating(&[1, 0, 1, 0], &[2, 0, 1, 0]);
        assert_eq!(two.in_turns(), None);
    }
}
