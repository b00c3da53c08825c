//! A display server: a relay in front of Xvfb that changes, drops, swaps or rejects one message. `x11prof diverge`
//! must find the difference.
//!
//! `altering_relay CHANGE [arguments of x11prof's --server-command]`, where CHANGE is one of
//! `reply:MAJOR:MINOR:N:OFFSET` (flips the lowest bit of a byte of the Nth reply), `error:MAJOR:MINOR:N` (an error
//! instead of the reply), `hang:MAJOR:MINOR:N` (no reply and nothing after it), `die:MAJOR:MINOR:N` (the server ends
//! instead), `drop:EVENT:N`, `swap:EVENT:N` (with the event after it), `flood:EVENT:N` (100,000 times), `extension:NAME`
//! (absent), `none`.
//! MINOR is 0 for core requests. An extension's MAJOR is its name. EVENT is the code of an event, or for a generic event
//! `EXTENSION/TYPE`. The relay creates the file in the environment variable `ALTERED` when it makes the change.
#![allow(clippy::expect_used, reason = "a test program that cannot go on fails")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

#[derive(Clone)]
enum Change {
    Reply(String, u8, u32, usize),
    Error(String, u8, u32),
    Hang(String, u8, u32),
    Die(String, u8, u32),
    Drop(String, u32),
    Swap(String, u32),
    Flood(String, u32),
    Extension(String),
    None,
}

fn change(text: &str) -> Change {
    let mut words = text.split(':');
    let kind = words.next().expect("a kind");
    let mut name = || words.next().unwrap_or("0").to_owned();
    let number = |text: String| text.parse::<u32>().expect("a number");
    match kind {
        "reply" => {
            let (major, minor, n) = (name(), number(name()) as u8, number(name()));
            Change::Reply(major, minor, n, number(name()) as usize)
        }
        "error" => Change::Error(name(), number(name()) as u8, number(name())),
        "hang" => Change::Hang(name(), number(name()) as u8, number(name())),
        "die" => Change::Die(name(), number(name()) as u8, number(name())),
        "drop" => Change::Drop(name(), number(name())),
        "swap" => Change::Swap(name(), number(name())),
        "flood" => Change::Flood(name(), number(name())),
        "extension" => Change::Extension(name()),
        "none" => Change::None,
        other => panic!("unknown change {other}"),
    }
}

/// State that both directions of a connection share.
#[derive(Default)]
struct Shared {
    /// By sequence number modulo 2^16: major, minor, the extension name in a QueryExtension request.
    requests: HashMap<u16, (u8, u8, String)>,
    majors: HashMap<u8, String>,
    seen: u32,
}

fn main() {
    let mut words = std::env::args().skip(1);
    let change = change(&words.next().expect("a change"));
    let rest: Vec<String> = words.collect();
    let at = rest.iter().position(|word| word == "-displayfd");
    let at = at.expect("started by --server-command");
    let out: i32 = rest[at + 1].parse().expect("a descriptor");
    let more: Vec<&String> = rest[..at].iter().chain(&rest[at + 2..]).collect();
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "1280x1024x24"])
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .expect("Xvfb");
    let mut display = String::new();
    let stdout = server.stdout.take().expect("its output");
    io::BufRead::read_line(&mut io::BufReader::new(stdout), &mut display).expect("its display");
    let behind = format!("/tmp/.X11-unix/X{}", display.trim());
    let (number, listener) = (200..)
        .find_map(|number| {
            let path = format!("/tmp/.X11-unix/X{number}");
            Some((number, UnixListener::bind(path).ok()?))
        })
        .expect("a free display");
    #[allow(
        unsafe_code,
        reason = "the descriptor is the parent's, for this program"
    )]
    // SAFETY: nothing else in this program owns the descriptor.
    let mut out = File::from(unsafe { OwnedFd::from_raw_fd(out) });
    writeln!(out, "{number}").expect("the parent reads");
    drop(out);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = UnixStream::connect(&behind).expect("Xvfb listens");
            relay(client, server, change.clone());
        }
    });
    // On a signal the relay stops Xvfb, and exits when Xvfb exits.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).expect("signals");
    let pid = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a process");
    std::thread::spawn(move || {
        signals.forever().next();
        let _ = kill_process(pid, Signal::TERM);
    });
    #[allow(clippy::let_underscore_must_use, reason = "either way it is over")]
    let _ = server.wait();
    let _ = std::fs::remove_file(format!("/tmp/.X11-unix/X{number}"));
}

