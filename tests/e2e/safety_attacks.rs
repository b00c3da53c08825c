//! Attacks by programs, servers and other users on a recorder: it loses no data, admits no unauthorised client, and
//! the recorded program continues. See validation/results for the table.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::raw::Order;
use crate::harness::{Finished, Place, Recording, Server, needs, until, wait};
use rustix::process::{Pid, Signal, kill_process};
use x11prof_trace::{Control, Direction, Reader, Record};

fn read(trace: &Path) -> (Vec<Record>, bool) {
    let mut reader = Reader::new(File::open(trace).expect("the trace")).expect("a trace");
    let mut records = Vec::new();
    while let Some(record) = reader.next().expect("a record") {
        records.push(record);
    }
    let complete = reader.is_complete();
    (records, complete)
}

fn connections(records: &[Record]) -> usize {
    let opened = |record: &&Record| matches!(record, Record::Control(_, Control::Opened(_)));
    records.iter().filter(opened).count()
}

/// A pipe whose reader reads the beginning of a trace and then stalls.
fn stalled_pipe(place: &Place) -> (PathBuf, std::sync::mpsc::Sender<()>) {
    let pipe = place.path("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let path = pipe.clone();
    std::thread::spawn(move || {
        let mut pipe = File::open(path).expect("the pipe");
        rustix::pipe::fcntl_setpipe_size(&pipe, 4096).expect("a short pipe");
        pipe.read_exact(&mut [0; 512]).expect("the beginning");
        // Keep the pipe open until the test ends.
        let _ = ended.recv();
    });
    (pipe, end)
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let place = Place::new();
    for (to, status) in [("/dev/full", Some(1)), ("/dev/null", Some(0))] {
        let file = OpenOptions::new().write(true).open(to).expect("it");
        let ran = place.x11prof(["report", "--help"]).stdout(file).output();
        let ran = ran.expect("x11prof starts");
        assert_eq!(ran.status.code(), status, "{to}");
        let line = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(
            line.contains("standard output: "),
            status == Some(1),
            "{line}"
        );
    }
}

#[test]
fn failing_stderr_does_not_stop_the_recording() {
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    let full = || {
        Stdio::from(
            OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .expect("it"),
        )
    };
    let gone = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    for (n, stderr) in [full(), gone()].into_iter().enumerate() {
        let trace = place.path(&format!("{n}.mcap"));
        let script = "xdpyinfo >seen && exit 7";
        let mut command = place.x11prof(["record", "--server", "xvfb", "-o"]);
        command.arg(&trace).args(["--", "sh", "-c", script]);
        let mut child = command.stderr(stderr).spawn().expect("x11prof starts");
        assert_eq!(wait(&mut child, "x11prof").code(), Some(7));
        let seen = std::fs::metadata(place.path("seen")).expect("the program's output");
        assert!(seen.len() > 1000);
        let (records, complete) = read(&trace);
        assert!(complete && connections(&records) == 1);
        // Errors cannot be printed either; only the exit status remains.
        let mut wrong = place.x11prof(["report", "--params", "no-such", "x.mcap"]);
        let mut child = wrong.stderr(full()).spawn().expect("x11prof starts");
        assert_eq!(wait(&mut child, "x11prof").code(), Some(1));
    }
}

#[test]
fn stalled_stderr_does_not_block_clients() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    rustix::pipe::fcntl_setpipe_size(&reader, 4096).expect("a short pipe");
    let mut command = place.x11prof(["record", "--server", "xvfb", "-o", "t.mcap"]);
    let stderr = writer.try_clone().expect("a pipe");
    let mut recorder = command.stderr(stderr).spawn().expect("x11prof starts");
    let mut announced = BufReader::new(&reader).lines().map_while(Result::ok);
    let announced = announced.find(|line| line.contains("XAUTHORITY="));
    let announced = announced.expect("the display");
    let value = |name: &str| {
        let value = announced
            .split_whitespace()
            .find_map(|word| word.strip_prefix(name));
        value.expect("announced").to_owned()
    };
    let (display, authority) = (value("DISPLAY=:"), value("XAUTHORITY="));
    // The pipe is full, and the test reads no more.
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).expect("a flag");
    while (&writer).write(&[b'.'; 64]).is_ok() {}
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::empty()).expect("a flag");
    for _ in 0..4 {
        let socket = UnixStream::connect(format!("/tmp/.X11-unix/X{display}"));
        let cookie = crate::harness::raw::cookie(Path::new(&authority));
        let socket = socket.expect("the display").into();
        let mut client = crate::harness::raw::Client::set_up(socket, Order::Little, &cookie);
        client.sync();
    }
    kill_process(Pid::from_child(&recorder), Signal::INT).expect("a signal");
    assert!(wait(&mut recorder, "x11prof").success());
    let (records, complete) = read(&place.path("t.mcap"));
    assert!(complete && connections(&records) == 4);
}

