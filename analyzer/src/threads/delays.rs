//! Bounds, in nanoseconds, for delays that no record contains. Several analyses share them.

/// The recorder forwards data within this time: the server receives a client's bytes, and a record shows the server's
/// reply, at most this late.
pub(crate) const HANDED_ON_WITHIN: u64 = 200_000;
/// A woken thread runs within this time if a processor is free. The kernel may have to wake the processor first.
pub(crate) const WOKEN_WITHIN: u64 = 1_000_000;
/// A sleeping server wakes within this time after data is sent, unless the data did not wake it.
pub(crate) const SERVER_WAKES_WITHIN: u64 = 10_000_000;
/// A wait for a page, a lock or the relay is shorter than this. Waits for X or for work are identified by their system
/// call.
pub(crate) const BRIEF: u64 = 3_000_000;
/// Without context switches, silence of this length counts as a rest.
pub(crate) const SILENCE: u64 = 50_000_000;
