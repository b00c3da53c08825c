//! The user's marks of perceived delays (TIPME's idea), and the server activity around each mark.

mod report;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use x11prof_protocol::Message;
use x11prof_trace::Control;

use crate::pipeline::Observation;
use crate::threads::thread_states::Step;

/// The interval before a mark that is reported with it, in nanoseconds: a person notices a delay, hesitates, and finds
/// the key.
pub(crate) const BEFORE: u64 = 5_000_000_000;
/// The interval after a mark that is reported with it, in nanoseconds.
pub(crate) const AFTER: u64 = 1_000_000_000;
/// Maximum number of kept marks; further marks are only counted.
const MARKS_LIMIT: usize = 1000;
/// The length of a slice in nanoseconds. Sums are kept in slices, because a mark also needs the sums before it.
const SLICE: u64 = 100_000_000;
/// Maximum number of kept slices: sums may arrive this many slices late.
const SLICES: u64 = (BEFORE + AFTER) / SLICE + 10;

/// A mark that the user set, with the sums around it.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    /// The time of the mark, in nanoseconds of the trace.
    pub(crate) time: u64,
    pub(crate) text: String,
    pub(crate) server: u64,
    pub(crate) requests: u64,
}

impl Mark {
    pub(crate) fn from(&self) -> u64 {
        self.time.saturating_sub(BEFORE)
    }

    pub(crate) fn to(&self) -> u64 {
        self.time.saturating_add(AFTER)
    }

    /// Returns how many nanoseconds of the interval from `from` to `to` belong to the mark.
    fn shares(&self, from: u64, to: u64) -> u64 {
        to.min(self.to()).saturating_sub(from.max(self.from()))
    }
}

/// Sums over one interval.
#[derive(Debug, Clone, Copy, Default)]
struct Slice {
    /// The number of the slice, counted from time 0.
    number: u64,
    server: u64,
    requests: u64,
}

/// Collects the marks that the user set in a trace.
#[derive(Debug, Default)]
pub struct Marks {
    server: Option<u32>,
    switches: bool,
    recent: VecDeque<Slice>,
    marks: Vec<Mark>,
    more: u64,
}

impl Marks {
    /// True if the user has set no marks.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// The times of the marks in nanoseconds of the trace, each with the text of the mark.
    pub fn list(&self) -> impl Iterator<Item = (u64, &str)> {
        self.marks
            .iter()
            .map(|mark| (mark.time, mark.text.as_str()))
    }

    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Control(time, control) => self.control(time.as_nanos(), control),
            Observation::Switches(steps) => {
                let of_server = steps.iter().filter(|step| Some(step.pid) == self.server);
                let ran: Vec<_> = of_server.filter_map(Step::ran).collect();
                ran.iter().for_each(|ran| self.ran(ran.from, ran.to));
            }
            Observation::Message(seen) if matches!(seen.message, Message::Request(_)) => {
                let now = seen.time.as_nanos();
                self.slice(now / SLICE).requests += seen.times;
                for mark in self.open(now) {
                    mark.requests += seen.times;
                }
            }
            _ => {}
        }
    }

    fn control(&mut self, now: u64, control: &Control) {
        match control {
            Control::Server(server) => self.server = server.pid,
            Control::Capture { pid, capture, .. } if Some(*pid) == self.server => {
                self.switches = capture == "switches";
            }
            Control::Mark { .. } if self.marks.len() >= MARKS_LIMIT => self.more += 1,
            Control::Mark { text } => {
                let mut mark = Mark {
                    time: now,
                    text: text.clone(),
                    server: 0,
                    requests: 0,
                };
                let around = mark.from() / SLICE..=mark.to() / SLICE;
                for slice in self
                    .recent
                    .iter()
                    .filter(|one| around.contains(&one.number))
                {
                    mark.server += slice.server;
                    mark.requests += slice.requests;
                }
                self.marks.push(mark);
            }
            _ => {}
        }
    }

    /// Notes that the server ran from `from` to `to` (nanoseconds).
    fn ran(&mut self, from: u64, to: u64) {
        // Slices older than the kept ones are before any later mark.
        let first = (from / SLICE).max((to / SLICE).saturating_sub(SLICES));
        for number in first..=to / SLICE {
            let end = number.saturating_add(1).saturating_mul(SLICE);
            let part = to
                .min(end)
                .saturating_sub(from.max(number.saturating_mul(SLICE)));
            self.slice(number).server += part;
        }
        for mark in self.open(from) {
            mark.server += mark.shares(from, to);
        }
    }

    /// Returns the marks whose interval may contain `time` (nanoseconds).
    fn open(&mut self, time: u64) -> impl Iterator<Item = &mut Mark> {
        let recent = self.marks.iter_mut().rev();
        recent.take_while(move |mark| time <= mark.to())
    }

    /// The slice with this number, or the oldest kept slice if it is older.
    fn slice(&mut self, number: u64) -> &mut Slice {
        let newest = self.recent.back().map(|slice| slice.number);
        if newest.is_none_or(|newest| number > newest) {
            self.recent.push_back(Slice {
                number,
                ..Slice::default()
            });
            while let Some(oldest) = self.recent.front()
                && oldest.number + SLICES < number
            {
                self.recent.pop_front();
            }
        }
        // There is one: the newest is not older than `number`.
        let at = self.recent.partition_point(|slice| slice.number < number);
        if self
            .recent
            .get(at)
            .is_none_or(|slice| slice.number != number)
        {
            self.recent.insert(
                at,
                Slice {
                    number,
                    ..Slice::default()
                },
            );
        }
        &mut self.recent[at]
    }
}
