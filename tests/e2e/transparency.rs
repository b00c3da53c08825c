//! A program cannot distinguish the proxy from its server: real clients on every server, descriptors, byte orders,
//! TCP, long requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use crate::harness::raw::{Client, Order, cookie};
use crate::harness::{Finished, Place, Recording, Server, needs, until};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Signal;

/// A page with a square on it.
const PDF: &[u8] = b"%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<<>>>>endobj
4 0 obj<</Length 22>>stream
10 10 100 100 re f
endstream endobj
trailer<</Root 1 0 R>>
";

#[test]
fn real_clients_are_fully_recorded_on_xvfb() {
    needs("Xvfb", "xvfb");
    real_clients("xvfb");
}

#[test]
fn real_clients_are_fully_recorded_on_xvnc() {
    needs("Xvnc", "tigervnc-standalone-server");
    real_clients("xvnc");
}

#[test]
fn real_clients_are_fully_recorded_on_xephyr() {
    needs("Xephyr", "xserver-xephyr");
    real_clients("xephyr");
}

#[test]
fn real_clients_are_fully_recorded_on_xorg() {
    needs("Xorg", "xserver-xorg-core and xserver-xorg-video-dummy");
    real_clients("xorg-dummy");
}

/// Runs x11perf, xterm, a GTK program and mupdf concurrently and checks that the trace contains all their messages.
fn real_clients(server: &str) {
    needs("x11perf", "x11-apps");
    needs("xterm", "xterm");
    needs("gtk3-widget-factory", "gtk-3-examples");
    needs("mupdf", "mupdf");
    needs("xwininfo", "x11-utils");
    let place = Place::new();
    let pdf = place.write("square.pdf", PDF);
    let trace = place.path("trace.mcap");
    let mut recording = Recording::at(&place, &trace, &["--server", server]);
    let start = |command: &mut Command| {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet
            .env("HOME", place.path(""))
            .spawn()
            .expect("a client starts")
    };
    let mut gtk = recording.client("gtk3-widget-factory");
    let mut gtk = start(gtk.env("GDK_BACKEND", "x11"));
    let mut mupdf = start(recording.client("mupdf").arg(pdf));
    Finished::of(recording.client("xterm").args(["-e", "ls -la /usr/bin"])).succeeded();
    let tests = [
        "-rect10",
        "-ftext",
        "-putimage10",
        "-shmput10",
        "-getimage10",
        "-prop",
    ];
    let fixed = ["-repeat", "1", "-reps", "200"];
    let ran = Finished::of(recording.client("x11perf").args(fixed).args(tests)).succeeded();
    assert_eq!(ran.matches("/sec)").count(), tests.len(), "{ran}");
    until("the windows of both programs", || {
        let tree = Finished::of(recording.client("xwininfo").args(["-root", "-tree"])).succeeded();
        (tree.contains("gtk3-widget-factory") && tree.contains("square.pdf")).then_some(())
    });
    for client in [&mut gtk, &mut mupdf] {
        client.kill().expect("a client ends");
        client.wait().expect("a client ends");
    }
    assert!(
        recording.signal(Signal::INT).success(),
        "{}",
        recording.said()
    );
    let path = trace.to_string_lossy().into_owned();
    let report = place.json(["report", "--params", "sun4-ipc", "--format", "json", &path]);
    assert_eq!(report["trace"]["complete"], true);
    assert_eq!(report["trace"]["unpaired_replies"], 0);
    let said = report["trace"]["connections"].to_string();
    for name in ["x11perf", "xterm", "gtk3-widget", "mupdf"] {
        assert!(said.contains(name), "{name}: {said}");
    }
}

#[test]
fn file_descriptors_pass_in_both_directions() {
    carry_descriptors(&[]);
}

#[test]
fn file_descriptors_pass_during_experiments() {
    carry_descriptors(&["--try", "answer-atoms", "--try", "answer-queries"]);
}

