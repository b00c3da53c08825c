//! A slower network than there is, between the recorder and the server (`record --net`).
//!
//! A thread of its own carries a connection's bytes, apart from the ordinary relay. Each direction takes packets
//! one after the other at the network's speed; they arrive half a round trip later.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use x11prof_trace::EmulatedNetwork;

use crate::socket::{Socket, Wait, await_any};

/// Bytes that arrive together: what a packet of Ethernet carries of TCP.
const PACKET: usize = 1448;
/// What is read at once.
const READ: usize = 64 << 10;
/// What a sender may leave with the system before it waits, besides what is on its way.
const SEND_BUFFER: f64 = 256e3;
/// The most that is on its way in one direction, in bytes.
const MOST_ON_THE_WAY: f64 = 16e6;
/// Later than any packet.
const LONGEST: Duration = Duration::from_secs(3600);

/// The thread that carries one connection.
pub(crate) struct SlowLink {
    thread: JoinHandle<()>,
    near: Arc<Socket>,
}

impl SlowLink {
    /// Stands between the socket that is the result and `server`.
    pub(crate) fn start(
        network: EmulatedNetwork,
        server: Arc<Socket>,
        share: impl FnOnce(Socket) -> Arc<Socket>,
    ) -> io::Result<(Arc<Socket>, SlowLink)> {
        let (near, far) = UnixStream::pair()?;
        let near = share(Socket::new(near)?);
        let far = Socket::new(far)?;
        let thread = Builder::new()
            .name("x11prof-net".to_owned())
            .stack_size(256 << 10)
            .spawn(move || carry(network, &far, &server))?;
        let link = SlowLink {
            thread,
            near: Arc::clone(&near),
        };
        Ok((near, link))
    }

    /// Lets what is on its way to the server arrive.
    pub(crate) fn finish(self) {
        self.near.shut_down();
        // It has nothing to tell.
        let _ = self.thread.join();
    }
}

/// Some bytes on their way, with the descriptors that go with the first of them.
#[derive(Debug)]
struct Packet {
    due: Instant,
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
    /// Bytes that the receiver has.
    taken: usize,
}

/// What is on its way in one direction.
#[derive(Debug)]
struct OnTheWay {
    network: EmulatedNetwork,
    packets: VecDeque<Packet>,
    bytes: usize,
    /// When the network can take the next packet.
    free: Option<Instant>,
}

impl OnTheWay {
    fn new(network: EmulatedNetwork) -> OnTheWay {
        OnTheWay {
            network,
            packets: VecDeque::new(),
            bytes: 0,
            free: None,
        }
    }

    /// How much may be on its way: what the network holds, and the sender's buffer.
    fn has_room(&self) -> bool {
        let round_trip = Duration::from_nanos(self.network.round_trip_ns).as_secs_f64();
        let speed = self.network.bytes_per_second.unwrap_or(f64::INFINITY);
        // An infinite speed without latency holds as much as the fastest.
        let held = (speed * round_trip).min(MOST_ON_THE_WAY);
        let held = if held.is_nan() { MOST_ON_THE_WAY } else { held };
        (self.bytes as f64) < held + SEND_BUFFER
    }

    /// Takes what was sent at `now`.
    fn put(&mut self, now: Instant, bytes: &[u8], mut fds: Vec<OwnedFd>) {
        let half = Duration::from_nanos(self.network.round_trip_ns / 2).min(LONGEST);
        self.bytes += bytes.len();
        for part in bytes.chunks(PACKET) {
            let start = self.free.map_or(now, |free| free.max(now));
            let takes = match self.network.bytes_per_second {
                Some(speed) => Duration::try_from_secs_f64(part.len() as f64 / speed),
                None => Ok(Duration::ZERO),
            };
            let sent = start + takes.unwrap_or(LONGEST).min(LONGEST);
            self.free = Some(sent);
            self.packets.push_back(Packet {
                due: sent + half,
                bytes: part.to_vec(),
                fds: std::mem::take(&mut fds),
                taken: 0,
            });
        }
    }

    /// Gives `to` what has arrived by `now`, as far as it takes it; true where it does not take all.
    fn deliver(&mut self, now: Instant, to: &Socket) -> io::Result<bool> {
        while let Some(packet) = self.packets.front_mut().filter(|packet| packet.due <= now) {
            let rest = packet.bytes.get(packet.taken..).unwrap_or_default();
            let sent = match to.send(rest, &packet.fds, Wait::No) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                sent => sent?,
            };
            // They went with the first byte.
            packet.fds.clear();
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

/// One direction.
struct Way<'a> {
    from: &'a Socket,
    to: &'a Socket,
    on_the_way: OnTheWay,
    /// The receiver does not take all that has arrived.
    is_full: bool,
    /// The sender says nothing more; it may be gone altogether.
    ended: Option<Gone>,
    over: bool,
}

/// How a sender ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    Half,
    Whole,
}

