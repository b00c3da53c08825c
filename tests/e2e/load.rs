//! Many concurrent clients and very long messages: all data arrives, and memory stays bounded.

use std::fs::File;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use crate::harness::raw::{Client, Order};
use crate::harness::{Finished, Place, Recording, Server};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Signal;
use serde_json::Value;

const CLIENTS: usize = 200;
/// One in this many clients uses shared memory.
const SHARING: usize = 4;
const ROUNDS: usize = 20;

/// The number of requests of a name in a trace.
fn requests(report: &Value, name: &str) -> u64 {
    let requests = report["requests"].as_array().expect("requests").iter();
    let mut named = requests.filter(|request| request["name"] == name);
    let count = named.next().and_then(|request| request["count"].as_u64());
    count.unwrap_or_else(|| panic!("{name}: {report:#}"))
}

#[test]
fn two_hundred_concurrent_clients_are_recorded() {
    many_clients(&[]);
}

#[test]
fn two_hundred_concurrent_network_clients_are_recorded() {
    many_clients(&["--net", "lan"]);
}

fn many_clients(options: &[&str]) {
    let server = Server::xvfb(&["-maxclients", "512"]);
    let place = Place::new();
    let trace = place.path("trace.mcap");
    let display = ["--display", &server.display];
    let mut recording = Recording::at(&place, &trace, &[&display, options].concat());
    // Over a network the server hides MIT-SHM from programs.
    let shm = crate::attach::client(&server, Order::Little).extension("MIT-SHM");
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            let recording = &recording;
            scope.spawn(move || {
                let mut client = recording.raw(Order::Little);
                for round in 0..ROUNDS {
                    (0..round).for_each(|_| client.request(127, 0, &[]));
                    client.sync();
                }
                if n % SHARING == 0 {
                    share(&mut client, shm);
                }
            });
        }
    });
    let ended = recording.signal(Signal::INT);
    assert!(ended.success(), "{}", recording.said());
    let report = [
        "report",
        "--params",
        "xvfb-24",
        "--format",
        "json",
        "trace.mcap",
    ];
    let report = place.json(report);
    assert_eq!(report["trace"]["complete"], true);
    assert_eq!(report["trace"]["unpaired_replies"], 0);
    let (clients, sharing) = (CLIENTS as u64, (CLIENTS / SHARING) as u64);
    for (name, count) in [
        ("GetInputFocus", clients * ROUNDS as u64),
        ("NoOperation", clients * (ROUNDS * (ROUNDS - 1) / 2) as u64),
        ("MIT-SHM:AttachFd", sharing),
        ("MIT-SHM:GetImage", sharing),
    ] {
        assert_eq!(requests(&report, name), count, "{name}");
    }
}

/// Shares memory of the client with the server.
fn share(client: &mut Client, shm: u8) {
    let memory = memfd_create("shm", MemfdFlags::CLOEXEC).expect("a memfd");
    rustix::fs::ftruncate(&memory, 4096).expect("its length");
    let (segment, root) = (client.id(1), client.root());
    client.request_with(shm, 6, &[segment, 0], memory.as_fd());
    let memory = File::from(memory);
    memory.write_all_at(&[0x5A; 256], 0).expect("memory");
    client.request(shm, 4, &[root, 0, 8 | 8 << 16, u32::MAX, 2, segment, 0]);
    client.reply();
    let mut pixels = [0; 256];
    memory.read_exact_at(&mut pixels, 0).expect("memory");
    assert_ne!(pixels, [0x5A; 256], "the server has drawn");
}

/// Number of requests before the client closes its sending direction. Of a thousand requests X.Org replies to about
/// 340 if the direction is closed immediately; through a recorder it replies to at least 278, which fit in its
/// socket buffer.
const QUESTIONS: usize = 100;

/// Sends the requests, closes the sending direction, reads to the end, and returns the number of reply bytes.
fn half_closed(mut client: Client) -> usize {
    let questions = [43, 0, 1, 0].repeat(QUESTIONS);
    client.socket.write_all(&questions).expect("the questions");
    let socket = UnixStream::from(std::os::fd::OwnedFd::from(client.socket));
    let limit = Some(Duration::from_secs(60));
    socket.set_read_timeout(limit).expect("a time");
    socket.shutdown(Shutdown::Write).expect("half an end");
    let mut answers = Vec::new();
    (&socket).read_to_end(&mut answers).expect("the answers");
    answers.len()
}

