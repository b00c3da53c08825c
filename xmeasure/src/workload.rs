//! A load: requests of one kind, or a cycle of such, that can be repeated any number of times.

/// How the end of a batch is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Sync {
    /// GetImage of one pixel of the window drawn on: it waits even for a server that draws later.
    ReadBack,
    /// GetInputFocus, for what does not draw.
    RoundTrip,
}

impl Sync {
    /// All kinds.
    pub(crate) const ALL: [Sync; 2] = [Sync::ReadBack, Sync::RoundTrip];
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phase {
    /// Their bytes.
    pub(crate) unit: Vec<u8>,
    /// How many they are.
    pub(crate) requests: u32,
    /// The end of the first of them in `unit`.
    pub(crate) first: usize,
    /// The end of the second, where the two are of different kinds and follow each other in turn.
    pub(crate) second: Option<usize>,
    /// How their end is told.
    pub(crate) sync: Sync,
}

impl Phase {
    /// The phase of these requests, all of one kind.
    pub(crate) fn new(requests: impl IntoIterator<Item = Vec<u8>>, sync: Sync) -> Phase {
        let mut phase = Phase {
            unit: Vec::new(),
            requests: 0,
            first: 0,
            second: None,
            sync,
        };
        for request in requests {
            phase.unit.extend_from_slice(&request);
            phase.requests += 1;
            if phase.requests == 1 {
                phase.first = phase.unit.len();
            }
        }
        phase
    }

    /// The first of its requests.
    pub(crate) fn first_request(&self) -> &[u8] {
        self.unit.get(..self.first).unwrap_or_default()
    }

    /// One request of each kind.
    pub(crate) fn kinds(&self) -> Vec<&[u8]> {
        let second = self
            .second
            .and_then(|second| self.unit.get(self.first..second));
        let mut kinds = vec![self.first_request()];
        kinds.extend(second);
        kinds
    }

    /// Bytes of one request, on the average.
    pub(crate) fn bytes_each(&self) -> f64 {
        self.unit.len() as f64 / f64::from(self.requests.max(1))
    }
}

/// Phases that run one after the other, and again. A request that undoes what another one does
/// (FreeGC and CreateGC) is the second phase of a cycle, so that both can be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    pub(crate) phases: Vec<Phase>,
}

/// Bytes that a unit has about, so that the sender hands many requests over at once.
const UNIT: usize = 1 << 15;
/// Requests in a unit at most.
const MOST: usize = 4096;
/// Work of one unit at most, in pixels: a few milliseconds of any server.
const LONG_WORK: usize = 500_000;

impl Workload {
    /// One request, again and again.
    pub(crate) fn repeated(request: &[u8], sync: Sync) -> Workload {
        Workload::varied(sync, 0, |_| request.to_vec())
    }

    /// Two requests in turn, of which the second undoes what the first does.
    pub(crate) fn alternating(there: &[u8], back: &[u8]) -> Workload {
        let both = [there, back].concat();
        let count = (UNIT / both.len().max(4)).clamp(1, MOST / 2);
        let mut phase = Phase::new((0..count).map(|_| both.clone()), Sync::RoundTrip);
        phase.requests *= 2;
        phase.first = there.len();
        phase.second = Some(both.len());
        Workload {
            phases: vec![phase],
        }
    }

    /// One request that takes long, by itself.
    pub(crate) fn costly(request: &[u8]) -> Workload {
        Workload::varied(Sync::RoundTrip, LONG_WORK / 8, |_| request.to_vec())
    }

    /// Requests that differ in what does not matter for their cost, such as the place; `work`,
    /// in about pixels, keeps units of long requests short.
    pub(crate) fn varied(sync: Sync, work: usize, request: impl Fn(usize) -> Vec<u8>) -> Workload {
        let length = request(0).len().max(4);
        let most = (LONG_WORK / work.max(1)).clamp(1, MOST);
        let count = (UNIT / length).clamp(1, most);
        Workload {
            phases: vec![Phase::new((0..count).map(request), sync)],
        }
    }

    /// A cycle of phases.
    pub(crate) fn cycle(phases: impl IntoIterator<Item = Phase>) -> Workload {
        Workload {
            phases: phases.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sync, Workload};

    #[test]
    fn units_hold_many_short_requests_and_one_long_one() {
        let short = Workload::repeated(&[127, 0, 1, 0], Sync::RoundTrip);
        assert_eq!((short.phases[0].requests, short.phases[0].first), (4096, 4));
        let turns = Workload::alternating(&[1, 0, 1, 0], &[2, 0, 1, 0]);
        assert_eq!(turns.phases[0].kinds(), [[1, 0, 1, 0], [2, 0, 1, 0]]);
        assert_eq!(turns.phases[0].requests, 4096);
        assert_eq!(turns.phases[0].bytes_each(), 4.0);
        let long = Workload::repeated(&[0; 100_000], Sync::RoundTrip);
        assert_eq!(long.phases[0].requests, 1);
        assert_eq!(long.phases[0].bytes_each(), 100_000.0);
    }
}
