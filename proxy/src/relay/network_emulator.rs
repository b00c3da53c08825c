//! Emulates a slower network between the recorder and the server (`record --net`).
//!
//! For each connection, a separate thread between the relay and the server delays the bytes. All connections share a
//! [`Line`] for each direction, which computes the times of arrival. Connecting takes a round trip. The time that the
//! relay itself adds is measured once and subtracted from the delay.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use x11prof_trace::{EmulatedNetwork, Line};

use crate::relay::END_PATIENCE;
use crate::sockets::passed_fds::PassedFds;
use crate::sockets::socket::{Socket, Wait, await_any};

/// The maximum number of bytes of one read.
const READ: usize = 64 << 10;
/// The maximum capacity of the network in bytes, in one direction.
const MOST_ON_THE_WAY: f64 = 16e6;
/// The number and the duration of the delays with which the relay's own time is measured.
const DELAYS: usize = 33;
const DELAY: Duration = Duration::from_micros(250);
/// The maximum duration of connecting.
const LONGEST: Duration = Duration::from_secs(3600);

/// The emulated network: one [`Line`] for each direction, which all connections share.
#[derive(Debug, Clone)]
pub(crate) struct SharedLink {
    /// The time that connecting takes.
    connects: Duration,
    /// The maximum number of bytes in flight in one direction of a connection: the network's capacity plus the sender's buffer.
    most: f64,
    /// The relay's part of the latency, in nanoseconds.
    own: u64,
    began: Instant,
    there: Arc<Mutex<Line>>,
    back: Arc<Mutex<Line>>,
}

impl SharedLink {
    pub(crate) fn new(network: EmulatedNetwork) -> SharedLink {
        let own = own_time().unwrap_or_default();
        SharedLink::with_own(network, u64::try_from(own.as_nanos()).unwrap_or(0))
    }

    fn with_own(network: EmulatedNetwork, own: u64) -> SharedLink {
        let connects = Duration::from_nanos(network.round_trip_ns).min(LONGEST);
        let speed = network.bytes_per_second.unwrap_or(f64::INFINITY);
        // Infinite speed without latency counts as the largest capacity.
        let held = (speed * connects.as_secs_f64()).min(MOST_ON_THE_WAY);
        let held = if held.is_nan() { MOST_ON_THE_WAY } else { held };
        let back = Line::to_client(network.clone());
        SharedLink {
            connects,
            most: held + EmulatedNetwork::SEND_BUFFER as f64,
            own,
            began: Instant::now(),
            there: Arc::new(Mutex::new(Line::new(network))),
            back: Arc::new(Mutex::new(back)),
        }
    }
}

/// Measures the shortest time by which a delay in another thread is too long. The relay wakes the thread that delays
/// a packet, a timer wakes that thread again, and the thread wakes the receiver. The shortest time is used, because
/// on a busy machine the usual time is longer and would make later delays too short.
fn own_time() -> io::Result<Duration> {
    let (mut near, mut far) = UnixStream::pair()?;
    let delaying = Builder::new().spawn(move || {
        exact_timers();
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() {
            std::thread::sleep(DELAY);
            if far.write_all(&byte).is_err() {
                return;
            }
        }
    })?;
    let mut least = LONGEST;
    for _ in 0..DELAYS {
        let start = Instant::now();
        near.write_all(&[0])?;
        near.read_exact(&mut [0])?;
        least = least.min(start.elapsed().saturating_sub(DELAY));
    }
    drop(near);
    // The thread returns nothing.
    let _ = delaying.join();
    Ok(least)
}

/// Requests exact timers of the kernel for this thread. If the kernel refuses, timers are 50 µs late, as by default.
fn exact_timers() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// The thread that delays the bytes of one connection.
pub(crate) struct NetworkEmulator {
    thread: JoinHandle<()>,
    near: Arc<Socket>,
}

impl NetworkEmulator {
    /// Starts the delay of a connection's bytes between the returned socket and `server`. `share` registers a socket,
    /// so that it can be shut down.
    pub(crate) fn start(
        lines: SharedLink,
        server: Arc<Socket>,
        share: impl FnOnce(Socket) -> Arc<Socket>,
    ) -> io::Result<(Arc<Socket>, NetworkEmulator)> {
        let (near, far) = UnixStream::pair()?;
        let near = share(Socket::new(near)?);
        let far = Socket::new(far)?;
        let thread = Builder::new()
            .name("x11prof-net".to_owned())
            .stack_size(256 << 10)
            .spawn(move || carry(&lines, &far, &server))?;
        let link = NetworkEmulator {
            thread,
            near: Arc::clone(&near),
        };
        Ok((near, link))
    }

    /// Waits until the bytes that are in flight to the server have arrived.
    pub(crate) fn finish(self) {
        self.near.shut_down();
        // The thread returns nothing.
        let _ = self.thread.join();
    }
}

