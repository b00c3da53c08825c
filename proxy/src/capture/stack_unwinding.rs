//! The thread that unwinds copied stacks. No measured process waits for this thread.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use x11prof_stacks::{Frame, StackCopy, Unwinder};
use x11prof_trace::{ConnectionId, Control, StackFrame, Timestamp};

use crate::capture::blocked_objects::BlockedObject;
use crate::capture::peers::Peers;
use crate::capture::perf::SAMPLE_PERIOD;
use crate::capture::stack_numbers::{OWN_LIBRARY, StackNumbers};
use crate::clock;
use crate::recorder::record_queue::RecordSender;

/// The maximum number of copies that wait to be unwound.
const WAITING: usize = 256;
/// The library that [`OWN_LIBRARY`] uses to unwind.
const UNWINDER: &str = "libgcc_s.so.1";
/// The time limit for unwinding the remaining copies at the end, and the interval between two checks for the end.
const PATIENCE: Duration = Duration::from_secs(2);
const BEAT: Duration = Duration::from_millis(2);
/// The maximum number of processes with cached unwind tables.
const PROCESSES: usize = 64;

/// A copied stack, the time of the copy, and the reason for it.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) at: Timestamp,
    pub(crate) copy: StackCopy,
    pub(crate) reason: Reason,
}

/// The reason why a stack was copied.
#[derive(Debug)]
pub(crate) enum Reason {
    /// The thread waited for a reply, which the copying delayed by `took`.
    Wait {
        connection: ConnectionId,
        took: Duration,
    },
    /// Thread `tid` has been blocked on an object since the time of the copy.
    Blocked { tid: u32, on: BlockedObject },
    /// The thread ran for a sample period. `kernel` is true if CPU time inside the kernel counts.
    Run { kernel: bool },
}

#[derive(Debug)]
enum Queued {
    Copy(Copied),
    /// The process with this id has mapped code.
    Mapped(u32),
}

/// The queue of stack copies to the thread that unwinds them.
#[derive(Debug, Clone)]
pub(crate) struct StackQueue {
    copies: Arc<Mutex<Option<SyncSender<Queued>>>>,
    lost: Arc<AtomicU64>,
}

impl StackQueue {
    /// Adds a copy to the queue. The copy is dropped if too many copies wait.
    pub(crate) fn put(&self, copied: Copied) {
        if !self.send(Queued::Copy(copied)) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes that process `pid` has mapped code since the last copy.
    pub(crate) fn has_mapped(&self, pid: u32) {
        // If the queue is full, the mappings are read when they are old.
        self.send(Queued::Mapped(pid));
    }

    fn send(&self, queued: Queued) -> bool {
        let copies = self.copies.lock().ok();
        let sender = copies.as_ref().and_then(|copies| copies.as_ref());
        sender.is_some_and(|copies| copies.try_send(queued).is_ok())
    }
}

/// The running thread that unwinds stacks.
pub(crate) struct StackUnwinding {
    pub(crate) queue: StackQueue,
    thread: JoinHandle<()>,
}

impl StackUnwinding {
    /// Starts the thread, which writes records to `sender`.
    pub(crate) fn start(
        numbers: Arc<StackNumbers>,
        sender: RecordSender,
    ) -> std::io::Result<StackUnwinding> {
        let (queue, copies) = sync_channel(WAITING);
        let queue = StackQueue {
            copies: Arc::new(Mutex::new(Some(queue))),
            lost: Arc::default(),
        };
        let lost = Arc::clone(&queue.lost);
        let thread = std::thread::Builder::new()
            .name("x11prof-stacks".to_owned())
            .spawn(move || unwind(&copies, &lost, &numbers, &sender))?;
        Ok(StackUnwinding { queue, thread })
    }

    /// Waits until all copies are unwound, at most for `PATIENCE`. Returns a sentence about missing stacks; `None` if
    /// none are missing.
    pub(crate) fn end(self) -> Option<String> {
        if let Ok(mut copies) = self.queue.copies.lock() {
            *copies = None;
        }
        let until = Instant::now() + PATIENCE;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(BEAT);
        }
        let lost = self.queue.lost.load(Ordering::Relaxed);
        (lost > 0).then(|| format!("{lost} stacks are missing: unwinding took too long or failed"))
    }
}

fn unwind(
    copies: &Receiver<Queued>,
    lost: &AtomicU64,
    numbers: &StackNumbers,
    sender: &RecordSender,
) {
    let mut unwinders: HashMap<u32, Unwinder> = HashMap::new();
    let mut peers = Peers::default();
    while let Ok(queued) = copies.recv() {
        let Copied { at, copy, reason } = match queued {
            Queued::Copy(copied) => copied,
            Queued::Mapped(pid) => {
                unwinders.get_mut(&pid).map(Unwinder::has_mapped);
                continue;
            }
        };
        let pid = copy.pid;
        if unwinders.len() >= PROCESSES && !unwinders.contains_key(&pid) {
            unwinders.clear();
        }
        let unwinder = match unwinders.entry(pid) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(room) => match Unwinder::of(pid) {
                Ok(unwinder) => room.insert(unwinder),
                // The process has ended in the meantime.
                Err(_) => continue,
            },
        };
        // Unwind tables of a program's file may be inconsistent and make the unwinder panic.
        let unwound = catch_unwind(AssertUnwindSafe(|| unwinder.unwind(&copy)));
        let Ok(unwound) = unwound else {
            unwinders.remove(&pid);
            lost.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let is_of = |frame: &Frame, library| frame.file.rsplit('/').next() == Some(library);
        let innermost = unwound.frames.first();
        // The library that records the stacks of requests and its unwinder do not belong to the program.
        if innermost.is_some_and(|frame| is_of(frame, OWN_LIBRARY) || is_of(frame, UNWINDER))
            && unwound.frames.iter().any(|frame| is_of(frame, OWN_LIBRARY))
        {
            continue;
        }
        let frames = unwound.frames.iter().map(|frame| StackFrame {
            file: frame.file.to_string(),
            address: frame.address,
            function: None,
        });
        let now = clock::now();
        let Some(stack) = numbers.of((frames.collect(), unwound.is_whole), Some(pid), now) else {
            continue;
        };
        let at_ns = at.as_nanos();
        let control = match reason {
            Reason::Wait { connection, took } => Control::WaitStack {
                connection,
                at_ns,
                stack,
                took_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            },
            Reason::Blocked { tid, on } => Control::BlockedStack {
                pid,
                tid,
                since_ns: at_ns,
                stack,
                object: on.object,
                name: on.name.or_else(|| {
                    let peer = peers.of(pid, &on.link?)?;
                    Some(format!("{} ({})", peer.name, peer.pid))
                }),
            },
            Reason::Run { kernel } => Control::RunStack {
                pid,
                at_ns,
                stack,
                ran_ns: SAMPLE_PERIOD,
                kernel,
            },
        };
        sender.control(now, control);
    }
}
