//! Tests that the relay passes bytes unchanged, and descriptors in order and at their positions.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use proptest::collection::vec;
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::*;
use crate::recorder::client_processes::ClientProcesses;
use crate::recorder::images::ImageRequests;
use crate::recorder::record_queue::{DEFAULT_QUEUE_BYTES, RecordReceiver, memory, record_queue};
use x11prof_trace::{ConnectionId, Record};

/// A message of an application: its length in bytes, and the number of descriptors at the first byte.
#[derive(Debug, Clone)]
struct Sent {
    len: usize,
    fds: usize,
}

fn messages() -> impl Strategy<Value = Vec<Sent>> {
    let message = (1..6000_usize, prop_oneof![4 => Just(0), 1 => 1..4_usize])
        .prop_map(|(len, fds)| Sent { len, fds });
    vec(message, 0..40)
}

/// A byte of a test stream. Any shift or swap changes the stream.
fn byte(seed: u8, at: usize) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ seed
}

/// A file descriptor whose file contains `number`.
pub(super) fn numbered(number: u32) -> OwnedFd {
    let fd = memfd_create("relay", MemfdFlags::CLOEXEC).unwrap();
    let mut file = File::from(fd);
    file.write_all(&number.to_ne_bytes()).unwrap();
    file.into()
}

pub(super) fn number(fd: OwnedFd) -> u32 {
    let mut bytes = [0; 4];
    File::from(fd).read_exact_at(&mut bytes, 0).unwrap();
    u32::from_ne_bytes(bytes)
}

fn sender(socket: UnixStream, messages: Vec<Sent>, seed: u8) -> JoinHandle<UnixStream> {
    thread::spawn(move || {
        let (mut at, mut count) = (0, 0);
        for message in messages {
            let bytes: Vec<u8> = (at..at + message.len).map(|at| byte(seed, at)).collect();
            let fds: Vec<OwnedFd> = (count..).take(message.fds).map(numbered).collect();
            count += message.fds as u32;
            let mut fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
            let mut done = 0;
            while done < bytes.len() {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
                let mut control = SendAncillaryBuffer::new(&mut space);
                assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(&fds)));
                let rest = [IoSlice::new(&bytes[done..])];
                done += sendmsg(&socket, &rest, &mut control, SendFlags::NOSIGNAL).unwrap();
                fds.clear();
            }
            at += bytes.len();
        }
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        socket
    })
}

/// The received bytes, and the number of each descriptor with the start of the read that delivered it.
type Got = (Vec<u8>, Vec<(u32, usize)>);

fn receiver(socket: UnixStream, step: usize) -> JoinHandle<Got> {
    thread::spawn(move || {
        let (mut bytes, mut fds) = (Vec::new(), Vec::new());
        let mut room = vec![0; step];
        loop {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(&mut room)];
            let got = recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
            for part in control.drain() {
                if let RecvAncillaryMessage::ScmRights(rights) = part {
                    fds.extend(rights.map(|fd| (number(fd), bytes.len())));
                }
            }
            if got.bytes == 0 {
                return (bytes, fds);
            }
            bytes.extend(&room[..got.bytes]);
        }
    })
}

fn check(messages: &[Sent], seed: u8, (bytes, fds): &Got) {
    let total = messages.iter().map(|message| message.len).sum();
    let expected: Vec<u8> = (0..total).map(|at| byte(seed, at)).collect();
    assert_eq!(bytes, &expected);
    let (mut at, mut sent_at) = (0, Vec::new());
    for message in messages {
        sent_at.extend(std::iter::repeat_n(at, message.fds));
        at += message.len;
    }
    assert_eq!(fds.len(), sent_at.len());
    for (n, ((number, got_at), sent_at)) in fds.iter().zip(sent_at).enumerate() {
        assert_eq!(*number as usize, n, "order");
        assert!(
            *got_at <= sent_at,
            "descriptor {n} came late: {got_at} > {sent_at}"
        );
    }
}

/// Runs a relay between two sockets, with a queue of `limit` bytes. Returns the queue's receiving end and the thread
/// with the relay's result.
pub(super) fn relay(
    client: UnixStream,
    server: UnixStream,
    limit: usize,
    full: bool,
) -> (RecordReceiver, JoinHandle<(ConnectionEnd, u64)>) {
    let (recorder, drain) = record_queue(limit, full);
    let run = thread::spawn(move || {
        let (kept, buffers) = (std::cell::RefCell::default(), LargeBuffers::default());
        let images = ImageRequests::default();
        let processes = ClientProcesses::default();
        let ended = std::cell::Cell::new(None);
        let (news, source) = event_loop::event_source().unwrap();
        news.send([client, server]);
        let begin = |sockets: [UnixStream; 2]| {
            let id = ConnectionId(1);
            let copy = ConnectionRecorder::new(id, &recorder, &kept, images, &processes, None);
            let [client, server] = sockets.map(|socket| Arc::new(Socket::new(socket).unwrap()));
            (
                (),
                Relay::new([&client, &server], copy, &buffers, None, None),
            )
        };
        event_loop::run(source, begin, |(), relay, end| {
            ended.set(Some((end, relay.bytes())));
            news.close();
        });
        recorder.close();
        ended.take().unwrap()
    });
    (drain, run)
}