fn carry_descriptors(options: &[&str]) {
    let place = Place::new();
    let mut recording = Recording::start(&place, options);
    let mut client = recording.raw(Order::Little);
    let shm = client.extension("MIT-SHM");
    // AttachFd: the client's memory, which the server draws into.
    let ours = memfd_create("shm", MemfdFlags::CLOEXEC).expect("a memfd");
    rustix::fs::ftruncate(&ours, 4096).expect("its length");
    let (segment, root) = (client.id(1), client.root());
    client.request_with(shm, 6, &[segment, 0], ours.as_fd());
    // CreateSegment: the server's memory, returned with the reply.
    let theirs = client.id(2);
    client.request(shm, 7, &[theirs, 4096, 0]);
    let (reply, fds) = client.reply();
    assert_eq!((reply[1], fds.len()), (1, 1));
    // GetImage of 8×8 pixels of the root into both, overwriting their contents.
    let files = [
        std::fs::File::from(ours),
        std::fs::File::from(fds.into_iter().next().expect("one")),
    ];
    for (file, segment) in files.iter().zip([segment, theirs]) {
        file.write_all_at(&[0x5A; 256], 0).expect("shared memory");
        client.request(shm, 4, &[root, 0, 8 | 8 << 16, u32::MAX, 2, segment, 0]);
        client.reply();
        let mut pixels = [0; 256];
        file.read_exact_at(&mut pixels, 0).expect("shared memory");
        assert_ne!(pixels, [0x5A; 256], "the server has drawn");
    }
    drop(client);
    assert!(recording.signal(Signal::INT).success());
    let file = std::fs::File::open(&recording.trace).expect("the trace");
    let mut reader = x11prof_trace::Reader::new(file).expect("a trace");
    let mut counts = [0, 0];
    while let Some(record) = reader.next().expect("a record") {
        if let x11prof_trace::Record::Block(block) = record {
            let to_client = block.direction == x11prof_trace::Direction::ToClient;
            counts[usize::from(to_client)] += u32::from(block.fds);
        }
    }
    assert_eq!(counts, [1, 1], "the trace counts them");
}

#[test]
fn both_byte_orders_are_recorded() {
    let place = Place::new();
    // Recent servers refuse clients of the other byte order without an option that older servers reject.
    let help = Command::new("Xvfb")
        .arg("-help")
        .output()
        .expect("Xvfb's help");
    let reported = String::from_utf8_lossy(&help.stderr).contains("+byteswappedclients");
    let server = Server::xvfb(if reported {
        &["+byteswappedclients"]
    } else {
        &[]
    });
    let trace = place.path("trace.mcap");
    let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
    for order in [Order::Little, Order::Big] {
        let mut client = recording.raw(order);
        client.extension("RENDER");
        // A long image, and one back.
        let (pixmap, context, root) = (client.id(1), client.id(2), client.root());
        client.request(53, 24, &[pixmap, root, both(order, 64, 64)]);
        client.request(55, 0, &[context, pixmap, 0]);
        let mut image = vec![pixmap, context, both(order, 64, 64), 0, both24(order)];
        image.resize(5 + 64 * 64, 0x0012_3456);
        client.request(72, 2, &image);
        client.request(73, 2, &[pixmap, 0, both(order, 64, 64), u32::MAX]);
        let (reply, _) = client.reply();
        assert_eq!(reply.len(), 32 + 64 * 64 * 4);
        client.sync();
    }
    assert!(recording.signal(Signal::INT).success());
    let path = trace.to_string_lossy().into_owned();
    let report = place.json(["report", "--params", "sun4-ipc", "--format", "json", &path]);
    let count = |name: &str| {
        let requests = report["requests"].as_array().expect("requests");
        let request = requests.iter().find(|request| request["name"] == name);
        request.map(|request| request["count"].as_u64())
    };
    assert_eq!(count("PutImage"), Some(Some(2)), "{report}");
    assert_eq!(count("GetInputFocus"), Some(Some(2)), "{report}");
    // The images were omitted from the trace: twice 16 KiB in each direction would exceed this size.
    let len = std::fs::metadata(&trace).expect("the trace").len();
    assert!(len < 64 << 10, "{len}");

    /// Two 16-bit fields in place of a 32-bit field.
    fn both(order: Order, first: u32, second: u32) -> u32 {
        match order {
            Order::Little => first | second << 16,
            Order::Big => first << 16 | second,
        }
    }

    /// Left pad 0, depth 24, two unused bytes.
    fn both24(order: Order) -> u32 {
        match order {
            Order::Little => 24 << 8,
            Order::Big => 24 << 16,
        }
    }
}

