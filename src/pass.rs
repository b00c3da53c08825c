//! A trace pass: reads a recording once, from the file to the observations of the pipeline. Every command that reads
//! messages uses this module.

use std::fs::File;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use x11prof_analyzer::{EpisodesReport, MissingParts, Observation, Pipeline};
use x11prof_trace::{Reader, Timestamp};
use x11prof_views::episodes::Timeline;
use x11prof_views::plain;

use crate::error::{CommandError, shown};
use crate::input;
use crate::read_ahead::read_ahead;

/// The maximum number of missing parts of a recording to list.
const MISSING: usize = 3;

/// A trace pass before its start.
pub(crate) struct Pass {
    path: PathBuf,
    reader: Reader<BufReader<File>>,
    pipeline: Pipeline,
    /// True if the trace pass also reads the observations after the selected part of the recording.
    reads_on: bool,
    /// The collected missing parts of the recording; `None` if they are not printed.
    missing: Option<MissingParts>,
}

/// A time range of a recording, in seconds after its start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Span {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
}

impl Span {
    /// Returns true if the time range covers the whole recording.
    pub(crate) fn is_all(&self) -> bool {
        *self == Span::default()
    }

    /// Returns the start and end of the time range in a recording from `start` to `end`; `None` if the recording ends
    /// before the time range begins.
    pub(crate) fn within(
        &self,
        start: Timestamp,
        end: Timestamp,
    ) -> Option<(Timestamp, Timestamp)> {
        let after = |seconds: f64| {
            let nanos = (seconds * 1e9) as u64;
            Timestamp::from_nanos(start.as_nanos().saturating_add(nanos))
        };
        let from = self.from.map_or(start, after);
        let to = self.to.map_or(end, after).min(end);
        (from <= to).then_some((from, to))
    }

    /// Returns the error for a recording at `path` that ends before the time range begins. `length` is the length of
    /// the recording.
    pub(crate) fn beyond(&self, path: &Path, length: Duration) -> CommandError {
        CommandError::usage(format_args!(
            "{} ends {:.3} s after its start; there is nothing at {} s",
            shown(path),
            length.as_secs_f64(),
            self.from.unwrap_or_default()
        ))
    }

    /// Returns the time range of `length_ms` milliseconds that begins at `start_ms`.
    pub(crate) fn of(start_ms: f64, length_ms: f64) -> Span {
        // Whole nanoseconds, so that the range includes what begins at its start.
        let seconds = |ms: f64| Some((ms * 1e6).round() / 1e9);
        Span {
            from: seconds(start_ms.max(0.0)),
            to: seconds(start_ms + length_ms),
        }
    }
}

/// A step of a trace pass over a time range of a recording.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// An observation before the time range. Analyses update their state, but do not count the observation.
    Before(&'a Observation<'a>),
    /// The time range begins, so counters restart. This step does not occur if the time range begins with the
    /// recording.
    Begins,
    /// An observation in the time range.
    Within(&'a Observation<'a>),
    /// The time range has ended, and later observations follow. This step occurs only with [`Pass::read_on`].
    Ends,
    /// An observation after the time range.
    After(&'a Observation<'a>),
}

impl Pass {
    /// Opens the trace at `path`.
    pub(crate) fn open(path: &Path) -> Result<Pass, CommandError> {
        let reader = input::trace(path)?;
        Ok(Pass {
            path: path.to_owned(),
            reader,
            pipeline: Pipeline::new(),
            reads_on: false,
            missing: None,
        })
    }

    /// Continues to read after the selected time range of the recording.
    pub(crate) fn read_on(mut self) -> Pass {
        self.reads_on = true;
        self
    }

    /// Coalesces repeated requests, for analyses that use the repeat count.
    pub(crate) fn take_together(mut self) -> Pass {
        self.pipeline.take_together();
        self
    }

    /// Prints the missing parts of the recording, for reports that do not list warnings.
    pub(crate) fn tell_missing(mut self) -> Pass {
        self.missing = Some(MissingParts::default());
        self
    }