impl Way<'_> {
    /// Takes what came and gives what has arrived. True where something came.
    fn pass(&mut self, room: &mut [u8]) -> bool {
        let mut any = false;
        if self.ended.is_none() && self.on_the_way.has_room() {
            match self.from.receive(room, Wait::No) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.ended = Some(Gone::Whole),
                Ok((0, _)) => {
                    let gone = self.from.is_hung_up();
                    self.ended = Some(if gone { Gone::Whole } else { Gone::Half });
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
            // The receiver is gone. What it said last may still be on its way.
            Err(_) => {
                self.on_the_way.packets.clear();
                self.ended.get_or_insert(Gone::Half);
                self.is_full = false;
            }
        }
        if let Some(gone) = self.ended
            && self.on_the_way.packets.is_empty()
            && !self.over
        {
            self.over = true;
            match gone {
                Gone::Half => self.to.shut_down_writing(),
                Gone::Whole => self.to.shut_down(),
            }
        }
        any
    }

    /// What it can go on with, besides time.
    fn awaits(&self) -> impl Iterator<Item = (&Socket, PollFlags)> + Clone {
        let full = self.is_full.then_some((self.to, PollFlags::OUT));
        let reads = self.ended.is_none() && self.on_the_way.has_room();
        let reads = reads.then_some((self.from, PollFlags::IN));
        full.into_iter().chain(reads)
    }
}

/// Carries bytes between `near` and `server` until both directions have ended.
fn carry(network: EmulatedNetwork, near: &Socket, server: &Socket) {
    let way = |from, to| Way {
        from,
        to,
        on_the_way: OnTheWay::new(network),
        is_full: false,
        ended: None,
        over: false,
    };
    let mut ways = [way(near, server), way(server, near)];
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
        if await_any(ways.iter().flat_map(Way::awaits), due).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    const fn network(bytes_per_second: Option<f64>, round_trip_ns: u64) -> EmulatedNetwork {
        EmulatedNetwork {
            bytes_per_second,
            round_trip_ns,
        }
    }

    #[test]
    fn packets_take_their_turn_and_arrive_half_a_round_trip_later() {
        let start = Instant::now();
        let mut way = OnTheWay::new(network(Some(PACKET as f64 * 1e3), 20_000_000));
        way.put(start, &[1; 2 * PACKET], Vec::new());
        way.put(start + Duration::from_micros(500), &[2; PACKET], Vec::new());
        way.put(start + Duration::from_millis(50), &[3; PACKET], Vec::new());
        let due: Vec<u128> = way
            .packets
            .iter()
            .map(|packet| packet.due.duration_since(start).as_micros())
            .collect();
        assert_eq!(due, [11_000, 12_000, 13_000, 61_000]);
        assert_eq!(way.bytes, 4 * PACKET);
        // A network without a speed has only its latency.
        let mut way = OnTheWay::new(network(None, 20_000_000));
        way.put(start, &[1; 2 * PACKET], Vec::new());
        let due = way.packets.iter().map(|packet| packet.due);
        assert!(due.eq([start + Duration::from_millis(10); 2]));
    }

    #[test]
    fn senders_wait_once_the_network_is_full() {
        let now = Instant::now();
        let mut way = OnTheWay::new(network(Some(1e6), 100_000_000));
        way.put(now, &vec![0; 355_999], Vec::new());
        assert!(way.has_room());
        way.put(now, &[0], Vec::new());
        assert!(!way.has_room());
        assert!(OnTheWay::new(network(None, 0)).has_room());
    }

    #[test]
    fn bytes_and_descriptors_come_through_in_order_and_late() {
        let (server, ours) = UnixStream::pair().unwrap();
        let ours = Arc::new(Socket::new(ours).unwrap());
        let start = Instant::now();
        let slow = network(Some(1e6), 40_000_000);
        let (near, link) = SlowLink::start(slow, ours, Arc::new).unwrap();
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
            fds += with.len();
        }
        assert_eq!((came == bytes, fds), (true, 1));
        // 100 ms on the wire, and 20 ms of latency.
        assert!(start.elapsed() >= Duration::from_millis(120));
        server.send_all(b"answer", &[]).unwrap();
        drop(server);
        let (len, _) = near.receive(&mut room, Wait::Yes).unwrap();
        assert_eq!(&room[..len], b"answer");
        assert!(start.elapsed() >= Duration::from_millis(140));
        assert_eq!(near.receive(&mut room, Wait::Yes).unwrap().0, 0);
        link.finish();
    }

    #[test]
    fn what_a_client_said_last_arrives_after_it_has_gone() {
        let (mut server, ours) = UnixStream::pair().unwrap();
        let ours = Arc::new(Socket::new(ours).unwrap());
        let (near, link) = SlowLink::start(network(None, 50_000_000), ours, Arc::new).unwrap();
        near.send_all(b"last words", &[]).unwrap();
        link.finish();
        let mut came = String::new();
        server.read_to_string(&mut came).unwrap();
        assert_eq!(came, "last words");
        assert!(server.write_all(b"too late").is_err());
    }
}
