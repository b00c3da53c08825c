//! The thread that reads the server's reports. The thread never waits for the recorder. If the recorder falls behind,
//! the thread drops whole replies and counts their bytes, because a server keeps all unread reports in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use x11prof_trace::Timestamp;

use super::elements;
use super::watchdog::Heartbeat;
use crate::clock;
use crate::sockets::socket::{Socket, Wait};

/// Maximum number of bytes of one read.
const ROOM: usize = 256 << 10;
/// Pause after each read. A server that writes to a sleeping reader must wake the reader, which takes longer than the
/// report. During the pause the server only writes.
const REST: Duration = Duration::from_millis(1);
/// A server writes a whole reply at once. If a reply stays incomplete for this long, its rest is lost.
const WHOLE_WITHIN: Duration = Duration::from_millis(500);
/// Maximum length of a reply in bytes. The longest request of a server with BIG-REQUESTS has 16 MiB.
const LONGEST: usize = 64 << 20;

/// If no reply can be found for this long after garbled bytes, the thread ends, and the recorder enables the context again.
const READABLE_WITHIN: Duration = Duration::from_secs(5);

/// The whole replies from one read of the socket.
#[derive(Debug)]
pub(super) struct Heard {
    /// The time at which the recorder read the replies.
    pub(super) time: Timestamp,
    /// The bytes of the replies, in the order in which they arrived.
    pub(super) answers: Bytes,
    /// The garbled bytes before the replies; `None` if there are none.
    pub(super) garbled: Option<Garbled>,
}

/// Bytes in which the boundaries of replies cannot be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Garbled {
    /// The time of the last reply before the garbled bytes.
    pub(super) since: Timestamp,
    /// The time at which the first garbled byte was read.
    came: Timestamp,
    /// The number of garbled bytes.
    pub(super) bytes: u64,
}

#[derive(Debug, Default)]
struct ReaderCounts {
    held: AtomicUsize,
    left_out: AtomicU64,
    garbled: AtomicU64,
    gave_up: AtomicBool,
}

/// The running thread that reads reports.
#[derive(Debug)]
pub(super) struct Reader {
    heard: Receiver<Heard>,
    shared: Arc<ReaderCounts>,
    socket: Arc<Socket>,
    thread: Option<JoinHandle<()>>,
}

/// The next item that the reader returns.
pub(super) enum ReaderItem {
    Heard(Heard),
    /// No reply arrived in time.
    Nothing,
    /// The server has closed the connection.
    End,
}

impl Reader {
    /// Starts the thread, which reads from `socket` and queues at most `limit` bytes. `pulse` reports each read to the
    /// watchdog, if there is one.
    pub(super) fn start(
        socket: Socket,
        limit: usize,
        pulse: Option<Heartbeat>,
    ) -> std::io::Result<Reader> {
        let (sender, heard) = mpsc::channel();
        let shared = Arc::new(ReaderCounts::default());
        let socket = Arc::new(socket);
        let (same, counts) = (Arc::clone(&socket), Arc::clone(&shared));
        let thread = Builder::new()
            .name("x11prof-attach".to_owned())
            .spawn(move || read(&same, &sender, &counts, limit, pulse))?;
        Ok(Reader {
            heard,
            shared,
            socket,
            thread: Some(thread),
        })
    }

    /// Returns the next item, and waits at most `patience` for it.
    pub(super) fn next(&self, patience: Duration) -> ReaderItem {
        match self.heard.recv_timeout(patience) {
            Ok(heard) => {
                let held = heard.answers.len();
                self.shared.held.fetch_sub(held, Ordering::Relaxed);
                ReaderItem::Heard(heard)
            }
            Err(RecvTimeoutError::Timeout) => ReaderItem::Nothing,
            Err(RecvTimeoutError::Disconnected) => ReaderItem::End,
        }
    }

    /// The number of bytes in which the boundaries of replies could not be found.
    pub(super) fn garbled(&self) -> u64 {
        self.shared.garbled.load(Ordering::Relaxed)
    }

    /// True if the thread ended because it could parse no report.
    pub(super) fn gave_up(&self) -> bool {
        self.shared.gave_up.load(Ordering::Relaxed)
    }

    /// The number of bytes that were dropped because the queue was full.
    pub(super) fn left_out(&self) -> u64 {
        self.shared.left_out.load(Ordering::Relaxed)
    }
}

impl Reader {
    /// Shuts down the connection to the server. Queued replies remain available.
    pub(super) fn stop(&self) {
        self.socket.shut_down();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.socket.shut_down();
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing.
            let _ = thread.join();
        }
    }
}