fn relay(client: UnixStream, server: UnixStream, change: Change) {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let (from, to) = (
        client.try_clone().expect("a descriptor"),
        server.try_clone().expect("a descriptor"),
    );
    let requests = Arc::clone(&shared);
    std::thread::spawn(move || {
        let mut framer = Requests::new(requests);
        copy(&from, &to, |bytes| framer.take(bytes));
    });
    std::thread::spawn(move || {
        let mut framer = Answers {
            shared,
            change,
            held: Vec::new(),
            swapped: None,
            setup: true,
            hangs: false,
        };
        copy(&server, &client, |bytes| framer.take(bytes));
    });
}

/// Copies bytes and descriptors until one side ends.
fn copy(from: &UnixStream, to: &UnixStream, mut change: impl FnMut(&[u8]) -> Vec<u8>) {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let read = recvmsg(
            from,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        );
        let count = match read {
            Ok(read) if read.bytes > 0 => read.bytes,
            _ => break,
        };
        let fds: Vec<OwnedFd> = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(fds) => Some(fds),
                _ => None,
            })
            .flatten()
            .collect();
        let out = change(&bytes[..count]);
        if send(to, &out, &fds).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}

fn send(to: &UnixStream, mut bytes: &[u8], fds: &[OwnedFd]) -> io::Result<()> {
    let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    let mut rights = &borrowed[..];
    while !bytes.is_empty() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !rights.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(rights));
        }
        let sent = sendmsg(
            to,
            &[IoSlice::new(bytes)],
            &mut ancillary,
            SendFlags::NOSIGNAL,
        )?;
        (bytes, rights) = (&bytes[sent..], &[]);
    }
    Ok(())
}

/// Splits the client's stream into requests by their lengths.
struct Requests {
    shared: Arc<Mutex<Shared>>,
    held: Vec<u8>,
    sequence: u16,
    setup: bool,
}

impl Requests {
    fn new(shared: Arc<Mutex<Shared>>) -> Requests {
        Requests {
            shared,
            held: Vec::new(),
            sequence: 0,
            setup: true,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let u16_at =
            |held: &[u8], at: usize| usize::from(u16::from_le_bytes([held[at], held[at + 1]]));
        loop {
            let held = &self.held;
            let length = match held.len() {
                ..12 if self.setup => break,
                ..8 if !self.setup && (held.len() < 4 || u16_at(held, 2) == 0) => break,
                _ if self.setup => {
                    12 + u16_at(held, 6).next_multiple_of(4) + u16_at(held, 8).next_multiple_of(4)
                }
                _ => match u16_at(held, 2) {
                    0 => 4 * u32::from_le_bytes([held[4], held[5], held[6], held[7]]) as usize,
                    words => 4 * words,
                },
            };
            if held.len() < length {
                break;
            }
            if !self.setup {
                self.sequence = self.sequence.wrapping_add(1);
                let name = match held[0] {
                    98 => String::from_utf8_lossy(&held[8..8 + u16_at(held, 4)]).into_owned(),
                    _ => String::new(),
                };
                let mut shared = self.shared.lock().expect("no panic");
                shared
                    .requests
                    .insert(self.sequence, (held[0], held[1], name));
            }
            self.setup = false;
            self.held.drain(..length);
        }
        bytes.to_vec()
    }
}

/// Splits the server's stream into replies, events and errors, and makes the change.
struct Answers {
    shared: Arc<Mutex<Shared>>,
    change: Change,
    held: Vec<u8>,
    swapped: Option<Vec<u8>>,
    setup: bool,
    /// True after a reply that never arrives.
    hangs: bool,
}

impl Answers {
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let mut out = Vec::new();
        loop {
            let held = &self.held;
            let length = match held.len() {
                0..8 => break,
                _ if self.setup => 8 + 4 * usize::from(u16::from_le_bytes([held[6], held[7]])),
                8..32 => break,
                _ if held[0] == 1 || held[0] & 127 == 35 => {
                    32 + 4 * u32::from_le_bytes([held[4], held[5], held[6], held[7]]) as usize
                }
                _ => 32,
            };
            if held.len() < length {
                break;
            }
            let message: Vec<u8> = self.held.drain(..length).collect();
            if std::mem::take(&mut self.setup) {
                out.extend(message);
            } else {
                self.message(message, &mut out);
            }
        }
        out
    }