#[test]
fn request_of_64_mb_passes_without_buffering() {
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let mut client = recording.raw(Order::Little);
    let big_requests = client.extension("BIG-REQUESTS");
    client.request(big_requests, 0, &[]);
    let (reply, _) = client.reply();
    let longest = u64::from(Order::Little.read_u32(&reply, 8)) * 4;
    // As close to 64 MB as this server allows: a PutImage of rows of 4096 pixels.
    let rows = ((longest.min(64 << 20) - 64) / (4096 * 4)) as u32;
    let (pixmap, context, root) = (client.id(1), client.id(2), client.root());
    client.request(53, 24, &[pixmap, root, 4096 | rows << 16]);
    client.request(55, 0, &[context, pixmap, 0]);
    let mut head = vec![72, 2, 0, 0];
    for field in [
        7 + rows * 4096,
        pixmap,
        context,
        4096 | rows << 16,
        0,
        24 << 8,
    ] {
        head.extend(field.to_le_bytes());
    }
    client.socket.write_all(&head).expect("a head");
    let row = vec![0x77; 4096 * 4];
    for _ in 0..rows {
        client.socket.write_all(&row).expect("a row");
    }
    client.request(73, 2, &[pixmap, (rows - 1) << 16, 1 | 1 << 16, u32::MAX]);
    let (reply, _) = client.reply();
    assert_eq!(reply[32..35], [0x77; 3], "the last row has arrived");
    let peak = recording.peak_kb();
    assert!(peak < 48 << 10, "{peak} kB for a request of {rows} rows");
    assert!(recording.signal(Signal::INT).success());
}

#[test]
fn event_arrives_before_another_clients_later_reply() {
    let place = Place::new();
    let recording = Recording::start(&place, &[]);
    let [mut writer, mut reader] = [Order::Little; 2].map(|order| recording.raw(order));
    let (root, wm_name, string) = (reader.root(), 39, 31);
    // CWEventMask, PropertyChange.
    reader.request(2, 0, &[root, 1 << 11, 1 << 22]);
    reader.sync();
    rustix::io::ioctl_fionbio(&reader.socket, true).unwrap();
    for round in 0..500 {
        writer.request(18, 0, &[root, wm_name, string, 8, 4, round]);
        writer.sync();
        let mut message = [0; 32];
        reader.socket.read_exact(&mut message).expect("an event");
        assert_eq!(message[0], 28, "round {round}");
    }
}

/// The recorder reads the context switches of all threads of a client that disconnects. This took milliseconds before
/// the server noticed the end.
#[test]
fn disconnect_reaches_the_server_at_once() {
    let place = Place::new();
    let recording = Recording::start(&place, &[]);
    let mut other = recording.raw(Order::Little);
    let root = other.root();
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    std::thread::scope(|scope| {
        for _ in 0..400 {
            scope.spawn(|| _ = wait.lock().map(|wait| wait.recv()));
        }
        let gone = (0..20).any(|_| {
            let mut client = recording.raw(Order::Little);
            let window = client.id(1);
            client.request(1, 0, &[window, root, 0, 1 | 1 << 16, 0, 0, 0]);
            client.sync();
            drop(client);
            other.request(15, 0, &[root]);
            let (tree, _) = other.reply();
            let mut windows = tree[32..].chunks(4);
            !windows.any(|id| id == window.to_le_bytes())
        });
        drop(end);
        assert!(gone, "the window is still there");
    });
}

#[test]
fn shared_memory_extensions_are_hidden_everywhere() {
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    for option in [["--try", "no-sharing"], ["--net", "lan"]] {
        let recording = Recording::start(&place, &option);
        let said = Finished::of(recording.client("xdpyinfo").arg("-queryExtensions")).succeeded();
        assert!(said.contains("RENDER "), "{said}");
        assert!(!said.contains("MIT-SHM"), "{said}");
    }
}

