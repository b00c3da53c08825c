//! `x11prof scrub`: copies a recording without text, keys and images, so that other people may read the copy. `record
//! --scrub` makes such a recording directly.

use std::process::ExitCode;

use x11prof_analyzer::{Scrubbed, Scrubber};
use x11prof_proxy::RecordFilter;
use x11prof_trace::{Control, Record, Started, Timestamp, TraceError, Writer};

use crate::args::Scrub;
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::output::{Access, AtomicFile, refuse_input};

/// Writes the scrubbed copy of the recording.
pub(crate) fn run(arguments: &Scrub) -> Outcome {
    let Scrub { trace, output } = arguments;
    refuse_input(Some(output), [trace.as_path()])?;
    let mut reader = input::trace(trace)?;
    let reading = |error: TraceError| CommandError::file(trace, error);
    let writing = |error: TraceError| CommandError::file(output, error);
    // The owner decides who else may read the file.
    let sink = AtomicFile::begin(output, Access::Private)
        .map_err(|error| CommandError::file(output, error))?;
    // The first record of every trace is `started`.
    let first = reader.next().map_err(reading)?;
    let Some(Record::Control(time, Control::Started(started))) = first else {
        return Err(reading(TraceError::NoRecords));
    };
    let mut scrubber = Scrubber::new();
    let started = scrubber.begin(time, started);
    let mut copy = Writer::new(sink, started, time).map_err(writing)?;
    let mut scrubbed = None;
    while scrubbed.is_none() {
        match reader.next().map_err(reading)? {
            Some(record) => scrubber.feed(record),
            None => scrubbed = Some(scrubber.finish()),
        }
        while let Some(record) = scrubber.next() {
            copy.write(&record).map_err(writing)?;
        }
    }
    let sink = copy.finish().map_err(writing)?;
    sink.finish()
        .map_err(|error| CommandError::file(output, error))?;
    if !reader.is_complete() {
        say!(
            "{}: the recording is incomplete; the copy ends at the same point",
            trace.display()
        );
    }
    tell(scrubbed.unwrap_or_default());
    Ok(ExitCode::SUCCESS)
}

/// Prints what was removed from the copy, and what remains.
fn tell(scrubbed: Scrubbed) {
    say!(
        "{} of {} messages changed: keys, text, properties, images, paths, host names",
        scrubbed.changed,
        scrubbed.messages
    );
    if let lost @ 1.. = scrubbed.lost_bytes {
        say!("{lost} bytes outside of messages were set to zero");
    }
    tell_what_stays();
}

/// Prints what remains in a scrubbed file.
pub(super) fn tell_what_stays() {
    say!(
        "kept: times, sizes and positions; the pointer; colours; widths of glyphs; numbers and lists of"
    );
    say!(
        "  atoms; names of programs, of extensions, of X.Org's fonts and of usual atoms; the processor"
    );
}

/// Returns a filter that scrubs the records of a recording before they are written to the file.
pub(super) fn while_recording() -> Box<dyn RecordFilter> {
    Box::new(WhileRecording(Scrubber::new()))
}

struct WhileRecording(Scrubber);

impl RecordFilter for WhileRecording {
    fn begin(&mut self, time: Timestamp, started: Started) -> Started {
        self.0.begin(time, started)
    }

    fn feed(&mut self, record: Record) {
        self.0.feed(record);
    }

    fn next(&mut self) -> Option<Record> {
        self.0.next()
    }

    fn finish(&mut self) {
        self.0.finish();
    }
}