#[test]
fn half_closed_client_receives_all_replies() {
    let server = Server::xvfb(&[]);
    let direct = half_closed(crate::attach::client(&server, Order::Little));
    assert_eq!(direct, 32 * QUESTIONS);
    for options in [&[][..], &["--net", "lan"]] {
        let place = Place::new();
        let display = ["--display", &server.display];
        let trace = place.path("trace.mcap");
        let mut recording = Recording::at(&place, &trace, &[&display, options].concat());
        for _ in 0..20 {
            let recorded = half_closed(recording.raw(Order::Little));
            assert_eq!(recorded, direct, "{options:?}");
        }
        assert!(recording.signal(Signal::INT).success());
        let report = [
            "report",
            "--params",
            "xvfb-24",
            "--format",
            "json",
            "trace.mcap",
        ];
        let report = place.json(report);
        assert_eq!(requests(&report, "GetInputFocus"), 20 * QUESTIONS as u64);
        assert_eq!(report["trace"]["unpaired_replies"], 0);
    }
}

/// The length of a property and of the parts that are appended. A part with its header is as long as the server's
/// request limit.
const PROPERTY: usize = 256 << 20;
const PART: usize = (16 << 20) - 64;
/// Memory limit of the recorder in kB: its queue (256 MiB), which fills up if the disk or processor is slow, and
/// the rest.
const RECORDER_KB: u64 = (256 + 64) << 10;
/// Data memory limit of `stats`, in kB.
const STATS_KB: u64 = 64 << 10;

#[test]
fn property_of_256_mb_passes_without_buffering() {
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let mut client = recording.raw(Order::Little);
    let big_requests = client.extension("BIG-REQUESTS");
    client.request(big_requests, 0, &[]);
    let (reply, _) = client.reply();
    let longest = client.order.read_u32(&reply, 8) as usize * 4;
    assert!(longest > PART + 28, "{longest}");
    let root = client.root();
    let text: Vec<u8> = (0..PART).map(|at| b' ' + (at % 89) as u8).collect();
    let mut sent = 0;
    while sent < PROPERTY {
        let part = &text[..PART.min(PROPERTY - sent)];
        // ChangeProperty (Append) of WM_NAME, STRING. A length field of 0 means that the BIG-REQUESTS length
        // follows.
        let mut head = vec![18, 2, 0, 0];
        for field in [7 + part.len() / 4, root as usize, 39, 31, 8, part.len()] {
            head.extend((field as u32).to_le_bytes());
        }
        client.socket.write_all(&head).expect("a head");
        client.socket.write_all(part).expect("a part");
        sent += part.len();
    }
    client.sync();
    client.request(20, 0, &[root, 39, 31, 0, u32::MAX / 4]);
    let mut head = [0; 32];
    client.socket.read_exact(&mut head).expect("a reply");
    assert_eq!(client.order.read_u32(&head, 16) as usize, PROPERTY);
    let (mut room, mut got) = (vec![0; PART], 0);
    while got < PROPERTY {
        let part = &mut room[..PART.min(PROPERTY - got)];
        client.socket.read_exact(part).expect("a part");
        assert!(part == &text[..part.len()], "at {got}");
        got += part.len();
    }
    client.sync();
    let peak = recording.peak_kb();
    assert!(peak < RECORDER_KB, "{peak} kB");
    drop(client);
    let ended = recording.signal(Signal::INT);
    let said = recording.said();
    // On a slow disk the recorder drops message contents but keeps the headers.
    assert!(ended.success() || said.contains("left out"), "{said}");
    let mut stats = Command::new("sh");
    let script = format!("ulimit -d {STATS_KB}; exec \"$0\" stats --format json trace.mcap");
    stats
        .args(["-c", &script, env!("CARGO_BIN_EXE_x11prof")])
        .current_dir(place.path(""))
        .env("HOME", place.path(""));
    let stats = Finished::of(&mut stats).succeeded();
    assert!(stats.contains("ChangeProperty"), "{stats}");
    let report = [
        "report",
        "--params",
        "xvfb-24",
        "--format",
        "json",
        "trace.mcap",
    ];
    let report = place.json(report);
    assert_eq!(
        requests(&report, "ChangeProperty"),
        PROPERTY.div_ceil(PART) as u64
    );
    assert_eq!(requests(&report, "GetProperty"), 1);
}
