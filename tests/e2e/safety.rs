//! Whatever happens to the recorder, its disk or its clients, the program continues and the recorded data is kept.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use crate::harness::raw::{Client, Order, cookie};
use crate::harness::{Finished, Place, Recording, Server, needs};
use rustix::process::Signal;
use x11prof_trace::{Control, Direction, Reader, Record};

/// The records of a trace, and whether the trace is complete.
fn read(trace: &Path) -> (Vec<Record>, bool) {
    let file = std::fs::File::open(trace).expect("the trace");
    let mut reader = Reader::new(file).expect("a trace");
    let mut records = Vec::new();
    while let Some(record) = reader.next().expect("a record") {
        records.push(record);
    }
    let complete = reader.is_complete();
    (records, complete)
}

/// The number of request bytes in a trace, including omitted ones.
fn requested(records: &[Record]) -> u64 {
    let mut bytes = 0;
    for record in records {
        if let Record::Block(block) = record
            && block.direction == Direction::ToServer
        {
            assert_eq!(block.offset, bytes, "no hole");
            bytes += u64::from(block.wire_len);
        }
    }
    bytes
}

fn troubles(records: &[Record]) -> Vec<&str> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::Control(_, Control::Trouble { what }) => Some(what.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn full_disk_is_reported_and_the_program_continues() {
    needs("unshare", "util-linux");
    needs("x11perf", "x11-apps");
    let place = Place::new();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).expect("a folder");
    // A small tmpfs in a private mount namespace.
    let script = "mount -t tmpfs -o size=256k none disk && \"$0\" record --keep-images --server xvfb \
                  -o disk/trace.mcap -- sh -c 'x11perf -repeat 1 -reps 300 -putimage100 && echo alive'; \
                  status=$?; cp disk/trace.mcap copy.mcap; exit $status";
    let root = rustix::process::geteuid().is_root();
    let mut command = Command::new("unshare");
    command
        .arg(if root { "-m" } else { "-rm" })
        .args(["sh", "-c", script, env!("CARGO_BIN_EXE_x11prof")])
        .current_dir(place.path(""))
        .env("HOME", place.path(""));
    let ran = Finished::of(&mut command);
    // The images must overflow the disk although they compress well.
    assert_eq!(ran.status(), Some(1), "{ran}");
    assert!(ran.stdout().contains("alive"), "{ran}");
    assert!(ran.stderr().contains("No space left on device"), "{ran}");
    let (records, complete) = read(&place.path("copy.mcap"));
    assert!(!complete);
    let said = troubles(&records);
    assert!(
        said.last()
            .is_some_and(|what| what.contains("No space left")),
        "{said:?}"
    );
}

#[test]
fn context_switches_fit_the_messages_in_a_time_namespace() {
    needs("unshare", "util-linux");
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let root = rustix::process::geteuid().is_root();
    let mut command = Command::new("unshare");
    command
        .args((!root).then_some("-r"))
        .args(["-T", "--monotonic", "5000", "--boottime", "5000"])
        .args([env!("CARGO_BIN_EXE_x11prof"), "record", "--server", "xvfb"])
        .args(["-o", "trace.mcap", "--", "xset", "q"])
        .current_dir(place.path(""))
        .env("HOME", place.path(""));
    Finished::of(&mut command).succeeded();
    // With the kernel's clock outside of the namespace, the recording would take 5000 s.
    let report = place.json(["report", "trace.mcap", "--format", "json"]);
    let lasted = report["trace"]["duration_ms"].as_f64();
    assert!(lasted.is_some_and(|ms| ms < 1e6), "{:#}", report["trace"]);
}

#[test]
fn unwritable_output_directory_is_an_error() {
    let place = Place::new();
    let folder = place.path("folder");
    std::fs::create_dir(&folder).expect("a folder");
    // Root can write anywhere except below a regular file and in /proc.
    let nowhere = match rustix::process::geteuid().is_root() {
        true => Path::new("/proc/trace.mcap").to_owned(),
        false => {
            let read_only = std::fs::Permissions::from_mode(0o500);
            std::fs::set_permissions(&folder, read_only).expect("its mode");
            folder.join("trace.mcap")
        }
    };
    let words = [
        "record",
        "--server",
        "xvfb",
        "-o",
        &nowhere.to_string_lossy(),
        "--",
        "true",
    ]
    .map(String::from);
    let line = place.run(words).failed_with_one_line(1);
    assert!(line.contains("cannot write the trace"), "{line}");
}