#[test]
fn clients_and_servers_connect_by_tcp() {
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    // The TCP server is itself a recording's display.
    let mut far = Recording::start(&place, &["--tcp"]);
    let trace = place.path("near.mcap");
    let number = far.display.trim_start_matches(':').to_owned();
    let mut command = place.x11prof(["record", "--tcp", "127.0.0.1", "--display"]);
    command
        .arg(format!("localhost:{number}"))
        .env("XAUTHORITY", &far.authority);
    let mut near = Recording::of(command.arg("-o").arg(&trace), &trace);
    let number = near.display.trim_start_matches(':').to_owned();
    let by_tcp = format!("127.0.0.1:{number}");
    let said = Finished::of(near.client("xdpyinfo").env("DISPLAY", &by_tcp)).succeeded();
    assert!(said.contains(&by_tcp), "{said}");
    let port = 6000 + number.parse::<u16>().expect("a number");
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    Client::set_up(socket.into(), Order::Little, &cookie(&near.authority)).sync();
    // Only the cookie grants access.
    let none = Finished::of(
        near.client("xdpyinfo")
            .env("DISPLAY", &by_tcp)
            .env("XAUTHORITY", place.path("none")),
    );
    assert!(!none.output.status.success(), "{none}");
    assert!(near.signal(Signal::INT).success(), "{}", near.said());
    assert!(far.signal(Signal::INT).success(), "{}", far.said());
    for trace in [&near.trace, &far.trace] {
        let dump = place.ok(["dump", &trace.to_string_lossy()]);
        assert!(dump.contains("GetInputFocus"));
    }
    // The kernel has no peer process for TCP; clients of this host are identified nevertheless.
    let opened = opened(&near.trace);
    let by_name = |name: &str| {
        opened
            .iter()
            .find(|client| client.name.as_deref() == Some(name))
    };
    let xdpyinfo = by_name("xdpyinfo").unwrap_or_else(|| panic!("{opened:?}"));
    assert_eq!(xdpyinfo.transport, "tcp");
    assert_eq!(xdpyinfo.command, ["xdpyinfo"]);
    let ours = Some(std::process::id());
    assert!(opened.iter().any(|client| client.pid == ours), "{opened:?}");
}

/// The clients of a recording.
fn opened(trace: &std::path::Path) -> Vec<x11prof_trace::Opened> {
    let file = std::fs::File::open(trace).expect("a file");
    let mut reader = x11prof_trace::Reader::new(file).expect("a trace");
    let mut opened = Vec::new();
    while let Some(record) = reader.next().expect("whole") {
        if let x11prof_trace::Record::Control(_, x11prof_trace::Control::Opened(client)) = record {
            opened.push(client);
        }
    }
    opened
}

#[test]
fn ssh_forwarded_display_is_recorded() {
    needs("xauth", "xauth");
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    // A substitute for sshd, which listens on the loopback interface for a remote display.
    let mut sshd = Recording::start(&place, &["--tcp"]);
    let number = sshd.display.trim_start_matches(':').to_owned();
    let hex: String = cookie(&sshd.authority)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // As with sshd, the cookie is stored under this host's name, like a local display's cookie.
    let file = place.path("Xauthority-of-ssh");
    for (display, cookie) in [
        ("unix:9.0", "00".repeat(16)),
        (&format!("unix:{number}.0"), hex),
    ] {
        let mut xauth = Command::new("xauth");
        xauth
            .arg("-f")
            .arg(&file)
            .args(["add", display, "MIT-MAGIC-COOKIE-1", &cookie]);
        Finished::of(&mut xauth).succeeded();
    }
    let before = std::fs::read(&file).expect("the authority file");
    let mut command = place.x11prof(["record", "--display", &format!("localhost:{number}.0")]);
    let trace = place.path("forwarded.mcap");
    command.arg("-o").arg(&trace).env("XAUTHORITY", &file);
    let mut recording = Recording::of(&mut command, &trace);
    Finished::of(&mut recording.client("xdpyinfo")).succeeded();
    assert!(
        recording.signal(Signal::INT).success(),
        "{}",
        recording.said()
    );
    assert!(sshd.signal(Signal::INT).success(), "{}", sshd.said());
    assert_eq!(std::fs::read(&file).expect("the authority file"), before);
}
