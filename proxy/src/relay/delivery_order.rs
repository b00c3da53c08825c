//! The order of bytes across connections.
//!
//! Each connection has its own thread. Without further care a client could read the reply to its request before another
//! client can read an event that the server wrote earlier, because the other thread was not scheduled yet. The kernel
//! keeps the sockets of an epoll instance in the order in which they became readable. A relay delivers what it read once
//! the relays of the sockets before its own have delivered theirs.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;

use crate::sockets::socket::Socket;

/// The longest wait for the relays of other connections. Their threads run within this time, except on a machine that
/// is busy without measure.
const PATIENCE: Duration = Duration::from_millis(50);
/// A relay that waits for another looks this often whether the other still has bytes.
const RECHECK: Duration = Duration::from_micros(500);
/// Turns of one source: of bytes that are being read, and of later ones.
const MOST_TURNS: usize = 2;
/// Sockets taken from the kernel's list at a time.
const TAKEN: usize = 32;

/// The order in which the sockets of one side, all servers' or all clients', became readable.
#[derive(Debug)]
pub(crate) struct DeliveryOrder {
    /// `None` without a descriptor to spare: then each relay delivers at once.
    readable: Option<OwnedFd>,
    state: Mutex<State>,
    changed: Condvar,
    numbers: AtomicU64,
    /// True if there are two sources or more.
    several: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    sources: Vec<Arc<Source>>,
    /// The sources with undelivered bytes, in order.
    turns: VecDeque<Arc<Source>>,
}

#[derive(Debug)]
struct Source {
    number: u64,
    socket: Arc<Socket>,
    /// Bytes were read, or may be, that are not delivered yet.
    reads: AtomicBool,
    /// The relay does not read: the receiver does not take its bytes, or the relay waits in the other direction.
    rests: AtomicBool,
}

impl Default for DeliveryOrder {
    fn default() -> DeliveryOrder {
        DeliveryOrder {
            readable: epoll::create(CreateFlags::CLOEXEC).ok(),
            state: Mutex::default(),
            changed: Condvar::new(),
            numbers: AtomicU64::new(0),
            several: AtomicBool::new(false),
        }
    }
}

/// A direction of a connection as a source of bytes. It leaves the order on drop.
#[derive(Debug)]
pub(crate) struct OrderedSource<'a> {
    order: &'a DeliveryOrder,
    source: Arc<Source>,
}

/// A read and its delivery, which end on drop. Only one connection has no turns.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    of: Option<&'a OrderedSource<'a>>,
    /// The number of the source's turns that the read covers. Bytes that came after it began have another turn.
    covered: usize,
}

impl DeliveryOrder {
    /// Adds a socket from which a relay reads.
    pub(crate) fn join(&self, socket: &Arc<Socket>) -> OrderedSource<'_> {
        let source = Arc::new(Source {
            number: self.numbers.fetch_add(1, SeqCst),
            socket: Arc::clone(socket),
            reads: AtomicBool::new(false),
            rests: AtomicBool::new(false),
        });
        let mut state = self.state();
        if let Some(readable) = &self.readable {
            let data = EventData::new_u64(source.number);
            let added = epoll::add(readable, &**socket, data, EventFlags::IN | EventFlags::ET);
            if added.is_ok() {
                state.sources.push(Arc::clone(&source));
            }
        }
        self.several.store(state.sources.len() > 1, SeqCst);
        OrderedSource {
            order: self,
            source,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the sockets that became readable since the last call to the end of the turns.
    fn take(&self, state: &mut State) {
        let Some(readable) = &self.readable else {
            return;
        };
        loop {
            let mut room = [const { MaybeUninit::<Event>::uninit() }; TAKEN];
            let Ok((events, _)) = epoll::wait(readable, &mut room, Some(&Timespec::default()))
            else {
                return;
            };
            for event in &*events {
                let number = event.data.u64();
                let source = state.sources.iter().find(|one| one.number == number);
                if let Some(source) = source
                    && state.turns_of(source) < MOST_TURNS
                {
                    state.turns.push_back(Arc::clone(source));
                }
            }
            if events.len() < TAKEN {
                return;
            }
        }
    }

    /// Removes the first turns of `source`.
    fn give_up(&self, state: &mut State, source: &Source, mut count: usize) {
        let before = state.turns.len();
        state.turns.retain(|one| {
            let given_up = count > 0 && one.number == source.number;
            count -= usize::from(given_up);
            !given_up
        });
        if state.turns.len() < before {
            self.changed.notify_all();
        }
    }
}

impl State {
    fn turns_of(&self, source: &Source) -> usize {
        let number = source.number;
        self.turns.iter().filter(|one| one.number == number).count()
    }
}

impl OrderedSource<'_> {
    /// Begins a read: the bytes that come with it are delivered in the order of now.
    pub(crate) fn begin(&self) -> Turn<'_> {
        if !self.order.several.load(SeqCst) {
            return Turn {
                of: None,
                covered: 0,
            };
        }
        self.source.rests.store(false, SeqCst);
        self.source.reads.store(true, SeqCst);
        let mut state = self.order.state();
        self.order.take(&mut state);
        Turn {
            of: Some(self),
            covered: state.turns_of(&self.source),
        }
    }

    /// Until the next read the other relays do not wait for this one.
    pub(crate) fn rest(&self) {
        self.source.rests.store(true, SeqCst);
    }
}