#[test]
fn stalled_disk_does_not_block_clients() {
    let server = Server::xvfb(&[]);
    let place = Place::new();
    let pipe = place.path("pipe");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .expect("a pipe");
    // A reader that reads the beginning and then pauses for a long time.
    let slow = pipe.clone();
    let (go_on, reported) = std::sync::mpsc::channel::<()>();
    let reader = std::thread::spawn(move || {
        let mut pipe = std::fs::File::open(slow).expect("the pipe");
        let mut trace = vec![0; 512];
        pipe.read_exact(&mut trace).expect("the beginning");
        reported.recv().expect("the word to go on");
        pipe.read_to_end(&mut trace).expect("the rest");
        trace
    });
    let words = ["--display", &server.display, "--queue", "8"];
    let mut recording = Recording::at(&place, &pipe, &words);
    let mut client = recording.raw(Order::Little);
    // 64 MB of 16 KiB properties, eight times what the queue may hold.
    let root = client.root();
    let mut property = vec![root, 1, 31, 8, 16 << 10];
    property.resize(5 + (4 << 10), 0);
    let mut state = 1_u32;
    for _ in 0..4096 {
        for word in &mut property[5..] {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *word = state;
        }
        client.request(18, 0, &property);
        client.sync();
    }
    let peak = recording.peak_kb();
    assert!(peak < 64 << 10, "{peak} kB with a queue of 8 MiB");
    drop(client);
    go_on.send(()).expect("the reader waits");
    let status = recording.signal(Signal::INT);
    assert_eq!(
        status.code(),
        Some(1),
        "a recording that lost something says so"
    );
    assert!(recording.said().contains("longer messages were left out"));
    let path = place.write("trace.mcap", &reader.join().expect("the trace"));
    let (records, complete) = read(&path);
    assert!(complete);
    // All framing is intact: every byte is recorded or counted as omitted.
    assert!(requested(&records) > 64 << 20);
    assert!(
        troubles(&records)
            .iter()
            .any(|what| what.contains("left out"))
    );
    let held_up = records.iter().any(|record| matches!(record, Record::Control(_, Control::Stalled { cause, .. }) if cause == "queue"));
    assert!(!held_up, "there was room for the headers");
}

#[test]
fn thousand_concurrent_clients_are_served() {
    let server = Server::xvfb(&["-maxclients", "2048"]);
    let place = Place::new();
    let trace = place.path("trace.mcap");
    // A low soft limit, as on many systems; the recorder raises its own limit.
    let mut command = Command::new("sh");
    let script = "ulimit -S -n 256; exec \"$@\"";
    command
        .args([
            "-c",
            script,
            "sh",
            env!("CARGO_BIN_EXE_x11prof"),
            "record",
            "--display",
        ])
        .arg(&server.display)
        .arg("-o")
        .arg(&trace)
        .env("HOME", place.path(""));
    let mut recording = Recording::of(&mut command, &trace);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: limit.maximum,
        ..limit
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).expect("our own limit");
    let mut clients: Vec<Client> = (0..1000).map(|_| recording.raw(Order::Little)).collect();
    for client in &mut clients {
        client.request(43, 0, &[]);
    }
    for client in &mut clients {
        client.reply();
    }
    drop(clients);
    assert!(
        recording.signal(Signal::INT).success(),
        "{}",
        recording.said()
    );
    let (records, complete) = read(&trace);
    assert!(complete);
    let opened = records
        .iter()
        .filter(|r| matches!(r, Record::Control(_, Control::Opened(_))))
        .count();
    assert_eq!(opened, 1000);
}

#[test]
fn command_keeps_its_open_file_limit() {
    let place = Place::new();
    let trace = place.path("trace.mcap");
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "ulimit -S -n 256; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_x11prof"),
        ])
        .args(["record", "--server", "xvfb", "-o"])
        .arg(&trace)
        .args(["--", "sh", "-c", "ulimit -S -n"])
        .env("HOME", place.path(""));
    assert_eq!(Finished::of(&mut command).succeeded().trim(), "256");
}

#[test]
fn malformed_clients_do_not_affect_other_clients() {
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let connect = || UnixStream::connect(recording.socket()).expect("the display");
    let cookie = cookie(&recording.authority);
    let mut held = Vec::new();
    // Garbage, incomplete setups, and setups whose announced data never arrives.
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"l",
        b"B\0\0\x0b",
        b"l\0\x0b\0\0\0\xff\xff\xff\xff\0\0",
        &[0xFF; 5000],
    ] {
        let mut stream = connect();
        // The recorder may close the connection before it has read everything.
        let _ = stream.write_all(bytes);
        held.push(stream);
    }
    // After a valid setup: a request of 4 GB, a zero length, and noise.
    for bytes in [
        &[127, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF][..],
        &[127, 0, 0, 0, 0, 0, 0, 0],
        &[0xA5; 40_000],
    ] {
        let mut client = Client::set_up(connect().into(), Order::Little, &cookie);
        let _ = client.socket.write_all(bytes);
        held.push(
            client
                .socket
                .try_clone()
                .map(std::os::fd::OwnedFd::from)
                .expect("a socket")
                .into(),
        );
    }
    // This client requests a lot of data and reads nothing.
    let mut deaf = Client::set_up(connect().into(), Order::Little, &cookie);
    let root = deaf.root();
    deaf.socket
        .write_all(&deaf_requests(root))
        .expect("the requests");
    // All other clients are served as before.
    Finished::of(&mut recording.client("xdpyinfo")).succeeded();
    let status = std::fs::read_to_string(format!("/proc/{}/status", recording.child.id()))
        .expect("the recorder");
    let rss = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("VmRSS");
    let rss: u64 = rss
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number");
    assert!(rss < 100 << 10, "{rss} kB");
    drop((held, deaf));
    assert!(
        recording.signal(Signal::INT).success(),
        "{}",
        recording.said()
    );
    assert!(read(&recording.trace).1);

    /// 64 times GetImage of 512×512 pixels of the root, a megabyte each.
    fn deaf_requests(root: u32) -> Vec<u8> {
        let mut bytes = vec![73, 2, 5, 0];
        for field in [root, 0, 512 | 512 << 16, u32::MAX] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.repeat(64)
    }
}
