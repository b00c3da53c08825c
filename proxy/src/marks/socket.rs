//! The socket of a recorder that `x11prof mark` finds by the display's name.

use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thiserror::Error;
use x11prof_trace::Control;

use crate::clock;
use crate::display::display_name::{DisplayName, DisplayNameError, Endpoint};
use crate::private_dir;
use crate::recorder::client_processes::ClientProcesses;
use crate::recorder::record_queue::RecordSender;

/// Maximum length of a mark's text in bytes.
const TEXT: u64 = 4096;
/// The time limit of a recorder for each read and write on the socket.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time limit of its peer. A recorder that is stopped, as by Ctrl-Z, does not reply.
const REPLY_PATIENCE: Duration = Duration::from_secs(2);
/// The request of another recorder for the clients' process ids. No mark can have this text, because arguments of a
/// program contain no NUL.
const CLIENTS: &str = "\0clients";
/// Maximum length of another recorder's list of clients, in bytes.
const MOST_CLIENTS: u64 = 1 << 20;
/// The recorder's reply to a mark.
const TAKEN: &[u8] = b"taken\n";
/// The pause after a failed accept.
const REST: Duration = Duration::from_millis(100);
/// Maximum number of concurrent connections. Each may be idle until `PATIENCE` has passed.
const AT_A_TIME: usize = 64;

/// The reason why no mark was set.
#[derive(Debug, Error)]
pub enum MarkError {
    /// The name of the display is not valid.
    #[error(transparent)]
    Display(#[from] DisplayNameError),
    /// This user records no session on the display with this name.
    #[error(
        "display {0} is not being recorded by this user; begin with `x11prof record`, or name another with --display"
    )]
    NotRecorded(String),
    /// A recorder of the display did not accept the mark.
    #[error(
        "the recorder of display {0} accepts no mark: it has too many requests, or it is ending; try again"
    )]
    Busy(String),
}

