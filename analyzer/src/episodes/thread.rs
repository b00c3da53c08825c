//! The combined state of the threads that communicate for a client, and the latency component that results.

use super::cause::{Cause, ServerCause};
use super::episode::LatencyComponent;
use super::timeline_event::Wait;
use crate::threads::delays::WOKEN_WITHIN;

/// The combined state of the threads that communicate for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thread {
    /// The state of the thread is not known.
    Unknown,
    Running,
    /// At least one thread is ready to run, but has no processor.
    Preempted,
    /// All threads have waited since `since`. Times are in nanoseconds. `wait` is the kind of wait, which is an
    /// assumption if `unsure` is true. `fed` is the time at which the first bytes arrived during the wait. `answered`
    /// is the time at which all requested replies had arrived. `taken` is the latest time at which the relay read bytes
    /// that were written long before.
    Blocked {
        since: u64,
        wait: Option<Wait>,
        unsure: bool,
        fed: Option<u64>,
        answered: Option<u64>,
        taken: Option<u64>,
    },
}

impl Thread {
    /// Returns the latency component to which the time up to `time` (nanoseconds) belongs. `outstanding` is true if a
    /// reply is pending.
    pub(crate) fn owner(self, time: u64, outstanding: bool) -> LatencyComponent {
        match self {
            Thread::Unknown if outstanding => LatencyComponent::Server(ServerCause::Reply),
            Thread::Unknown | Thread::Running => LatencyComponent::Client,
            Thread::Preempted => LatencyComponent::OffCpu(Cause::Processor),
            Thread::Blocked { .. } if outstanding => LatencyComponent::Server(ServerCause::Reply),
            // The wake-up by the reply is part of the round trip, up to the time that it takes with a free processor.
            Thread::Blocked {
                answered: Some(at), ..
            } if time.saturating_sub(at) <= WOKEN_WITHIN => {
                LatencyComponent::Server(ServerCause::Reply)
            }
            // Events for a sleeping thread do not wake the thread.
            Thread::Blocked {
                fed: Some(_),
                wait: None | Some(Wait::Poll),
                ..
            } => LatencyComponent::OffCpu(Cause::Processor),
            Thread::Blocked { wait, .. } => LatencyComponent::OffCpu(match wait {
                Some(Wait::Sleep) => Cause::Sleeping,
                Some(Wait::Lock) => Cause::Synchronisation,
                Some(Wait::File) => Cause::File,
                Some(Wait::Poll) => Cause::Poll,
                _ => Cause::Elsewhere,
            }),
        }
    }
}