/// Bytes in flight, with the descriptors that are sent with the first byte.
#[derive(Debug)]
struct Packet {
    due: Instant,
    bytes: Vec<u8>,
    fds: PassedFds,
    /// The number of bytes that the receiver has accepted.
    taken: usize,
}

/// The bytes in flight in one direction.
#[derive(Debug)]
struct InFlight {
    link: SharedLink,
    line: Arc<Mutex<Line>>,
    packets: VecDeque<Packet>,
    bytes: usize,
}

impl InFlight {
    /// A connection's direction without bytes in flight, whose packets are sent on `line`.
    fn new(link: &SharedLink, line: &Arc<Mutex<Line>>) -> InFlight {
        InFlight {
            link: link.clone(),
            line: Arc::clone(line),
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    /// True if more bytes may be in flight.
    fn has_room(&self) -> bool {
        (self.bytes as f64) < self.link.most
    }

    /// Adds bytes that were sent at `now`.
    fn put(&mut self, now: Instant, bytes: &[u8], mut fds: PassedFds) {
        self.bytes += bytes.len();
        let since = now.saturating_duration_since(self.link.began);
        let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        // A line is consistent even if its holder panicked.
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        for part in bytes.chunks(EmulatedNetwork::PACKET) {
            let sent = line.send(since, part.len() as u64);
            let due = sent.arrives.saturating_sub(self.link.own).max(sent.end);
            self.packets.push_back(Packet {
                due: self.link.began + Duration::from_nanos(due),
                bytes: part.to_vec(),
                fds: std::mem::take(&mut fds),
                taken: 0,
            });
        }
    }

    /// Delivers the bytes that have arrived by `now`. Returns true if `to` does not accept all of them.
    fn deliver(&mut self, now: Instant, to: &Socket) -> io::Result<bool> {
        while let Some(packet) = self.packets.front_mut().filter(|packet| packet.due <= now) {
            let rest = packet.bytes.get(packet.taken..).unwrap_or_default();
            let sent = match to.send(rest, &packet.fds.0, Wait::No) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                sent => sent?,
            };
            // The descriptors were sent with the first byte.
            packet.fds = PassedFds::default();
            packet.taken += sent;
            if packet.taken < packet.bytes.len() {
                return Ok(true);
            }
            self.bytes -= packet.taken;
            self.packets.pop_front();
        }
        Ok(false)
    }

    fn next_due(&self) -> Option<Instant> {
        self.packets.front().map(|packet| packet.due)
    }
}

/// One direction of a connection over the network.
struct LinkDirection<'a> {
    from: &'a Socket,
    to: &'a Socket,
    on_the_way: InFlight,
    /// True if the receiver does not accept all bytes that have arrived.
    is_full: bool,
    /// The way in which the sender has ended; `None` while it has not.
    ended: Option<SenderEnd>,
    over: bool,
}

/// The way in which a sender has ended: only its sending direction, or both directions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SenderEnd {
    Half,
    Whole,
}

impl LinkDirection<'_> {
    /// Reads new bytes and delivers the bytes that have arrived. Returns true if there were new bytes.
    fn pass(&mut self, room: &mut [u8]) -> bool {
        let mut any = false;
        if self.ended.is_none() && self.on_the_way.has_room() {
            match self.from.receive(room, Wait::No) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.ended = Some(SenderEnd::Whole),
                Ok((0, _)) => {
                    let gone = self.from.is_hung_up();
                    self.ended = Some(if gone {
                        SenderEnd::Whole
                    } else {
                        SenderEnd::Half
                    });
                }
                Ok((len, fds)) => {
                    let bytes = room.get(..len).unwrap_or_default();
                    self.on_the_way.put(Instant::now(), bytes, fds);
                    any = true;
                }
            }
        }
        match self.on_the_way.deliver(Instant::now(), self.to) {
            Ok(is_full) => self.is_full = is_full,
            // The receiver has closed the connection. Its last bytes may still be in flight in the other direction.
            Err(_) => {
                self.on_the_way.packets.clear();
                self.ended.get_or_insert(SenderEnd::Half);
                self.is_full = false;
            }
        }
        if let Some(gone) = self.ended
            && self.on_the_way.packets.is_empty()
            && !self.over
        {
            self.over = true;
            match gone {
                SenderEnd::Half => self.to.shut_down_writing(),
                SenderEnd::Whole => {
                    self.to.end();
                    self.to.await_hang_up(END_PATIENCE);
                }
            }
        }
        any
    }

    /// The events with which the direction can continue, in addition to the arrival of packets.
    fn awaits(&self) -> impl Iterator<Item = (&Socket, PollFlags)> + Clone {
        let full = self.is_full.then_some((self.to, PollFlags::OUT));
        let reads = self.ended.is_none() && self.on_the_way.has_room();
        let reads = reads.then_some((self.from, PollFlags::IN));
        full.into_iter().chain(reads)
    }
}