/// Sets a mark with this text in each recording of `display` that this user runs. `display` is the
/// display to which the clients or the recorder connect; both are accepted. Returns the number of marked recordings.
///
/// # Errors
/// Fails if there is no such recording, or if none accepts the mark.
pub fn mark(display: &str, text: &str) -> Result<usize, MarkError> {
    let name = DisplayName::parse(display)?;
    let file = file_name(&name);
    let text = text.get(..text.floor_char_boundary(TEXT as usize));
    let (mut marked, mut failed) = (0, MarkError::NotRecorded(display.to_owned()));
    for dir in private_dir::all() {
        match put(&dir.join(&file), text.unwrap_or_default()).map_err(|error| error.kind()) {
            Ok(()) => marked += 1,
            Err(io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {}
            Err(_) => failed = MarkError::Busy(display.to_owned()),
        }
    }
    match marked {
        0 => Err(failed),
        marked => Ok(marked),
    }
}

/// The clients of `display` that recorders of this user relay: first resource id, and process id if it is known. The
/// server only sees the recorder's process. Empty if the name of the display is not valid.
pub fn relayed_clients(display: &str) -> Vec<(u32, Option<u32>)> {
    let Ok(name) = DisplayName::parse(display) else {
        return Vec::new();
    };
    clients_of(&name)
}

pub(crate) fn clients_of(display: &DisplayName) -> Vec<(u32, Option<u32>)> {
    let file = file_name(display);
    let mut clients = Vec::new();
    for dir in private_dir::all() {
        let reply = request(&dir.join(&file), CLIENTS, MOST_CLIENTS).unwrap_or_default();
        clients.extend(ClientProcesses::of_text(&String::from_utf8_lossy(&reply)));
    }
    clients
}

fn put(socket: &Path, text: &str) -> io::Result<()> {
    match request(socket, text, TAKEN.len() as u64)? == TAKEN {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Sends `text` to a recorder, and returns its reply of at most `longest` bytes.
fn request(socket: &Path, text: &str, longest: u64) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(REPLY_PATIENCE))?;
    stream.set_write_timeout(Some(REPLY_PATIENCE))?;
    stream.write_all(text.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut reply = Vec::new();
    stream.take(longest).read_to_end(&mut reply)?;
    Ok(reply)
}

/// The name of a display's socket.
fn file_name(display: &DisplayName) -> String {
    let place = match display.endpoint() {
        Endpoint::Local => String::new(),
        Endpoint::Path(path) => path.to_string_lossy().replace('/', "_"),
        Endpoint::Tcp { host } => host.replace('/', "_"),
    };
    format!("mark-{place}:{}", display.number())
}

/// Listens for marks on the recorder's socket until dropped.
#[derive(Debug)]
pub(super) struct Listening {
    path: PathBuf,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// Listens in `dir`, which only this user can access, for marks on the displays `names`.
    pub(super) fn start(
        dir: &Path,
        names: &[&DisplayName],
        sender: RecordSender,
        clients: Arc<ClientProcesses>,
    ) -> io::Result<Listening> {
        let mut files: Vec<String> = names.iter().map(|name| file_name(name)).collect();
        files.dedup();
        let (first, others) = files.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let path = dir.join(first);
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        for other in others {
            symlink(first, dir.join(other))?;
        }
        let over = Arc::new(AtomicBool::new(false));
        let reported = Arc::clone(&over);
        let thread = std::thread::Builder::new()
            .name("x11prof-marks".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    if reported.load(Ordering::Acquire) {
                        return;
                    }
                    let room = Arc::strong_count(&reported) < AT_A_TIME;
                    let (sender, clients) = (sender.clone(), Arc::clone(&clients));
                    let here = Arc::clone(&reported);
                    let begun = stream.and_then(|stream| {
                        let one = std::thread::Builder::new().name("x11prof-mark".to_owned());
                        let taking = move || {
                            // A peer that sends no text sets no mark.
                            let _ = take(&stream, &sender, &clients);
                            drop(here);
                        };
                        if room {
                            one.spawn(taking).map(drop)
                        } else {
                            Ok(())
                        }
                    });
                    if begun.is_err() {
                        std::thread::sleep(REST);
                    }
                }
            })?;
        Ok(Listening {
            path,
            over,
            thread: Some(thread),
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // The thread waits for a peer, so this connection wakes it. If the socket cannot be reached, the thread ends
        // with the process.
        if UnixStream::connect(&self.path).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// Reads a mark and records it with the time of its arrival, or replies to another recorder's request.
fn take(
    mut stream: &UnixStream,
    sender: &RecordSender,
    clients: &ClientProcesses,
) -> io::Result<()> {
    let now = clock::now();
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut text = Vec::new();
    stream.take(TEXT).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut peer = [PollFd::new(stream, PollFlags::empty())];
    poll(&mut peer, Some(&Timespec::default()))?;
    if text.is_empty() && peer[0].revents().contains(PollFlags::HUP) {
        return Ok(());
    }
    if text == CLIENTS {
        return stream.write_all(clients.to_text().as_bytes());
    }
    sender.control(now, Control::Mark { text });
    stream.write_all(TAKEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::record_queue::record_queue;
    use x11prof_trace::Record;

    #[test]
    fn marks_arrive_by_each_display_name_until_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, drain) = record_queue(1 << 20, false);
        let clients = Arc::new(ClientProcesses::default());
        clients.insert(5, Some(50));
        let names = [":7", "far:0"].map(|name| DisplayName::parse(name).unwrap());
        let listening =
            Listening::start(dir.path(), &names.each_ref(), sender.clone(), clients).unwrap();
        let socket = |name: &DisplayName| dir.path().join(file_name(name));
        let mode = std::fs::metadata(socket(&names[0])).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        let reply = request(&socket(&names[1]), CLIENTS, MOST_CLIENTS).unwrap();
        assert_eq!(reply, b"5 50\n");
        put(&socket(&names[0]), "slow").unwrap();
        put(&socket(&names[1]), "again").unwrap();
        drop(listening);
        assert!(put(&socket(&names[0]), "too late").is_err());
        sender.close();
        let (mut entries, mut texts) = (Vec::new(), Vec::new());
        while drain.take(&mut entries, Duration::ZERO) {
            texts.extend(entries.drain(..).filter_map(|entry| match entry {
                Record::Control(_, Control::Mark { text }) => Some(text),
                _ => None,
            }));
        }
        assert_eq!(texts, ["slow", "again"]);
    }

    #[test]
    fn silent_connections_do_not_block_marks() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, _drain) = record_queue(1 << 20, false);
        let name = DisplayName::local(7);
        let _listening = Listening::start(dir.path(), &[&name], sender, Arc::default()).unwrap();
        let socket = dir.path().join(file_name(&name));
        drop(UnixStream::connect(&socket).unwrap());
        let _silent: Vec<_> = (0..20).map(|_| UnixStream::connect(&socket)).collect();
        put(&socket, "here").unwrap();
    }

    #[test]
    fn closed_connections_set_no_empty_marks() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, drain) = record_queue(1 << 20, false);
        let name = DisplayName::local(7);
        let listening =
            Listening::start(dir.path(), &[&name], sender.clone(), Arc::default()).unwrap();
        let socket = dir.path().join(file_name(&name));
        for _ in 0..20 {
            drop(UnixStream::connect(&socket).unwrap());
        }
        put(&socket, "").unwrap();
        // The threads of the connections have ended.
        while Arc::strong_count(&listening.over) > 2 {
            std::thread::yield_now();
        }
        drop(listening);
        sender.close();
        let (mut entries, mut marks) = (Vec::new(), 0);
        while drain.take(&mut entries, Duration::ZERO) {
            marks += entries.drain(..).count();
        }
        assert_eq!(marks, 1);
    }
}