    fn message(&mut self, mut message: Vec<u8>, out: &mut Vec<u8>) {
        let mut shared = self.shared.lock().expect("no panic");
        let sequence = u16::from_le_bytes([message[2], message[3]]);
        let request = shared.requests.get(&sequence).cloned();
        if message[0] == 1
            && let Some((major, minor, name)) = request
        {
            if major == 98 && message[8] == 1 {
                shared.majors.insert(message[9], name.clone());
            }
            let is = |shared: &mut Shared, wanted: &str, wanted_minor: u8, n: u32| {
                let named = shared.majors.get(&major).map(String::as_str);
                let matches = match wanted.parse::<u8>() {
                    Ok(core) => major == core,
                    Err(_) => named == Some(wanted) && minor == wanted_minor,
                };
                shared.seen += u32::from(matches);
                matches && shared.seen == n
            };
            match &self.change {
                Change::Reply(wanted, wanted_minor, n, offset)
                    if is(&mut shared, wanted, *wanted_minor, *n) =>
                {
                    altered();
                    message[*offset] ^= 1;
                }
                Change::Error(wanted, wanted_minor, n)
                    if is(&mut shared, wanted, *wanted_minor, *n) =>
                {
                    altered();
                    let number = message[2..4].to_vec();
                    message = vec![0; 32];
                    // BadImplementation.
                    message[1] = 17;
                    message[2..4].copy_from_slice(&number);
                    (message[8], message[10]) = (minor, major);
                }
                Change::Hang(wanted, wanted_minor, n)
                    if is(&mut shared, wanted, *wanted_minor, *n) =>
                {
                    self.hangs = true;
                }
                Change::Die(wanted, wanted_minor, n)
                    if is(&mut shared, wanted, *wanted_minor, *n) =>
                {
                    self.hangs = true;
                    kill_process(rustix::process::getpid(), Signal::TERM).expect("a signal");
                }
                Change::Extension(wanted) if *wanted == name && major == 98 => {
                    altered();
                    message[8..12].fill(0);
                }
                _ => {}
            }
        } else if message[0] > 1 {
            let event = event(&message, &shared.majors);
            match &self.change {
                Change::Drop(wanted, n) | Change::Swap(wanted, n) if *wanted == event => {
                    shared.seen += 1;
                    if shared.seen == *n {
                        match self.change {
                            Change::Swap(..) => self.swapped = Some(message),
                            _ => altered(),
                        }
                        return;
                    }
                }
                Change::Flood(wanted, n) if *wanted == event => {
                    shared.seen += 1;
                    if shared.seen == *n {
                        out.extend(message.repeat(99_999));
                    }
                }
                _ => {}
            }
        }
        if self.hangs {
            return;
        }
        let is_event = message[0] > 1;
        let sequence = [message[2], message[3]];
        out.extend(message);
        if is_event && let Some(mut swapped) = self.swapped.take() {
            altered();
            // Sequence numbers must not decrease.
            swapped[2..4].copy_from_slice(&sequence);
            out.extend(swapped);
        }
    }
}

/// Reports that a client receives the change.
fn altered() {
    if let Some(path) = std::env::var_os("ALTERED") {
        File::create(path).expect("a file");
    }
}

/// The name of an event in a change.
fn event(message: &[u8], majors: &HashMap<u8, String>) -> String {
    match (message[0] & 127, majors.get(&message[1])) {
        (35, Some(extension)) => {
            format!(
                "{extension}/{}",
                u16::from_le_bytes([message[8], message[9]])
            )
        }
        (code, _) => code.to_string(),
    }
}
