//! The thread that relays all connections.
//!
//! The thread relays the bytes of all connections in the order in which they arrive. So the order of messages between
//! clients is the same as without the recorder: a client's event arrives before another client's reply that the
//! server wrote later. The only exception are bytes that arrive on a socket between the report that it is ready and
//! its read.
//!
//! A sleeping thread wakes about ten microseconds late, twice in each round trip of a client. So the thread polls for
//! a short time before it sleeps, if the machine has several processors and polling was successful before. While it
//! polls, it yields its processor to other threads.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::Timespec;

use super::{ConnectionEnd, Relay};

/// The maximum duration of polling. Most replies, and most next requests, arrive faster.
const LOOK: Duration = Duration::from_micros(100);
/// The maximum number of events of one system call.
const EVENTS: usize = 64;
/// The event data for new connections. The event data of a socket are 2 × connection + side.
const NEWS: u64 = u64::MAX;

/// True if the machine has more than one processor, so that polling does not delay clients.
static SPARE: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// Passes new connections of type `T` to the thread that relays them.
#[derive(Debug)]
pub(crate) struct NewConnections<T> {
    sender: mpsc::Sender<Option<T>>,
    wake: Arc<OwnedFd>,
}

impl<T> NewConnections<T> {
    pub(crate) fn send(&self, connection: T) {
        self.put(Some(connection));
    }

    /// Ends the thread that relays.
    pub(crate) fn close(&self) {
        self.put(None);
    }

    fn put(&self, connection: Option<T>) {
        // The send fails only if the thread has ended. The descriptor's counter never overflows.
        let _ = self.sender.send(connection);
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

/// The thread's end of the queue of new connections, and the sockets that the thread waits for.
#[derive(Debug)]
pub(crate) struct EventSource<T> {
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    news: mpsc::Receiver<Option<T>>,
}

/// Creates the queue of new connections.
pub(crate) fn event_source<T>() -> io::Result<(NewConnections<T>, EventSource<T>)> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    epoll::add(&epoll, &*wake, EventData::new_u64(NEWS), EventFlags::IN)?;
    let (sender, news) = mpsc::channel();
    let source = EventSource {
        epoll,
        wake: Arc::clone(&wake),
        news,
    };
    Ok((NewConnections { sender, wake }, source))
}

/// A connection, and the events for which its sockets to the client and to the server are registered.
struct Registered<'a, C> {
    connection: C,
    relay: Relay<'a>,
    interests: [EventFlags; 2],
}

/// The sockets that are ready, in the order in which they became ready.
struct Ready {
    epoll: OwnedFd,
    queue: VecDeque<(u64, EventFlags)>,
    /// True if polling is worthwhile: the last wait was short, or there was none yet.
    pays: bool,
}

