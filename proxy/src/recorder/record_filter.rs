//! Filters that change the records of a recording before the recorder writes them to the file. The scrubber is a
//! filter.

use std::panic::{AssertUnwindSafe, catch_unwind};

use x11prof_trace::{Record, Started, Timestamp};

/// A filter that runs on the recorder's thread, between the queue and the file. The relay does not wait for the filter
/// as long as the queue has space.
pub trait RecordFilter: Send {
    /// Changes the trace's first record.
    fn begin(&mut self, time: Timestamp, started: Started) -> Started;
    /// Passes the next record of the recording to the filter.
    fn feed(&mut self, record: Record);
    /// Returns the next record for the file, if one is ready.
    fn next(&mut self) -> Option<Record>;
    /// Ends the filter's input. All pending records become ready.
    fn finish(&mut self);
}

/// A function that creates the filter of a recording.
pub type MakeFilter = fn() -> Box<dyn RecordFilter>;

/// Passes an input to `filter` with `give`, and then the records that are ready to `write`. Returns false if the filter
/// panicked: such a defect must end the trace, but neither the recorder nor the recorded program.
pub(crate) fn pass(
    filter: &mut dyn RecordFilter,
    give: impl FnOnce(&mut dyn RecordFilter),
    mut write: impl FnMut(Record),
) -> bool {
    let next = |filter: &mut dyn RecordFilter| catch_unwind(AssertUnwindSafe(|| filter.next()));
    if catch_unwind(AssertUnwindSafe(|| give(&mut *filter))).is_err() {
        return false;
    }
    loop {
        match next(filter) {
            Ok(Some(record)) => write(record),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