/// Passes bytes between `near` and `server` until both directions have ended.
fn carry(lines: &SharedLink, near: &Socket, server: &Socket) {
    exact_timers();
    std::thread::sleep(lines.connects);
    let way = |from, to, line| LinkDirection {
        from,
        to,
        on_the_way: InFlight::new(lines, line),
        is_full: false,
        ended: None,
        over: false,
    };
    let mut ways = [
        way(near, server, &lines.there),
        way(server, near, &lines.back),
    ];
    let mut room = vec![0; READ];
    loop {
        let mut any = false;
        for way in &mut ways {
            any |= way.pass(&mut room);
        }
        if ways.iter().all(|way| way.over) {
            return;
        }
        if any {
            continue;
        }
        let due = ways.iter().filter(|way| !way.is_full);
        let due = due.filter_map(|way| way.on_the_way.next_due()).min();
        if await_any(ways.iter().flat_map(LinkDirection::awaits), due).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn network(bytes_per_second: Option<f64>, round_trip_ns: u64) -> EmulatedNetwork {
        EmulatedNetwork {
            bytes_per_second,
            round_trip_ns,
            ..EmulatedNetwork::default()
        }
    }

    fn ways(network: EmulatedNetwork, connections: usize) -> (Instant, Vec<InFlight>) {
        let link = SharedLink::with_own(network, 0);
        let ways = (0..connections).map(|_| InFlight::new(&link, &link.there));
        (link.began, ways.collect())
    }

    #[test]
    fn connections_share_the_bandwidth() {
        let (start, mut all) = ways(network(Some(1.5e6), 4_000_000), 200);
        let bytes = [1; EmulatedNetwork::PACKET];
        all.iter_mut()
            .for_each(|one| one.put(start, &bytes, PassedFds::default()));
        // 200 packets of 1500 bytes take 200 ms, whichever connection sends them. Latency: 2 ms.
        let due = all.iter().flat_map(|one| &one.packets);
        let last = due
            .map(|packet| packet.due.duration_since(start).as_millis())
            .max();
        assert_eq!(last, Some(202));
    }

    #[test]
    fn senders_block_when_the_network_is_full() {
        let (now, mut all) = ways(network(Some(1e6), 100_000_000), 1);
        let slow = &mut all[0];
        slow.put(now, &vec![0; 355_999], PassedFds::default());
        assert!(slow.has_room());
        slow.put(now, &[0], PassedFds::default());
        assert!(!slow.has_room());
        assert!(ways(network(None, 0), 1).1[0].has_room());
    }

    #[test]
    fn bytes_and_descriptors_arrive_in_order_and_delayed() {
        let (server, ours) = UnixStream::pair().unwrap();
        let ours = Arc::new(Socket::new(ours).unwrap());
        let start = Instant::now();
        let slow = network(Some(1e6), 40_000_000);
        let (near, link) = NetworkEmulator::start(SharedLink::new(slow), ours, Arc::new).unwrap();
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
        let pipe = UnixStream::pair().unwrap();
        near.send_all(&bytes, &[pipe.0.into()]).unwrap();
        near.shut_down_writing();
        let server = Socket::new(server).unwrap();
        let (mut came, mut fds, mut room) = (Vec::new(), 0, vec![0; 1 << 20]);
        loop {
            let (len, with) = server.receive(&mut room, Wait::Yes).unwrap();
            if len == 0 {
                break;
            }
            came.extend_from_slice(&room[..len]);
            fds += with.0.len();
        }
        assert_eq!((came == bytes, fds), (true, 1));
        // 40 ms to connect, at least 103 ms on the wire, and 20 ms of latency.
        assert!(start.elapsed() >= Duration::from_millis(163));
        server.send_all(b"answer", &[]).unwrap();
        drop(server);
        let (len, _) = near.receive(&mut room, Wait::Yes).unwrap();
        assert_eq!(&room[..len], b"answer");
        assert!(start.elapsed() >= Duration::from_millis(183));
        assert_eq!(near.receive(&mut room, Wait::Yes).unwrap().0, 0);
        link.finish();
    }

    #[test]
    fn last_bytes_arrive_after_the_client_disconnects() {
        let (mut server, ours) = UnixStream::pair().unwrap();
        let ours = Arc::new(Socket::new(ours).unwrap());
        let (near, link) =
            NetworkEmulator::start(SharedLink::new(network(None, 50_000_000)), ours, Arc::new)
                .unwrap();
        near.send_all(b"last words", &[]).unwrap();
        let reader = std::thread::spawn(move || {
            let mut came = String::new();
            server.read_to_string(&mut came).unwrap();
            came
        });
        link.finish();
        assert_eq!(reader.join().unwrap(), "last words");
    }
}
