//! Bounds for delays that no record contains, in nanoseconds. Several analyses use them.

/// The recorder forwards data within this time, in nanoseconds. The server receives a client's bytes, and a record
/// shows the server's reply, at most this much later.
pub(crate) const HANDED_ON_WITHIN: u64 = 200_000;
/// A woken thread runs within this time if a processor is free, in nanoseconds. The kernel may have to wake the
/// processor first.
pub(crate) const WOKEN_WITHIN: u64 = 1_000_000;
/// A sleeping server wakes within this time after data is sent, in nanoseconds, unless the data did not wake it.
pub(crate) const SERVER_WAKES_WITHIN: u64 = 10_000_000;
/// A wait for a page, a lock or the relay is shorter than this, in nanoseconds. Waits for X or for work are identified
/// by their system call.
pub(crate) const BRIEF: u64 = 3_000_000;
/// The length of silence that counts as idle time if there are no context switches, in nanoseconds.
pub(crate) const SILENCE: u64 = 50_000_000;
