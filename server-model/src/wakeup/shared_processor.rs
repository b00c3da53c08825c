//! The processor that the server shares with other processes. What they run takes the server's data out of the caches.

use std::collections::VecDeque;

use x11prof_cost_model::Micros;

use crate::clock::Time;

/// The most intervals that are kept until the model has reached them. Beyond the limit the oldest are counted at once.
const STRETCHES_LIMIT: usize = 1 << 16;

/// A thread that is not the server's ran on the server's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The beginning of the interval.
    pub from: Time,
    /// The end of the interval.
    pub to: Time,
}

/// The time for which other processes have run on the server's processor.
#[derive(Debug, Default)]
pub(crate) struct SharedProcessor {
    /// The stretches in which the others ran, in nanoseconds, in order.
    stretches: VecDeque<(u64, u64)>,
    /// The counted time in nanoseconds, and the time up to which it counts.
    total: u64,
    until: u64,
}

impl SharedProcessor {
    /// Takes a stretch. All of the time up to which `worked` will be asked for are taken before.
    pub(crate) fn take(&mut self, stretch: Stretch) {
        if self.stretches.len() == STRETCHES_LIMIT
            && let Some((since, until)) = self.stretches.pop_front()
        {
            self.total += until.saturating_sub(since.max(self.until));
        }
        let to = stretch.to.as_nanos();
        self.stretches.push_back((stretch.from.as_nanos(), to));
    }

    /// The time from the beginning of the first stretch between two times to the end of the last one; `None` where
    /// there is none. To be asked before `worked` is asked for the later time.
    pub(crate) fn span(&self, since: Time, until: Time) -> Option<Micros> {
        let (since, until) = (since.as_nanos(), until.as_nanos());
        let begun = self.stretches.iter().take_while(|(from, _)| *from < until);
        let mut within = begun.filter(|(_, to)| *to > since);
        let &(first, mut last) = within.next()?;
        last = within.last().map_or(last, |&(_, to)| to);
        let nanos = last.min(until).saturating_sub(first.max(since));
        Some(Micros::from_nanos(nanos as f64))
    }

    /// The others' running time from the beginning until `time`. To be asked in the order of time. Intervals that are
    /// not known by then are missing.
    pub(crate) fn worked(&mut self, time: Time) -> Micros {
        let time = time.as_nanos();
        while let Some(&(since, until)) = self.stretches.front()
            && since < time
        {
            self.total += until.min(time).saturating_sub(since.max(self.until));
            if until > time {
                break;
            }
            self.stretches.pop_front();
        }
        self.until = self.until.max(time);
        Micros::from_nanos(self.total as f64)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;

    use super::{SharedProcessor, Stretch};
    use crate::clock::Time;

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    /// A processor on which others ran in these stretches.
    fn shared(stretches: &[(u64, u64)]) -> SharedProcessor {
        let mut processor = SharedProcessor::default();
        for &(from, to) in stretches {
            let (from, to) = (at(from), at(to));
            processor.take(Stretch { from, to });
        }
        processor
    }

    #[test]
    fn the_time_of_others_adds_up() {
        let mut processor = shared(&[(20, 50), (70, 90)]);
        let worked = [15, 30, 55, 100, 200].map(|micros| processor.worked(at(micros)));
        assert_eq!(worked, [0.0, 10.0, 30.0, 50.0, 50.0].map(Micros));
    }

    #[test]
    fn a_span_goes_from_the_first_to_the_last() {
        let processor = shared(&[(25, 30), (40, 45), (90, 95)]);
        assert_eq!(processor.span(at(20), at(50)), Some(Micros(20.0)));
        assert_eq!(processor.span(at(27), at(42)), Some(Micros(15.0)));
        assert_eq!(processor.span(at(50), at(80)), None);
    }
}
