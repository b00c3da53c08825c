//! The stacks on which clients wait for replies (`record --stacks`).
//!
//! While the relay holds a reply, the client that asked sleeps: its stack is copied before the reply is sent. Another thread unwinds
//! the copy. A copy delays the reply by some microseconds, so short waits are looked at by turns.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use x11prof_stacks::{StackCopy, Unwinder, Unwound, Waiter};
use x11prof_trace::{ConnectionId, Control, StackFrame, Timestamp};

use crate::clock;
use crate::tap::Tap;

/// Copies that wait to be unwound, at most.
const WAITING: usize = 256;
/// Copying may take this part of a connection's waits.
const SHARE: u32 = 20;
/// The last copies are unwound within this time.
const PATIENCE: Duration = Duration::from_secs(2);
const BEAT: Duration = Duration::from_millis(2);
/// Distinct stacks in a recording.
const STACKS: usize = 50_000;
/// Processes whose tables are held.
const PROCESSES: usize = 64;
/// Messages at the beginning of a block among which a reply is looked for.
const MESSAGES: usize = 8;

/// A copied stack of a wait.
struct WaitCopy {
    connection: ConnectionId,
    at: Timestamp,
    took: Duration,
    copy: StackCopy,
}

/// The thread that unwinds, and the way to it.
pub(crate) struct WaitStacks {
    copies: Mutex<Option<SyncSender<WaitCopy>>>,
    lost: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl WaitStacks {
    /// Starts the thread, which writes to `tap`.
    pub(crate) fn start(tap: Tap) -> std::io::Result<WaitStacks> {
        let (sender, copies) = sync_channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("x11prof-stacks".to_owned())
            .spawn(move || unwind(&copies, &tap))?;
        Ok(WaitStacks {
            copies: Mutex::new(Some(sender)),
            lost: Arc::default(),
            thread,
        })
    }

    /// The stacks of one connection's client; the reason if the client cannot be looked into.
    pub(crate) fn of(
        &self,
        connection: ConnectionId,
        pid: Option<u32>,
    ) -> Result<ClientStacks, String> {
        let pid = pid.ok_or("its process is not known")?;
        let waiter = Waiter::open(pid).map_err(|error| error.to_string())?;
        let copies = self.copies.lock().ok().and_then(|copies| copies.clone());
        let copies = copies.ok_or("the recording ends")?;
        Ok(ClientStacks {
            connection,
            copies,
            lost: Arc::clone(&self.lost),
            state: RefCell::new(ClientState {
                waiter,
                asked: clock::now(),
                waited: Duration::ZERO,
                spent: Duration::ZERO,
                last: Duration::ZERO,
            }),
        })
    }

    /// Waits for the copies to be unwound. Returns the number of those that were lost.
    pub(crate) fn end(&self) -> u64 {
        if let Ok(mut copies) = self.copies.lock() {
            *copies = None;
        }
        // A connection that does not end keeps the thread.
        let until = Instant::now() + PATIENCE;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(BEAT);
        }
        self.lost.load(Ordering::Relaxed)
    }
}

/// The stacks of one client, for the thread of its connection.
pub(crate) struct ClientStacks {
    connection: ConnectionId,
    copies: SyncSender<WaitCopy>,
    lost: Arc<AtomicU64>,
    state: RefCell<ClientState>,
}

struct ClientState {
    waiter: Waiter,
    /// The time of the client's last requests.
    asked: Timestamp,
    /// The sum of the waits, and that of the copying.
    waited: Duration,
    spent: Duration,
    /// The time of the last copying.
    last: Duration,
}

impl ClientStacks {
    /// The client sent requests.
    pub(crate) fn asks(&self, time: Timestamp) {
        self.state.borrow_mut().asked = time;
    }

    /// The server's bytes were read, and are not sent yet.
    pub(crate) fn answered(&self, time: Timestamp, bytes: &[u8]) {
        if !has_reply(bytes) {
            return;
        }
        let state = &mut *self.state.borrow_mut();
        state.waited += time.since(state.asked);
        // The next answer without a request in between is waited for from here on.
        state.asked = time;
        // The next look takes about as long as the last one. The first one is free: it finds the connection.
        if (state.spent + state.last) * SHARE > state.waited {
            return;
        }
        let copy = state.waiter.copy();
        let took = clock::now().since(time);
        state.spent += took;
        state.last = took;
        let Some(copy) = copy else { return };
        let sent = self.copies.try_send(WaitCopy {
            connection: self.connection,
            at: time,
            took,
            copy,
        });
        // Too many wait, or the thread has ended.
        if sent.is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// True if a reply is among the first messages. Events have 32 bytes, but for generic ones.
fn has_reply(bytes: &[u8]) -> bool {
    const REPLY: u8 = 1;
    const GENERIC_EVENT: u8 = 35;
    let messages = bytes.chunks(32).take(MESSAGES);
    let mut codes = messages.filter_map(|message| message.first());
    codes
        .find(|code| [REPLY, GENERIC_EVENT].contains(&(**code & 0x7F)))
        .is_some_and(|code| *code == REPLY)
}

fn unwind(copies: &Receiver<WaitCopy>, tap: &Tap) {
    let mut unwinders: HashMap<u32, Unwinder> = HashMap::new();
    let mut known: HashMap<Unwound, u32> = HashMap::new();
    while let Ok(wait) = copies.recv() {
        let pid = wait.copy.pid;
        if unwinders.len() >= PROCESSES && !unwinders.contains_key(&pid) {
            unwinders.clear();
        }
        let unwinder = match unwinders.entry(pid) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(room) => match Unwinder::of(pid) {
                Ok(unwinder) => room.insert(unwinder),
                // The process has ended meanwhile.
                Err(_) => continue,
            },
        };
        let unwound = unwinder.unwind(&wait.copy);
        let next = known.len();
        let stack = match known.get(&unwound) {
            Some(stack) => *stack,
            None if next >= STACKS => continue,
            None => {
                let stack = next as u32;
                let frames = unwound.frames.iter().map(|frame| StackFrame {
                    file: frame.file.to_string(),
                    address: frame.address,
                    function: None,
                });
                let control = Control::Stack {
                    stack,
                    frames: frames.collect(),
                    whole: unwound.is_whole,
                };
                tap.control(clock::now(), control);
                known.insert(unwound, stack);
                stack
            }
        };
        let control = Control::WaitStack {
            connection: wait.connection,
            at_ns: wait.at.as_nanos(),
            stack,
            took_ns: u64::try_from(wait.took.as_nanos()).unwrap_or(u64::MAX),
        };
        tap.control(clock::now(), control);
    }
}

#[cfg(test)]
mod tests {
    use super::has_reply;

    #[test]
    fn replies_are_found_behind_events() {
        let message = |code: u8| {
            let mut message = [0; 32];
            message[0] = code;
            message
        };
        let block = |codes: &[u8]| {
            codes
                .iter()
                .flat_map(|code| message(*code))
                .collect::<Vec<_>>()
        };
        assert!(has_reply(&block(&[1])));
        assert!(has_reply(&block(&[12, 0x80 | 33, 1])));
        assert!(!has_reply(&block(&[12, 28])));
        assert!(
            !has_reply(&block(&[35, 1])),
            "a generic event may be longer"
        );
        assert!(!has_reply(&block(&[0])) && !has_reply(&[]));
    }
}