#[test]
fn stale_socket_of_another_user_blocks_the_display_number() {
    if !rustix::process::geteuid().is_root() {
        // A socket of another user requires root.
        return;
    }
    let _server = Server::xvfb(&[]);
    let socket = "/tmp/.X11-unix/X397";
    // A program that another test starts has a copy of the descriptor until `exec`, so closing it is not enough.
    let listener = UnixListener::bind(socket).expect("a socket");
    rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).expect("it listens");
    let place = Place::new();
    std::fs::set_permissions(
        place.path(""),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .expect("a mode");
    let mut command = place.x11prof(["record", "--listen", "397", "--display"]);
    command
        .args([&_server.display, "-o", "/dev/null", "--", "true"])
        .env_remove("XDG_RUNTIME_DIR")
        .uid(65_534)
        .gid(65_534);
    let ran = Finished::of(&mut command);
    std::fs::remove_file(socket).expect("it is still there");
    let line = ran.failed_with_one_line(1);
    assert!(
        line.contains("in use by a socket of another user"),
        "{line}"
    );
}

#[test]
fn live_view_signals_do_not_end_a_plain_recorder() {
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    for signal in [Signal::USR1, Signal::USR2] {
        kill_process(Pid::from_child(&recording.child), signal).expect("a signal");
        Finished::of(recording.client("xset").arg("q")).succeeded();
    }
    assert!(recording.signal(Signal::INT).success());
    let (records, complete) = read(&recording.trace);
    assert!(complete && connections(&records) == 2);
}

#[test]
fn file_size_limit_is_a_write_error_and_sigxfsz_is_preserved() {
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    let mut command = Command::new("sh");
    let server = Server::xvfb(&[]);
    let script = "ulimit -f 4; exec \"$0\" record --keep-images --display $1 -o t.mcap -- sh -c \
                  'for n in 1 2 3 4 5 6 7 8 9; do xdpyinfo | cat >/dev/null; done; echo alive'";
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_x11prof")])
        .arg(&server.display)
        .current_dir(place.path(""))
        .env("HOME", place.path(""));
    let ran = Finished::of(&mut command);
    assert!(ran.stdout().contains("alive"), "{ran}");
    assert_eq!(ran.status(), Some(1), "{ran}");
    assert!(ran.stderr().contains("File too large"), "{ran}");
    let ran = place.run([
        "record",
        "--server",
        "xvfb",
        "--",
        "sh",
        "-c",
        "kill -XFSZ $$",
    ]);
    let signal = std::os::unix::process::ExitStatusExt::signal(&ran.output.status);
    assert_eq!(signal, Some(25), "{ran}");
}

#[test]
fn hung_disk_is_reported_and_recording_ends() {
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    let (pipe, _open) = stalled_pipe(&place);
    let mut command = place.x11prof(["record", "--keep-images", "--server", "xvfb", "-o"]);
    let script = "for n in 1 2 3 4 5 6 7 8 9; do xdpyinfo >/dev/null; done; sleep 3; echo alive";
    command.arg(&pipe).args(["--", "sh", "-c", script]);
    let ran = Finished::of(&mut command);
    assert!(ran.stdout().contains("alive"), "{ran}");
    assert_eq!(ran.status(), Some(1), "{ran}");
    let said = ran.stderr();
    assert!(said.contains("could not be written for"), "{ran}");
    assert!(
        said.contains("the end of the session is not in the trace"),
        "{ran}"
    );
}