fn read(
    socket: &Socket,
    sender: &Sender<Heard>,
    shared: &ReaderCounts,
    limit: usize,
    mut pulse: Option<Heartbeat>,
) {
    let mut room = vec![0; ROOM];
    let mut came = BytesMut::new();
    let mut answers = ReplyFinder::default();
    // The time since which the first reply is incomplete.
    let mut partial: Option<Timestamp> = None;
    let mut last = clock::now();
    let mut garbled: Option<Garbled> = None;
    loop {
        let read = match socket.receive(&mut room, Wait::Yes) {
            Ok((0, _)) | Err(_) => return,
            Ok((read, _)) => read,
        };
        let time = clock::now();
        if let Some(pulse) = &mut pulse {
            pulse.beat(time);
        }
        let is_full = read == room.len();
        came.extend_from_slice(room.get(..read).unwrap_or_default());
        loop {
            let (whole, is_garbled) = answers.whole(&came);
            if whole > 0 {
                if !hand_on(&mut came, whole, time, &mut garbled, sender, shared, limit) {
                    return;
                }
                last = time;
            }
            if whole > 0 || came.is_empty() {
                partial = None;
            }
            let waits = !came.is_empty() && time.since(*partial.get_or_insert(time)) > WHOLE_WITHIN;
            if !is_garbled && !waits {
                break;
            }
            partial = None;
            // X.Org's RECORD sometimes loses bytes, for example of a long reply, and the next replies then fill the
            // stated length. The first whole reply follows later.
            let bytes = answers.next(&came);
            shared.garbled.fetch_add(bytes as u64, Ordering::Relaxed);
            came.advance(bytes);
            let before = Garbled {
                since: last,
                came: time,
                bytes: 0,
            };
            garbled.get_or_insert(before).bytes += bytes as u64;
            if answers.is_unsure(&came) {
                break;
            }
        }
        if garbled.is_some_and(|garbled| time.since(garbled.came) > READABLE_WITHIN) {
            shared.gave_up.store(true, Ordering::Relaxed);
            return;
        }
        if !is_full {
            std::thread::sleep(REST);
        }
    }
}

/// Queues the complete replies, or drops them if the queue is full. Returns false if the receiver is gone.
fn hand_on(
    came: &mut BytesMut,
    whole: usize,
    time: Timestamp,
    garbled: &mut Option<Garbled>,
    sender: &Sender<Heard>,
    shared: &ReaderCounts,
    limit: usize,
) -> bool {
    if shared.held.load(Ordering::Relaxed) + whole > limit {
        shared.left_out.fetch_add(whole as u64, Ordering::Relaxed);
        came.advance(whole);
        return true;
    }
    shared.held.fetch_add(whole, Ordering::Relaxed);
    let answers = came.split_to(whole).freeze();
    let garbled = garbled.take();
    let heard = Heard {
        time,
        answers,
        garbled,
    };
    sender.send(heard).is_ok()
}

/// Finds the boundaries of replies by the fields that all replies on the connection share.
#[derive(Debug, Default)]
struct ReplyFinder {
    /// The sequence number, in wire order, of the request to which all replies belong.
    request: Option<[u8; 2]>,
}

impl ReplyFinder {
    /// Returns the length in bytes of the complete replies at the start of `came`, and true if other bytes follow.
    fn whole(&mut self, came: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(rest) = came.get(at..).filter(|rest| rest.len() >= elements::HEADER) {
            let len = elements::length(rest).filter(|_| self.begins(rest));
            let Some(len) = len else {
                return (at, true);
            };
            if rest.len() < len {
                break;
            }
            at += len;
        }
        (at, false)
    }

    /// True if `bytes` starts with a reply of RECORD, an error, or MappingNotify, which the server sends to all
    /// clients.
    fn begins(&mut self, bytes: &[u8]) -> bool {
        const MAPPING_NOTIFY: u8 = 34;
        // All replies are to one request. Their categories are at most 5, and only the client's byte order can be
        // swapped.
        let &[kind, category, first, second, _, _, _, _, _, swapped, ..] = bytes else {
            return false;
        };
        match kind {
            1 => {
                let request = *self.request.get_or_insert([first, second]);
                let fits = category <= 5 && swapped <= 1 && request == [first, second];
                fits && elements::length(bytes).is_some_and(|len| len <= LONGEST)
            }
            // No error has the code 0.
            0 => {
                let mut request = self.request.iter();
                category != 0 && request.all(|request| *request == [first, second])
            }
            kind => kind & 0x7F == MAPPING_NOTIFY,
        }
    }