impl Source {
    /// True if others have to wait for this source's bytes.
    fn has_bytes(&self) -> bool {
        let soon = || {
            let readable = self.socket.is_readable_until(Instant::now());
            readable.unwrap_or(false)
        };
        !self.rests.load(SeqCst) && (self.reads.load(SeqCst) || soon())
    }
}

impl Turn<'_> {
    /// Waits until all bytes are delivered that other sockets had earlier. `other` is the other direction of the
    /// connection: its bytes are not read meanwhile.
    pub(crate) fn await_others(&mut self, other: &OrderedSource<'_>) {
        let Some(OrderedSource { order, source }) = self.of else {
            return;
        };
        let mut state = order.state();
        if self.covered == 0 {
            // The bytes came after the read began, or are the rest of an earlier turn.
            order.take(&mut state);
            if state.turns_of(source) == 0 {
                state.turns.push_back(Arc::clone(source));
            }
            self.covered = 1;
        }
        let is_foremost = |state: &mut State| {
            while let Some(first) = state.turns.front() {
                if first.number == source.number {
                    return true;
                }
                if first.has_bytes() {
                    return false;
                }
                state.turns.pop_front();
                order.changed.notify_all();
            }
            true
        };
        if is_foremost(&mut state) {
            return;
        }
        let until = Instant::now() + PATIENCE;
        let rested = other.source.rests.swap(true, SeqCst);
        while !is_foremost(&mut state) && Instant::now() < until {
            let waited = order.changed.wait_timeout(state, RECHECK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        other.source.rests.store(rested, SeqCst);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(OrderedSource { order, source }) = self.of {
            let mut state = order.state();
            source.reads.store(false, SeqCst);
            order.give_up(&mut state, source, self.covered);
        }
    }
}

impl Drop for OrderedSource<'_> {
    fn drop(&mut self) {
        let mut state = self.order.state();
        if let Some(readable) = &self.order.readable {
            // The call fails for a socket that was not added.
            let _ = epoll::delete(readable, &*self.source.socket);
        }
        state.sources.retain(|one| one.number != self.source.number);
        self.order.give_up(&mut state, &self.source, MOST_TURNS);
        self.order.several.store(state.sources.len() > 1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{DeliveryOrder, PATIENCE};
    use crate::sockets::socket::{Socket, Wait};

    fn socket() -> (UnixStream, Arc<Socket>) {
        let (peer, ours) = UnixStream::pair().unwrap();
        (peer, Arc::new(Socket::new(ours).unwrap()))
    }

    #[test]
    fn bytes_are_delivered_in_the_order_in_which_they_came() {
        let (order, requests) = (DeliveryOrder::default(), DeliveryOrder::default());
        let ((mut peer_a, a), (mut peer_b, b)) = (socket(), socket());
        let (reads_a, reads_b) = (order.join(&a), order.join(&b));
        let (other_a, other_b) = (requests.join(&a), requests.join(&b));
        for _ in 0..100 {
            // B's bytes come first, but A's relay runs first.
            peer_b.write_all(&[1]).unwrap();
            peer_a.write_all(&[2]).unwrap();
            let delivered = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut turn = reads_a.begin();
                    a.receive(&mut [0; 8], Wait::No).unwrap();
                    turn.await_others(&other_a);
                    assert!(delivered.load(SeqCst));
                });
                thread::sleep(Duration::from_micros(200));
                let mut turn = reads_b.begin();
                b.receive(&mut [0; 8], Wait::No).unwrap();
                turn.await_others(&other_b);
                delivered.store(true, SeqCst);
            });
        }
    }

    #[test]
    fn no_relay_waits_for_one_that_does_not_read() {
        let (order, requests) = (DeliveryOrder::default(), DeliveryOrder::default());
        let ((mut peer_a, a), (mut peer_b, b)) = (socket(), socket());
        let (reads_a, reads_b, other) = (order.join(&a), order.join(&b), requests.join(&a));
        let passes = |since: Instant| {
            let mut turn = reads_a.begin();
            a.receive(&mut [0; 8], Wait::No).unwrap();
            turn.await_others(&other);
            drop(turn);
            since.elapsed() < PATIENCE
        };
        peer_b.write_all(&[1]).unwrap();
        peer_a.write_all(&[2]).unwrap();
        reads_b.rest();
        assert!(passes(Instant::now()));
        // B's bytes are gone, its turn is not.
        peer_b.write_all(&[1]).unwrap();
        drop(order.join(&socket().1).begin());
        b.receive(&mut [0; 8], Wait::No).unwrap();
        peer_a.write_all(&[2]).unwrap();
        assert!(passes(Instant::now()));
        drop(reads_b);
        peer_a.write_all(&[2]).unwrap();
        assert!(passes(Instant::now()));
    }
}