#[test]
fn second_signal_ends_recording_on_a_hung_disk() {
    let place = Place::new();
    let (pipe, _open) = stalled_pipe(&place);
    let mut recording = Recording::at(&place, &pipe, &["--keep-images", "--server", "xvfb"]);
    let mut client = recording.raw(Order::Little);
    for n in 0..4000_u32 {
        client.request(127, 0, &[n.wrapping_mul(2_654_435_761); 15]);
    }
    client.sync();
    drop(client);
    let pid = Pid::from_child(&recording.child);
    let start = Instant::now();
    // Send signals repeatedly, until the process has seen a second one.
    let status = loop {
        let _ = kill_process(pid, Signal::INT);
        std::thread::sleep(Duration::from_millis(500));
        if let Some(status) = recording.child.try_wait().expect("waiting for a child") {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it never ends");
    };
    assert_eq!(status.code(), Some(1));
    assert!(recording.said().contains("the disk hangs"));
}

/// A fake server that replies to each setup with `answer`, and then serves the client.
struct FakeServer {
    display: String,
    socket: PathBuf,
}

impl FakeServer {
    /// Sends nothing else.
    fn start(number: u32, answers: Vec<u8>) -> FakeServer {
        FakeServer::serving(number, answers, |client| {
            let _ = client.read_to_end(&mut Vec::new());
        })
    }

    fn serving(number: u32, answers: Vec<u8>, serve: fn(&mut UnixStream)) -> FakeServer {
        let socket = PathBuf::from(format!("/tmp/.X11-unix/X{number}"));
        let _ = std::fs::create_dir("/tmp/.X11-unix");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).expect("a display's socket");
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                // A setup without a cookie.
                let _ = client.read_exact(&mut [0; 12]);
                let _ = client.write_all(&answers);
                std::thread::spawn(move || serve(&mut client));
            }
        });
        FakeServer {
            display: format!(":{number}"),
            socket,
        }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// An Xvfb's reply to a setup.
fn accepted() -> Vec<u8> {
    let server = Server::xvfb(&[]);
    let number = server.display.trim_start_matches(':');
    let socket = UnixStream::connect(format!("/tmp/.X11-unix/X{number}")).expect("the server");
    crate::harness::raw::Client::set_up(socket.into(), Order::Little, &[]).setup
}

#[test]
fn oversized_replies_are_rejected() {
    let mut answers = accepted();
    let mut reply = vec![1, 0, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF];
    reply.resize(32, 0);
    answers.extend(reply);
    let server = FakeServer::start(391, answers);
    let place = Place::new();
    let line = place
        .run(["record", "--display", &server.display, "--", "true"])
        .failed_with_one_line(1);
    assert!(
        line.contains("announced a reply of 17179869180 bytes"),
        "{line}"
    );
    let line = place
        .run([
            "calibrate",
            "--quick",
            "--display",
            &server.display,
            "-o",
            "x.toml",
        ])
        .failed_with_one_line(1);
    assert!(
        line.contains("announced a reply of 17179869180 bytes"),
        "{line}"
    );
}

/// Replies to each request with the largest counts in 32 bytes.
fn reply_with_counts(client: &mut UnixStream) {
    let mut sequence = 0_u16;
    let mut head = [0; 4];
    while client.read_exact(&mut head).is_ok() {
        let words = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let mut body = vec![0; (4 * words).saturating_sub(4)];
        sequence = sequence.wrapping_add(1);
        let mut reply = [0xFF; 32];
        reply[..2].fill(1);
        reply[2..4].copy_from_slice(&sequence.to_le_bytes());
        reply[4..8].fill(0);
        if client.read_exact(&mut body).is_err() || client.write_all(&reply).is_err() {
            return;
        }
    }
}