/// Relays all connections of `source` until the source is closed. `begin` creates the relay of a new connection;
/// `end` receives the relay after the connection's end.
pub(crate) fn run<'a, T, C>(
    source: EventSource<T>,
    begin: impl Fn(T) -> (C, Relay<'a>),
    end: impl Fn(C, Relay<'a>, ConnectionEnd),
) {
    let EventSource { epoll, wake, news } = source;
    let mut ready = Ready {
        epoll,
        queue: VecDeque::new(),
        pays: *SPARE,
    };
    let mut relays: HashMap<u64, Registered<'a, C>> = HashMap::new();
    let mut count = 0;
    loop {
        let Some((event, flags)) = ready.queue.pop_front() else {
            ready.wait(|| relays.values().any(Registered::is_blocked));
            continue;
        };
        if event == NEWS {
            let _ = rustix::io::read(&*wake, &mut [0; 8]);
            for new in news.try_iter() {
                let Some(new) = new else { return };
                let (connection, relay) = begin(new);
                let interests = [EventFlags::empty(); 2];
                let mut new = Registered {
                    connection,
                    relay,
                    interests,
                };
                match new.update(count, &ready.epoll) {
                    Ok(()) => _ = relays.insert(count, new),
                    Err(error) => end(new.connection, new.relay, ConnectionEnd::failed(error)),
                }
                count += 1;
            }
            continue;
        }
        let (number, side) = (event / 2, (event % 2) as usize);
        let is_only = relays.len() == 1;
        let Some(of) = relays.get_mut(&number) else {
            continue;
        };
        let over = of.pass(side, flags, || {
            // Bytes on sockets that are ready now were sent before the bytes that are read later.
            if !is_only {
                ready.look();
            }
        });
        let updated = of.update(number, &ready.epoll).err();
        if let Some(over) = over.or(updated.map(ConnectionEnd::failed))
            && let Some(mut of) = relays.remove(&number)
        {
            of.relay.end();
            // The update cannot fail, because the sockets are open and registered.
            let _ = of.update(number, &ready.epoll);
            end(of.connection, of.relay, over);
        }
    }
}

impl<C> Registered<'_, C> {
    /// Reads from or writes to the socket `side`, if it is ready. `has_read` is called after each read. Returns the
    /// end of the connection, if the connection has ended. A panic ends only this connection.
    fn pass(
        &mut self,
        side: usize,
        flags: EventFlags,
        mut has_read: impl FnMut(),
    ) -> Option<ConnectionEnd> {
        let wanted = self.interests[side];
        let has_ended = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let passed = catch_unwind(AssertUnwindSafe(|| {
            let [from, to] = [(EventFlags::IN, 1 - side), (EventFlags::OUT, side)];
            [from, to].into_iter().find_map(|(flag, at)| {
                let is_ready = flags.contains(flag) || has_ended && wanted.contains(flag);
                is_ready.then(|| self.relay.pass(at, &mut has_read))?
            })
        }));
        passed.unwrap_or_else(|_| {
            let error = io::Error::other("the recorder could not relay the connection");
            Some(ConnectionEnd::failed(error))
        })
    }

    /// Registers the events with which the relay can continue.
    fn update(&mut self, number: u64, epoll: &OwnedFd) -> io::Result<()> {
        let wanted = self.relay.interests();
        for (side, (has, wanted)) in self.interests.iter_mut().zip(wanted).enumerate() {
            if *has == wanted {
                continue;
            }
            let socket = self.relay.socket(side);
            let data = EventData::new_u64(2 * number + side as u64);
            match (has.is_empty(), wanted.is_empty()) {
                (true, _) => epoll::add(epoll, socket, data, wanted)?,
                // The kernel would still report the end of a registered socket.
                (false, true) => epoll::delete(epoll, socket)?,
                (false, false) => epoll::modify(epoll, socket, data, wanted)?,
            }
            *has = wanted;
        }
        Ok(())
    }

    /// True if bytes wait because a receiver does not accept them.
    fn is_blocked(&self) -> bool {
        self.interests
            .iter()
            .any(|flags| flags.contains(EventFlags::OUT))
    }
}

impl Ready {
    /// Waits until a socket is ready. Before the thread sleeps, it may check the sockets repeatedly for a moment, but not
    /// if `is_blocked` returns true: a receiver accepts no more bytes.
    fn wait(&mut self, is_blocked: impl FnOnce() -> bool) {
        if self.pays {
            self.look();
            if !self.queue.is_empty() {
                return;
            }
        }
        let since = Instant::now();
        if self.pays && !is_blocked() {
            while since.elapsed() < LOOK {
                thread::yield_now();
                self.look();
                if !self.queue.is_empty() {
                    return;
                }
            }
        }
        self.take(None);
        self.pays = *SPARE && since.elapsed() < 2 * LOOK;
    }

    /// Adds the sockets that are ready now to the queue.
    fn look(&mut self) {
        self.take(Some(&Timespec::default()));
    }

    fn take(&mut self, time: Option<&Timespec>) {
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        // The only possible error is an interruption by a signal.
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut events, time) else {
            return;
        };
        for event in events {
            let (number, flags) = (event.data.u64(), event.flags);
            match self.queue.iter_mut().find(|(queued, _)| *queued == number) {
                Some((_, queued)) => *queued |= flags,
                None => self.queue.push_back((number, flags)),
            }
        }
    }
}
