//! What changes the records of a recording before they reach its file, such as the scrubber.

use std::panic::{AssertUnwindSafe, catch_unwind};

use x11prof_trace::{Record, Started, Timestamp};

/// Changes records on their way to the file, on the recorder's thread. The relay does not wait for it, as long as the
/// queue has room.
pub trait RecordFilter: Send {
    /// The trace's first record as it is to be.
    fn begin(&mut self, time: Timestamp, started: Started) -> Started;
    /// Takes the next record.
    fn feed(&mut self, record: Record);
    /// The next record for the file, if it is ready.
    fn next(&mut self) -> Option<Record>;
    /// No more records come: those that still wait get ready.
    fn finish(&mut self);
}

/// Makes the filter of a recording.
pub type MakeFilter = fn() -> Box<dyn RecordFilter>;

/// Gives `filter` something to do, then what is ready to `write`. False where it failed: a defect of the filter must
/// end the trace, and neither the recorder nor the program that is recorded.
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
