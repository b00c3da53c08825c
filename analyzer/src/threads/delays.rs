//! Bounds, in nanoseconds, for delays that no record tells. Several analyses share them.

/// The recorder hands on what it read within this: so late the server has what a client wrote, and a record
/// says that the server answered.
pub(crate) const HANDED_ON_WITHIN: u64 = 200_000;
/// A woken thread runs within this time where a processor is free: the kernel may have to wake that
/// processor first.
pub(crate) const WOKEN_WITHIN: u64 = 1_000_000;
/// A server that sleeps when something is sent wakes within this, or was not woken by it.
pub(crate) const SERVER_WAKES_WITHIN: u64 = 10_000_000;
/// A wait for a page, a lock or the relay is shorter than this; one for X or for work is known by name.
pub(crate) const BRIEF: u64 = 3_000_000;
/// The silence that is taken for a rest where context switches are missing.
pub(crate) const SILENCE: u64 = 50_000_000;
