//! The thread that reads what the server tells. It waits for nobody: where what it has read is not taken,
//! it leaves whole answers out and counts them. A server that nobody reads from keeps it all in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use x11prof_trace::Timestamp;

use super::elements;
use crate::clock;
use crate::socket::{Socket, Wait};

/// What is read at once.
const ROOM: usize = 256 << 10;
/// How long the reader rests after it has read. A server that writes to a sleeping reader wakes it, which costs the
/// server more than the telling; meanwhile it just writes.
const REST: Duration = Duration::from_millis(1);
/// The longest answer: the longest request of a server with BIG-REQUESTS is 16 MiB.
const LONGEST: usize = 64 << 20;

/// Whole answers that were read at once.
#[derive(Debug)]
pub(super) struct Heard {
    /// When they had come.
    pub(super) time: Timestamp,
    /// The answers, one after the other.
    pub(super) answers: Bytes,
}

#[derive(Debug, Default)]
struct Shared {
    held: AtomicUsize,
    left_out: AtomicU64,
}

/// The running reader.
#[derive(Debug)]
pub(super) struct Reader {
    heard: Receiver<Heard>,
    shared: Arc<Shared>,
    socket: Arc<Socket>,
    thread: Option<JoinHandle<()>>,
}

/// What the reader has.
pub(super) enum Next {
    Heard(Heard),
    /// Nothing came in time.
    Nothing,
    /// The server closed the connection.
    End,
}

impl Reader {
    /// Reads from `socket`, of which `limit` bytes may wait to be taken.
    pub(super) fn start(socket: Socket, limit: usize) -> std::io::Result<Reader> {
        let (sender, heard) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let socket = Arc::new(socket);
        let (same, counts) = (Arc::clone(&socket), Arc::clone(&shared));
        let thread = Builder::new()
            .name("x11prof-attach".to_owned())
            .spawn(move || read(&same, &sender, &counts, limit))?;
        Ok(Reader {
            heard,
            shared,
            socket,
            thread: Some(thread),
        })
    }

    /// What came, for which it waits at most `patience`.
    pub(super) fn next(&self, patience: Duration) -> Next {
        match self.heard.recv_timeout(patience) {
            Ok(heard) => {
                let held = heard.answers.len();
                self.shared.held.fetch_sub(held, Ordering::Relaxed);
                Next::Heard(heard)
            }
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }

    /// Bytes that were left out because what came before was not taken.
    pub(super) fn left_out(&self) -> u64 {
        self.shared.left_out.load(Ordering::Relaxed)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.socket.shut_down();
        if let Some(thread) = self.thread.take() {
            // It has nothing left to tell.
            let _ = thread.join();
        }
    }
}

fn read(socket: &Socket, sender: &Sender<Heard>, shared: &Shared, limit: usize) {
    let mut room = vec![0; ROOM];
    let mut came = BytesMut::new();
    loop {
        let read = match socket.receive(&mut room, Wait::Yes) {
            Ok((0, _)) | Err(_) => return,
            Ok((read, _)) => read,
        };
        let time = clock::now();
        let is_full = read == room.len();
        came.extend_from_slice(room.get(..read).unwrap_or_default());
        let Some(whole) = whole(&came) else { return };
        if whole > 0 && !hand_on(&mut came, whole, time, sender, shared, limit) {
            return;
        }
        if !is_full {
            std::thread::sleep(REST);
        }
    }
}

/// Hands on the whole answers that have come, where there is room; false where nobody takes them any more.
fn hand_on(
    came: &mut BytesMut,
    whole: usize,
    time: Timestamp,
    sender: &Sender<Heard>,
    shared: &Shared,
    limit: usize,
) -> bool {
    if shared.held.load(Ordering::Relaxed) + whole > limit {
        shared.left_out.fetch_add(whole as u64, Ordering::Relaxed);
        came.advance(whole);
        return true;
    }
    shared.held.fetch_add(whole, Ordering::Relaxed);
    let answers = came.split_to(whole).freeze();
    sender.send(Heard { time, answers }).is_ok()
}

/// How many bytes whole answers take at the start of `came`; `None` where that is no X server's.
fn whole(came: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(len) = came.get(at..).and_then(elements::length) {
        // All replies here are RECORD's, whose categories end with 5. Events of all clients come too.
        let is_none = matches!(came.get(at..), Some([1, category, ..]) if *category > 5);
        if len > LONGEST || is_none {
            return None;
        }
        if came.len() - at < len {
            break;
        }
        at += len;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{Next, Reader};
    use crate::socket::Socket;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn whole_answers_are_handed_on_and_what_is_too_much_is_counted() {
        let (mut server, ours) = UnixStream::pair().unwrap();
        let reader = Reader::start(Socket::new(ours).unwrap(), 40).unwrap();
        let mut answer = [0; 40];
        answer[0] = 1;
        answer[4..8].copy_from_slice(&2_u32.to_ne_bytes());
        server.write_all(&answer[..33]).unwrap();
        assert!(matches!(
            reader.next(Duration::from_millis(20)),
            Next::Nothing
        ));
        server.write_all(&answer[33..]).unwrap();
        let Next::Heard(heard) = reader.next(PATIENCE) else {
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
        assert!(matches!(reader.next(PATIENCE), Next::Heard(_)));
        assert!(matches!(reader.next(PATIENCE), Next::End));
        assert_eq!(reader.left_out(), 40);
    }
}