    /// Calls `on` for each observation of the recording.
    pub(crate) fn run(self, mut on: impl FnMut(&Observation<'_>)) -> Result<(), CommandError> {
        self.run_until(|observation| {
            on(observation);
            ControlFlow::Continue(())
        })
    }

    /// Calls `on` for each observation up to the end of `span`, and returns the first and last time of the time range.
    ///
    /// # Errors
    ///
    /// Fails if the trace cannot be read, or if the recording ends before `span` begins.
    pub(crate) fn run_span(
        self,
        span: Span,
        mut on: impl FnMut(Step<'_>),
    ) -> Result<(Timestamp, Timestamp), CommandError> {
        let path = self.path.clone();
        let (mut start, mut last) = (None, Timestamp::default());
        let mut before = span.from.is_some();
        let (mut over, reads_on) = (false, self.reads_on);
        self.run_until(|observation| {
            if let Some((time, end)) = times(observation) {
                let start = *start.get_or_insert(time);
                if !over {
                    last = last.max(end);
                }
                let seconds = time.since(start).as_nanos() as f64 / 1e9;
                if before && span.from.is_none_or(|from| seconds >= from) {
                    before = false;
                    on(Step::Begins);
                }
                if let Some(to) = span.to.filter(|to| seconds > *to && !over) {
                    // The part lasts as long as requested, even if its last record is earlier.
                    let until = start.as_nanos().saturating_add((to * 1e9) as u64);
                    last = last.max(Timestamp::from_nanos(until).min(time));
                    if !reads_on {
                        return ControlFlow::Break(());
                    }
                    over = true;
                    on(Step::Ends);
                }
            }
            on(match (before, over) {
                (_, true) => Step::After(observation),
                (true, _) => Step::Before(observation),
                _ => Step::Within(observation),
            });
            ControlFlow::Continue(())
        })?;
        // If the pass stopped early, `last` is the end of the time range.
        let start = start.unwrap_or_default();
        let part = span.within(start, last);
        if before && part.is_some() {
            // No observation begins in the time range.
            on(Step::Begins);
        }
        part.ok_or_else(|| span.beyond(&path, last.since(start)))
    }

    /// Calls `on` for each observation, until `on` returns `Break`.
    pub(crate) fn run_until(
        self,
        mut on: impl FnMut(&Observation<'_>) -> ControlFlow<()>,
    ) -> Result<(), CommandError> {
        let (mut pipeline, path) = (self.pipeline, self.path);
        let mut missing = self.missing;
        let mut is_whole = true;
        read_ahead(self.reader, |next| {
            pipeline.run_until(next, |observation| {
                if let Some(missing) = &mut missing {
                    missing.observe(observation);
                }
                let next = on(observation);
                is_whole &= next.is_continue();
                next
            })
        })
        .map_err(|error| CommandError::file(&path, error))?;
        if let Some(missing) = missing.as_mut().filter(|_| is_whole) {
            missing.end();
        }
        if let Some(missing) = &missing {
            tell_missing(&path, missing);
        }
        Ok(())
    }
}

/// Prints the missing parts of the recording at `path`.
pub(crate) fn tell_missing(path: &Path, missing: &MissingParts) {
    for sentence in missing.sentences(MISSING) {
        say!("warning: {}: {}", shown(path), plain(&sentence));
    }
}

/// Returns the start and end of the observation, if it has times.
fn times(observation: &Observation<'_>) -> Option<(Timestamp, Timestamp)> {
    match observation {
        Observation::BlockStart(block) | Observation::Lost(block) => Some((block.time, block.time)),
        Observation::Control(time, _) => Some((*time, *time)),
        Observation::Switches(steps) => Some((steps.first()?.time(), steps.last()?.time())),
        _ => None,
    }
}

/// Reads the recording at `path` again for the messages that `timeline` selects, and adds the messages to `report`.
pub(crate) fn add_messages(
    path: &Path,
    mut timeline: Timeline,
    report: &mut EpisodesReport,
) -> Result<(), CommandError> {
    let mut read = Ok(());
    Pass::open(path)?.run_until(|observation| {
        read = timeline.observe(observation);
        match timeline.is_over() || read.is_err() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    read.map_err(|error| CommandError::file(path, error))?;
    timeline.into_report(report);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use x11prof_trace::{Control, Record, Server, Started, Switch, SwitchKind, Timestamp, Writer};

    use super::{Pass, Span, Step};

    #[test]
    fn time_range_is_limited_to_the_recording() {
        let at = |ms: u64| Timestamp::from_nanos(7_000_000_000 + ms * 1_000_000);
        let within = |from, to| Span { from, to }.within(at(0), at(2000));
        assert_eq!(within(Some(0.5), Some(1.0)), Some((at(500), at(1000))));
        assert_eq!(within(Some(0.5), None), Some((at(500), at(2000))));
        assert_eq!(within(None, Some(9.0)), Some((at(0), at(2000))));
        assert_eq!(within(Some(2.5), Some(9.0)), None);
    }
    /// The last second of a ring may contain only context switches.
    #[test]
    fn range_with_only_context_switches_is_not_empty() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ring.mcap");
        let at = |ms: u64| Timestamp::from_nanos(1_000_000_000 + ms * 1_000_000);
        let file = File::create(&path).unwrap();
        let started = Started {
            format: 0,
            recorder: "test".to_owned(),
            wall_clock_ns: 0,
            command: Vec::new(),
            cpu_model: String::new(),
            cpus: 1,
            kernel: String::new(),
            full: false,
        };
        let mut writer = Writer::new(file, started, at(0)).unwrap();
        let server = Server {
            pid: Some(7),
            ..Server::default()
        };
        let capture = Control::Capture {
            pid: 7,
            capture: "switches".to_owned(),
            why: None,
        };
        let switch = |ms, kind| Switch {
            time: at(ms),
            pid: 7,
            tid: 7,
            cpu: 0,
            kind,
        };
        let switches = vec![
            switch(400, SwitchKind::In),
            switch(600, SwitchKind::Blocked),
        ];
        for record in [
            Record::Control(at(0), Control::Server(server)),
            Record::Control(at(0), capture),
            Record::Schedule(switches),
        ] {
            writer.write(&record).unwrap();
        }
        writer.finish().unwrap();
        let begins = |from| {
            let span = Span {
                from: Some(from),
                to: None,
            };
            let mut begun = 0;
            let part = Pass::open(&path).unwrap().run_span(span, |step| {
                begun += usize::from(matches!(step, Step::Begins))
            });
            (begun, part.ok())
        };
        assert_eq!(begins(0.3), (1, Some((at(300), at(600)))));
        assert_eq!(begins(0.5), (1, Some((at(500), at(600)))));
        assert_eq!(begins(0.7), (0, None));
    }
}