/// Removes all records from the queue. Returns the recorded bytes of each direction.
fn tapped(drain: &RecordReceiver) -> [Vec<u8>; 2] {
    let (mut entries, mut streams) = (Vec::new(), [Vec::new(), Vec::new()]);
    while drain.take(&mut entries, Duration::from_millis(10)) {
        for entry in &entries {
            drain.release(memory(entry));
            if let Record::Block(block) = entry {
                let [to_server, to_client] = &mut streams;
                match block.direction {
                    Direction::ToServer => to_server.extend_from_slice(&block.bytes),
                    Direction::ToClient => to_client.extend_from_slice(&block.bytes),
                }
            }
        }
    }
    streams
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn bytes_and_descriptors_are_relayed_unchanged(
        requests in messages(),
        answers in messages(),
        (read_by_server, read_by_client) in (1..5000_usize, 1..5000_usize),
        small_buffers: bool,
        small_queue: bool,
    ) {
        let (client, client_side) = UnixStream::pair().unwrap();
        let (server, server_side) = UnixStream::pair().unwrap();
        if small_buffers {
            for socket in [&client, &client_side, &server, &server_side] {
                set_socket_send_buffer_size(socket, 1).unwrap();
            }
        }
        let limit = if small_queue { 5000 } else { DEFAULT_QUEUE_BYTES };
        let (drain, run) = relay(client_side, server_side, limit, true);
        let threads = (
            receiver(server.try_clone().unwrap(), read_by_server),
            receiver(client.try_clone().unwrap(), read_by_client),
            sender(client, requests.clone(), 1),
            sender(server, answers.clone(), 2),
        );
        let [to_server, to_client] = tapped(&drain);
        let (at_server, at_client) = (threads.0.join().unwrap(), threads.1.join().unwrap());
        check(&requests, 1, &at_server);
        check(&answers, 2, &at_client);
        prop_assert_eq!(&to_server, &at_server.0);
        prop_assert_eq!(&to_client, &at_client.0);
        let (end, relayed) = run.join().unwrap();
        prop_assert_eq!(relayed, (to_server.len() + to_client.len()) as u64);
        prop_assert!(end.error.is_none());
    }
}

#[test]
fn one_direction_continues_after_the_other_ends() {
    let (mut client, client_side) = UnixStream::pair().unwrap();
    let (mut server, server_side) = UnixStream::pair().unwrap();
    let (_drain, run) = relay(client_side, server_side, DEFAULT_QUEUE_BYTES, true);
    client.write_all(b"last request").unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut got = String::new();
    server.read_to_string(&mut got).unwrap();
    assert_eq!(got, "last request");
    server.write_all(b"last answer").unwrap();
    drop(server);
    let mut got = String::new();
    client.read_to_string(&mut got).unwrap();
    assert_eq!(got, "last answer");
    assert_eq!(run.join().unwrap().0.by, EndedBy::Client);
}

#[test]
fn client_disconnect_closes_the_server_connection() {
    let (mut client, client_side) = UnixStream::pair().unwrap();
    let (mut server, server_side) = UnixStream::pair().unwrap();
    let (_drain, run) = relay(client_side, server_side, DEFAULT_QUEUE_BYTES, true);
    client.write_all(b"something").unwrap();
    drop(client);
    let mut got = String::new();
    server.read_to_string(&mut got).unwrap();
    assert_eq!(got, "something");
    assert_eq!(run.join().unwrap().0.by, EndedBy::Client);
    assert!(server.write_all(b"too late").is_err());
}

#[test]
fn last_requests_of_a_client_that_has_ended_reach_the_server() {
    let (mut client, client_side) = UnixStream::pair().unwrap();
    let (mut server, server_side) = UnixStream::pair().unwrap();
    // The server accepts little, so requests wait while an event arrives that the client does not read.
    set_socket_send_buffer_size(&server_side, 1).unwrap();
    let requests: Vec<u8> = (0..100_000).map(|at| byte(3, at)).collect();
    client.write_all(&requests).unwrap();
    server.write_all(b"an event").unwrap();
    drop(client);
    let (_drain, run) = relay(client_side, server_side, DEFAULT_QUEUE_BYTES, true);
    let mut got = Vec::new();
    server.read_to_end(&mut got).unwrap();
    assert!(got == requests, "{} of {}", got.len(), requests.len());
    assert_eq!(run.join().unwrap().0.by, EndedBy::Client);
}

#[test]
fn server_disconnect_ends_the_connection() {
    let (mut client, client_side) = UnixStream::pair().unwrap();
    let (mut server, server_side) = UnixStream::pair().unwrap();
    let (_drain, run) = relay(client_side, server_side, DEFAULT_QUEUE_BYTES, true);
    server.write_all(b"an event").unwrap();
    drop(server);
    let mut got = String::new();
    client.read_to_string(&mut got).unwrap();
    assert_eq!(got, "an event");
    assert_eq!(run.join().unwrap().0.by, EndedBy::Server);
}