/// A count in a reply must not decide how much memory is allocated.
#[test]
fn excessive_counts_of_a_server_are_rejected() {
    let server = FakeServer::serving(393, accepted(), reply_with_counts);
    let place = Place::new();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/xterm.mcap");
    let display = &server.display;
    for words in [
        format!("replay --display {display} --yes --pace full {recording}"),
        format!("type a --display {display} --yes --window 0x200001"),
        format!("type a --display {display} --yes -- sleep 1"),
        format!("record --attach --display {display} --seconds 1"),
        format!("top --display {display} --json --seconds 1"),
    ] {
        let mut command = std::process::Command::new("sh");
        let script = format!("ulimit -d 300000; exec \"$0\" {words}");
        command
            .args(["-c", &script, env!("CARGO_BIN_EXE_x11prof")])
            .current_dir(place.path(""));
        let ran = Finished::of(&mut command);
        assert_eq!(ran.status(), Some(1), "{words}: {ran}");
        let said = ran.stderr();
        assert!(
            !said.contains("memory allocation") && !said.contains("panicked"),
            "{words}: {said}"
        );
    }
}

#[test]
fn refusal_reason_is_stripped_of_control_characters() {
    let reason = b"\x1b]2;owned\x07\xc2\x9b2J no way\n";
    let mut answer = vec![0, reason.len() as u8, 11, 0, 0, 0];
    answer.extend((reason.len().div_ceil(4) as u16).to_le_bytes());
    answer.extend(reason);
    answer.resize(8 + reason.len().next_multiple_of(4), 0);
    let server = FakeServer::start(392, answer);
    let place = Place::new();
    for words in [
        &["record", "--display", &server.display, "--", "true"][..],
        &[
            "calibrate",
            "--quick",
            "--display",
            &server.display,
            "-o",
            "x.toml",
        ],
    ] {
        let line = place.run(words).failed_with_one_line(1);
        assert!(line.contains("no way"), "{line}");
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn program_and_window_names_are_stripped_of_escapes() {
    needs("xclock", "x11-apps");
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let path = std::env::var_os("PATH").expect("a path");
    let xset = std::env::split_paths(&path)
        .map(|dir| dir.join("xset"))
        .find(|path| path.is_file())
        .expect("xset");
    let hostile = place.path("\u{1b}\u{7}own\nx11prof:");
    std::fs::copy(xset, &hostile).expect("a copy");
    Finished::of(recording.client(&hostile.to_string_lossy()).arg("q")).succeeded();
    let title = "\u{1b}]2;title\u{7}\u{9b}2J";
    let mut clock = recording
        .client("xclock")
        .args(["-title", title, "-name", title])
        .spawn()
        .expect("xclock starts");
    // The title is set before the window is mapped.
    until("the clock's window", || {
        let tree = recording
            .client("xwininfo")
            .args(["-root", "-tree"])
            .output();
        let tree = tree.expect("xwininfo runs").stdout;
        String::from_utf8_lossy(&tree)
            .contains("XClock")
            .then_some(())
    });
    let _ = clock.kill();
    let _ = clock.wait();
    assert!(recording.signal(Signal::INT).success());
    let said = recording.said();
    // A name forges no line.
    assert!(said.contains("??own?x11prof:"), "{said}");
    let bad = |c: char| c.is_control() && c != '\n';
    assert!(!said.contains(bad), "{said:?}");
    let trace = recording.trace.to_string_lossy().into_owned();
    let views: [&[&str]; 10] = [
        &["report", "--params", "xvfb-24"],
        &["report", "--params", "xvfb-24", "--format", "csv"],
        &[
            "report", "--params", "xvfb-24", "--by", "client", "--format", "csv",
        ],
        &[
            "report", "--params", "xvfb-24", "--by", "window", "--format", "csv",
        ],
        &["report", "--params", "xvfb-24", "--by", "window"],
        &["stats"],
        &["stats", "--format", "csv"],
        &["episodes"],
        &["episodes", "--format", "csv"],
        &["dump"],
    ];
    for words in views {
        let ran = place.run(words.iter().copied().chain([trace.as_str()]));
        ran.succeeded();
        assert!(!ran.stdout().contains(bad), "{words:?}");
        assert!(!ran.stderr().contains(bad), "{words:?}");
    }
}

#[test]
fn generated_cookie_is_not_recorded() {
    needs("xauth", "xauth");
    let place = Place::new();
    for full in [&[][..], &["--keep-images"]] {
        let mut recording = Recording::start(&place, full);
        let file = place.path("given");
        let _ = std::fs::remove_file(&file);
        let mut xauth = recording.client("xauth");
        xauth
            .arg("-f")
            .arg(&file)
            .args(["generate", &recording.display, ".", "trusted"]);
        Finished::of(&mut xauth).succeeded();
        assert!(recording.signal(Signal::INT).success());
        let given = std::fs::read(&file).expect("xauth's file");
        let cookie = &given[given.len() - 16..];
        let (records, _) = read(&recording.trace);
        let mut answered = 0;
        for record in &records {
            if let Record::Block(block) = record {
                let there = block.bytes.windows(16).any(|bytes| bytes == cookie);
                assert!(!there, "the cookie is in the trace ({full:?})");
                let secret = block.direction == Direction::ToClient
                    && block.gaps.iter().any(|gap| gap.len == 16);
                answered += usize::from(secret);
            }
        }
        assert_eq!(answered, 1, "a reply without its cookie ({full:?})");
    }
}

#[test]
fn clients_of_another_user_are_rejected_and_not_recorded() {
    if !rustix::process::geteuid().is_root() {
        // Acting as another user requires root.
        return;
    }
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    for _ in 0..5 {
        let ran = Finished::of(recording.client("xset").arg("q").uid(65_534).gid(65_534));
        assert!(!ran.output.status.success(), "{ran}");
    }
    Finished::of(recording.client("xset").arg("q")).succeeded();
    assert!(recording.signal(Signal::INT).success());
    let said = recording.said();
    assert_eq!(said.matches("another user").count(), 1, "{said}");
    assert_eq!(connections(&read(&recording.trace).0), 1);
}

#[test]
fn silent_connections_do_not_lock_out_clients() {
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let silent: Vec<UnixStream> = (0..600)
        .map_while(|_| UnixStream::connect(recording.socket()).ok())
        .collect();
    Finished::of(recording.client("xset").arg("q")).succeeded();
    let threads = std::fs::read_dir(format!("/proc/{}/task", recording.child.id()));
    let threads = threads.expect("the recorder").count();
    assert!(
        threads < 300,
        "{threads} threads for {} connections",
        silent.len()
    );
    drop(silent);
    assert!(recording.signal(Signal::INT).success());
    let said = recording.said();
    assert!(said.lines().count() < 10, "{said}");
    assert!(said.contains("connections had no valid setup"), "{said}");
}

/// A server that accepts connections and never replies.
#[test]
fn silent_server_is_reported_and_interrupted() {
    let (server, place) = (FakeServer::start(393, Vec::new()), Place::new());
    let display = ["--display", &server.display];
    place.write("keys", b"type \"a\"\n");
    for words in [
        &["record", "--", "true"][..],
        &["record", "--attach"],
        &["top"],
        &["ping"],
        &["drive", "--yes", "keys", "--", "true"],
        &["type", "--yes", "a", "--", "true"],
    ] {
        let (command, options) = words.split_first().expect("a command");
        let mut command = place.x11prof([command]);
        let command = command.args(display).args(options).stderr(Stdio::piped());
        let mut child = command.spawn().expect("x11prof starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let line = lines.next().expect("a line").expect("text");
        assert!(line.contains("does not reply; still waiting"), "{line}");
        kill_process(Pid::from_child(&child), Signal::INT).expect("a signal");
        let sent = Instant::now();
        wait(&mut child, "x11prof");
        assert!(sent.elapsed() < Duration::from_secs(5), "{words:?}");
    }
    let begun = Instant::now();
    let words = ["record", "--seconds", "4"].into_iter().chain(display);
    let ended = place.run(words.chain(["--", "true"]));
    assert!(ended.stderr().contains("silent for 4 s"), "{ended}");
    assert!(begun.elapsed() < Duration::from_secs(15));
}
