//! The thread that reads the server's reports. The reader never waits for the recorder: if its data is not taken, it
//! leaves out whole answers and counts them. A server whose reports nobody reads keeps them all in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use x11prof_trace::Timestamp;

use super::elements;
use super::watchdog::Pulse;
use crate::clock;
use crate::sockets::socket::{Socket, Wait};

/// The most bytes of one read.
const ROOM: usize = 256 << 10;
/// The reader's rest after each read. A server that writes to a sleeping reader must wake it, which costs the server
/// more than the report; during the rest the server only writes.
const REST: Duration = Duration::from_millis(1);
/// A server writes a whole answer at once. An answer that stays incomplete for this long has lost its rest.
const WHOLE_WITHIN: Duration = Duration::from_millis(500);
/// The longest answer: the longest request of a server with BIG-REQUESTS is 16 MiB.
const LONGEST: usize = 64 << 20;

/// A server of which nothing can be read for this long is asked again.
const READABLE_WITHIN: Duration = Duration::from_secs(5);

/// Whole answers that were read at once.
#[derive(Debug)]
pub(super) struct Heard {
    /// The time at which the answers had come.
    pub(super) time: Timestamp,
    /// The answers, one after the other.
    pub(super) answers: Bytes,
    /// The garbled bytes before the answers.
    pub(super) garbled: Option<Garbled>,
}

/// Bytes in which no answer could be told from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Garbled {
    /// The time of the last answers before them.
    pub(super) since: Timestamp,
    /// The time at which the first of them came.
    came: Timestamp,
    /// The number of bytes.
    pub(super) bytes: u64,
}

#[derive(Debug, Default)]
struct ReaderCounts {
    held: AtomicUsize,
    left_out: AtomicU64,
    garbled: AtomicU64,
    gave_up: AtomicBool,
}

/// The running reader.
#[derive(Debug)]
pub(super) struct Reader {
    heard: Receiver<Heard>,
    shared: Arc<ReaderCounts>,
    socket: Arc<Socket>,
    thread: Option<JoinHandle<()>>,
}

/// The reader's next item.
pub(super) enum ReaderItem {
    Heard(Heard),
    /// The time was over before an answer came.
    Nothing,
    /// The server closed the connection.
    End,
}

impl Reader {
    /// Reads from `socket`, of which `limit` bytes may wait to be taken.
    /// The watchdog, if there is one, is told of each read by `pulse`.
    pub(super) fn start(
        socket: Socket,
        limit: usize,
        pulse: Option<Pulse>,
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

    /// Returns the next item, and waits for it at most `patience`.
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

    /// Bytes in which no answer could be told from the next.
    pub(super) fn garbled(&self) -> u64 {
        self.shared.garbled.load(Ordering::Relaxed)
    }

    /// True if the reader ended because nothing could be read.
    pub(super) fn gave_up(&self) -> bool {
        self.shared.gave_up.load(Ordering::Relaxed)
    }

    /// The number of bytes left out because earlier data was not taken.
    pub(super) fn left_out(&self) -> u64 {
        self.shared.left_out.load(Ordering::Relaxed)
    }
}

impl Reader {
    /// Ends the connection to the server. Data that has been read can still be taken.
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
    mut pulse: Option<Pulse>,
) {
    let mut room = vec![0; ROOM];
    let mut came = BytesMut::new();
    let mut answers = AnswerFinder::default();
    // Since when the first answer is not whole.
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
            // X.Org's RECORD sometimes loses bytes, for example of a long reply, and fills the length with the next
            // answers. The first whole answer follows somewhere after.
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

/// Passes the whole answers that have come, where there is room; false if no client takes them any more.
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

/// The fields that all answers on the connection share. They mark where an answer begins.
#[derive(Debug, Default)]
struct AnswerFinder {
    /// The sequence number of the request that all replies answer, as on the wire.
    request: Option<[u8; 2]>,
}

impl AnswerFinder {
    /// The length of the whole answers at the start of `came`, and true if other bytes follow them.
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

    /// True if an answer begins with `bytes`: RECORD's reply, an error, or MappingNotify, which all clients get.
    fn begins(&mut self, bytes: &[u8]) -> bool {
        const MAPPING_NOTIFY: u8 = 34;
        // All are replies to one request; their categories end with 5, and only a client's order can be swapped.
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

    /// The offset of the next reply after garbled bytes. Without one, the offset of the last bytes in which a reply may
    /// begin.
    fn next(&mut self, came: &[u8]) -> usize {
        let mut places = 1..came.len().saturating_sub(elements::HEADER - 1);
        let found = places.find(|at| {
            let rest = came.get(*at..).unwrap_or_default();
            rest.first() == Some(&1) && self.begins(rest)
        });
        found.unwrap_or(came.len().saturating_sub(elements::HEADER - 1).max(1))
    }

    /// True if the bytes are too few to tell an answer from garbled bytes.
    fn is_unsure(&self, came: &[u8]) -> bool {
        came.len() < elements::HEADER
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{AnswerFinder, Reader, ReaderItem};
    use crate::sockets::socket::Socket;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn after_lost_bytes_answers_begin_anew() {
        let answer = |units: u32| {
            let mut answer = [0; 40];
            (answer[0], answer[2]) = (1, 7);
            answer[4..8].copy_from_slice(&units.to_ne_bytes());
            answer
        };
        // The second reply states too great a length: it swallows the third and a part of the fourth.
        let mut came = answer(2).to_vec();
        came.extend(answer(17));
        (0..4).for_each(|_| came.extend(answer(2)));
        let mut answers = AnswerFinder::default();
        let (whole, is_garbled) = answers.whole(&came);
        assert_eq!((whole, is_garbled), (40 + 100, true));
        let next = answers.next(&came[whole..]);
        assert_eq!((whole + next) % 40, 0);
        assert_eq!(answers.whole(&came[whole + next..]), (80, false));
        // No answer begins here: all bytes but the last few are skipped.
        assert_eq!(answers.next(&[9; 100]), 69);
    }

    #[test]
    fn zeros_are_no_answers() {
        assert_eq!(AnswerFinder::default().whole(&[0; 100]), (0, true));
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
        // Without an answer the reader ends.
        while server.write_all(&[0; 64]).is_ok() && !reader.gave_up() {
            std::thread::yield_now();
        }
        assert!(matches!(reader.next(PATIENCE), ReaderItem::End));
    }

    #[test]
    fn whole_answers_are_handed_on_and_what_is_too_much_is_counted() {
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
        // One is held, the next has no room.
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