    /// The offset of the next reply after garbled bytes; if there is none, the offset of the last bytes in which a
    /// reply may begin.
    fn next(&mut self, came: &[u8]) -> usize {
        let mut places = 1..came.len().saturating_sub(elements::HEADER - 1);
        let found = places.find(|at| {
            let rest = came.get(*at..).unwrap_or_default();
            rest.first() == Some(&1) && self.begins(rest)
        });
        found.unwrap_or(came.len().saturating_sub(elements::HEADER - 1).max(1))
    }

    /// Returns true if `came` is too short to distinguish a reply from garbled bytes.
    fn is_unsure(&self, came: &[u8]) -> bool {
        came.len() < elements::HEADER
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{Reader, ReaderItem, ReplyFinder};
    use crate::sockets::socket::Socket;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn replies_resynchronize_after_lost_bytes() {
        let answer = |units: u32| {
            let mut answer = [0; 40];
            (answer[0], answer[2]) = (1, 7);
            answer[4..8].copy_from_slice(&units.to_ne_bytes());
            answer
        };
        // The second reply states a wrong length that covers the third reply and a part of the fourth.
        let mut came = answer(2).to_vec();
        came.extend(answer(17));
        (0..4).for_each(|_| came.extend(answer(2)));
        let mut answers = ReplyFinder::default();
        let (whole, is_garbled) = answers.whole(&came);
        assert_eq!((whole, is_garbled), (40 + 100, true));
        let next = answers.next(&came[whole..]);
        assert_eq!((whole + next) % 40, 0);
        assert_eq!(answers.whole(&came[whole + next..]), (80, false));
        // No reply begins here. All bytes except the last few are skipped.
        assert_eq!(answers.next(&[9; 100]), 69);
    }

    #[test]
    fn zeros_are_not_parsed_as_replies() {
        assert_eq!(ReplyFinder::default().whole(&[0; 100]), (0, true));
        let (mut server, ours) = UnixStream::pair().unwrap();
        let reader = Reader::start(Socket::new(ours).unwrap(), 1000, None).unwrap();
        let mut answer = [0; 40];
        answer[0] = 1;
        answer[4..8].copy_from_slice(&2_u32.to_ne_bytes());
        server.write_all(&answer).unwrap();
        assert!(matches!(reader.next(PATIENCE), ReaderItem::Heard(_)));
        server.write_all(&[0; 200]).unwrap();
        server.write_all(&answer).unwrap();
        let ReaderItem::Heard(heard) = reader.next(PATIENCE) else {
            panic!("an answer follows");
        };
        assert_eq!(heard.garbled.map(|garbled| garbled.bytes), Some(200));
        assert_eq!(reader.garbled(), 200);
        // The reader ends if no reply follows. It then reads no more, so a full socket must not block the test.
        server.set_nonblocking(true).unwrap();
        while !reader.gave_up() {
            let _ = server.write(&[0; 64]);
            std::thread::yield_now();
        }
        assert!(matches!(reader.next(PATIENCE), ReaderItem::End));
    }

    #[test]
    fn whole_replies_are_emitted_and_excess_is_counted() {
        let (mut server, ours) = UnixStream::pair().unwrap();
        let reader = Reader::start(Socket::new(ours).unwrap(), 40, None).unwrap();
        let mut answer = [0; 40];
        answer[0] = 1;
        answer[4..8].copy_from_slice(&2_u32.to_ne_bytes());
        server.write_all(&answer[..33]).unwrap();
        assert!(matches!(
            reader.next(Duration::from_millis(20)),
            ReaderItem::Nothing
        ));
        server.write_all(&answer[33..]).unwrap();
        let ReaderItem::Heard(heard) = reader.next(PATIENCE) else {
            panic!("it has come as a whole");
        };
        assert_eq!(&heard.answers[..], answer);
        // The queue holds one reply and has no room for the next.
        server.write_all(&answer).unwrap();
        while reader
            .shared
            .held
            .load(std::sync::atomic::Ordering::Relaxed)
            == 0
        {
            std::thread::yield_now();
        }
        server.write_all(&answer).unwrap();
        while reader.left_out() == 0 {
            std::thread::yield_now();
        }
        drop(server);
        assert!(matches!(reader.next(PATIENCE), ReaderItem::Heard(_)));
        assert!(matches!(reader.next(PATIENCE), ReaderItem::End));
        assert_eq!(reader.left_out(), 40);
    }
}
