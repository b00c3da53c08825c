//! Missing parts of a recording: failures of the recorder, and times without data.

use x11prof_trace::{Control, Timestamp, tells_recovery};

use crate::pipeline::Observation;

/// Maximum number of kept sentences; further missing parts are only counted.
const LIMIT: usize = 100;

/// Collects the parts that are missing in a recording, as text.
#[derive(Debug, Clone, Default)]
pub struct MissingParts {
    reported: Vec<String>,
    more: u64,
    ended: bool,
    /// True if a reported problem shows that the recording was cut off.
    recovered: bool,
}

impl MissingParts {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Control(time, control) = observation {
            self.control(*time, control);
        }
    }

    /// True if the recording ended normally.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// True if the recording has no record of its end, and no sentence explains that.
    pub(super) fn lacks_end(&self) -> bool {
        !self.ended && !self.recovered
    }

    /// Notes that the last record of the recording has been read.
    pub fn end(&mut self) {
        if self.lacks_end() {
            self.tell("the recording was cut off; its last moments may be missing".to_owned());
        }
    }

    /// Processes the next control record of a trace, which may report a missing part.
    pub fn control(&mut self, time: Timestamp, control: &Control) {
        let what = match control {
            Control::Trouble { what } => {
                self.recovered |= tells_recovery(what);
                what.clone()
            }
            Control::Hole { since_ns, why } => {
                let missing = time.since(Timestamp::from_nanos(*since_ns)).as_secs_f64();
                format!("{missing:.1} s are missing: {why}")
            }
            Control::Ended { .. } => {
                self.ended = true;
                return;
            }
            _ => return,
        };
        self.tell(what);
    }

    fn tell(&mut self, what: String) {
        if self.reported.len() < LIMIT {
            self.reported.push(what);
        } else {
            self.more += 1;
        }
    }

    /// One sentence for each missing part, at most `most`, and then a sentence with the number of further parts.
    pub fn sentences(&self, most: usize) -> impl Iterator<Item = String> {
        let shown = self.reported.len().min(most);
        let more = self.more + (self.reported.len() - shown) as u64;
        let more = (more > 0).then(|| format!("and {more} more such parts"));
        self.reported.iter().take(shown).cloned().chain(more)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Control, Timestamp};

    use super::MissingParts;

    #[test]
    fn missing_parts_beyond_the_limit_are_counted() {
        let mut missing = MissingParts::default();
        let (since_ns, why) = (500_000_000, "stopped".to_owned());
        missing.control(
            Timestamp::from_nanos(2_000_000_000),
            &Control::Hole { since_ns, why },
        );
        for at in 0..150 {
            let what = format!("trouble {at}");
            missing.control(Timestamp::default(), &Control::Trouble { what });
        }
        let all: Vec<String> = missing.sentences(usize::MAX).collect();
        assert_eq!(
            (all.len(), all[0].as_str()),
            (101, "1.5 s are missing: stopped")
        );
        assert_eq!(all[100], "and 51 more such parts");
        let few: Vec<String> = missing.sentences(1).collect();
        assert_eq!(few[1], "and 150 more such parts");
        assert_eq!(MissingParts::default().sentences(1).count(), 0);
    }

    #[test]
    fn recording_without_an_end_was_cut_off() {
        let sentences = |ended: bool| {
            let mut missing = MissingParts::default();
            if ended {
                let end = Control::Ended { exit_status: None };
                missing.control(Timestamp::default(), &end);
            }
            missing.end();
            missing.sentences(1).count()
        };
        assert_eq!((sentences(true), sentences(false)), (0, 1));
    }
}
