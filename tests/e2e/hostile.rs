//! Malformed traces: time, memory and disk use stay proportional to the length of the trace, whatever it claims.

use std::io::{BufRead as _, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::{Finished, Place, needs, quiet, wait};
use x11prof_collection::{Cell, EpisodeRow, TableWriter, schema};
use x11prof_trace::{
    Block, ConnectionId, Control, CpuTime, Direction, EmulatedNetwork, Existing, ExistingClient,
    Gap, Opened, Reader, Record, Server, StackFrame, Started, Switch, SwitchKind, SymbolFunction,
    Timestamp, Writer,
};

/// Memory limit of an analysis in kB. A forecast keeps up to 262,144 reads and writes. The clients' resources once
/// used 150 MB here.
const LIMIT_KB: u32 = 64_000;

/// The commands that read a trace; the default file is used.
const COMMANDS: [&[&str]; 17] = [
    &["report", "--params", "sun4-ipc", "--resources"],
    &["report", "--params", "sun4-ipc", "--format", "json"],
    &["report", "--params", "sun4-ipc", "--format", "html"],
    &["compare", "--params", "sun4-ipc", "--params", "xvfb-24"],
    &["stats", "--histograms"],
    &["episodes", "--all"],
    &["episodes", "--marks"],
    &["network"],
    &["dump"],
    &["dump", "--format", "json"],
    &["export", "--to", "pcapng", "-o", "capture"],
    &["export", "--to", "perfetto", "-o", "timeline"],
    &["export", "--to", "firefox", "-o", "profile"],
    &["export", "--to", "pprof", "-o", "flames"],
    &["export", "--to", "collapsed", "-o", "stacks"],
    &["export", "--to", "parquet", "-o", "tables"],
    &["scrub", "x11prof.mcap", "-o", "clean"],
];

/// Commands with these words read a trace like the others and are skipped for long traces.
const ALIKE: [&str; 2] = ["json", "collapsed"];

/// A connection setup request without a cookie.
const SETUP: [u8; 12] = *b"l\0\x0b\0\0\0\0\0\0\0\0\0";

/// Writes a trace with the start record and these records.
pub(crate) fn trace(place: &Place, records: impl IntoIterator<Item = Record>) -> PathBuf {
    let started = Started {
        format: 0,
        recorder: "test".to_owned(),
        wall_clock_ns: 0,
        command: Vec::new(),
        cpu_model: String::new(),
        cpus: 1,
        kernel: String::new(),
        full: false,
    };
    let path = place.path("x11prof.mcap");
    let file = std::fs::File::create(&path).expect("a file");
    let mut writer = Writer::new(file, started, at(0)).expect("a trace");
    let server = Server {
        display: ":1".to_owned(),
        pid: Some(1),
        ..Server::default()
    };
    let opened = Opened {
        connection: ConnectionId(1),
        transport: "unix".to_owned(),
        pid: Some(2),
        name: None,
        command: Vec::new(),
        started_ns: None,
    };
    let first = [Control::Server(server), Control::Opened(opened)]
        .map(|control| Record::Control(at(0), control));
    for record in first
        .into_iter()
        .chain([block(0, &SETUP, None)])
        .chain(records)
    {
        writer.write(&record).expect("a record");
    }
    writer.finish().expect("a whole trace");
    path
}

/// The time of blocks at large offsets, in microseconds: twelve days.
const LAST: u64 = 1 << 40;

/// The time this many microseconds after the start.
pub(crate) fn at(micros: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + micros * 1000)
}

/// A block of bytes from a client, and the number of bytes omitted after it.
fn block(offset: u64, bytes: &[u8], left_out: Option<u32>) -> Record {
    block_of(
        (ConnectionId(1), Direction::ToServer),
        offset,
        bytes,
        left_out,
    )
}

/// A block of bytes in one direction.
fn block_of(
    (connection, direction): (ConnectionId, Direction),
    offset: u64,
    bytes: &[u8],
    left_out: Option<u32>,
) -> Record {
    let len = u32::try_from(bytes.len()).expect("a short block");
    Record::Block(Block {
        time: at(offset.min(LAST)),
        connection,
        direction,
        offset,
        wire_len: len + left_out.unwrap_or_default(),
        fds: 0,
        gaps: left_out
            .map(|left| Gap { at: len, len: left })
            .into_iter()
            .collect(),
        bytes: bytes.to_vec().into(),
    })
}

/// Runs a command and asserts a result or a readable error: a panic has status 101.
fn answered(place: &Place, command: &[&str]) {
    let ran = place.run(command);
    assert!(matches!(ran.status(), Some(0 | 1)), "{ran}");
}

#[test]
fn fifty_thousand_processes_do_not_take_quadratic_time() {
    let place = Place::new();
    let switches = |pid: u32| {
        let switch = |micros, kind| Switch {
            time: at(u64::from(pid) * 10 + micros),
            pid,
            tid: pid,
            cpu: 0,
            kind,
        };
        let reading = CpuTime {
            pid,
            cpu_ns: 5,
            voluntary_switches: None,
            involuntary_switches: None,
        };
        let both = vec![switch(0, SwitchKind::In), switch(5, SwitchKind::Blocked)];
        let time = at(u64::from(pid) * 10 + 7);
        [
            Record::Schedule(both),
            Record::Control(time, Control::CpuTime(reading)),
        ]
    };
    // One thread runs all the time, so that each switch adds time.
    let running = Switch {
        time: at(0),
        pid: 2,
        tid: 2,
        cpu: 1,
        kind: SwitchKind::In,
    };
    let running = Record::Schedule(vec![running]);
    let all = std::iter::once(running).chain((10..50_010).flat_map(switches));
    trace(&place, all);
    // A quadratic analysis would exceed the harness's time limit.
    for command in COMMANDS
        .iter()
        .filter(|words| !ALIKE.iter().any(|one| words.contains(one)))
    {
        answered(&place, command);
    }
}

#[test]
fn huge_gaps_do_not_inflate_the_export() {
    const GAPS: u64 = 50_000;
    let place = Place::new();
    let most = u32::MAX - 4;
    let absurd =
        (0..GAPS).map(|n| block(12 + n * u64::from(u32::MAX), &[127, 0, 1, 0], Some(most)));
    let trace = trace(&place, absurd);
    let ran = place.run(["export", "--to", "pcapng", "-o", "capture"]);
    let said = ran.stderr();
    ran.succeeded();
    let written = std::fs::metadata(place.path("capture"))
        .expect("a file")
        .len();
    let read = std::fs::metadata(trace).expect("a trace").len();
    assert!(written < GAPS * 200, "{written} bytes out of {read}");
    assert!(said.contains("holes"), "{said}");
    for command in COMMANDS
        .iter()
        .filter(|words| !ALIKE.iter().any(|one| words.contains(one)))
    {
        answered(&place, command);
    }
}

/// A setup reply without a screen.
fn answer() -> Vec<u8> {
    let mut setup = vec![1, 0, 11, 0, 0, 0, 8, 0];
    for word in [1_u32, 0x20_0000, 0x1F_FFFF, 256] {
        setup.extend(word.to_le_bytes());
    }
    setup.extend([0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 32, 32, 8, 255, 0, 0, 0, 0]);
    setup
}

/// A client that gets a key press and draws, `count` times, a tenth of a second apart.
pub(crate) fn episodes(count: u64) -> impl Iterator<Item = Record> {
    let mut key = vec![2, 38, 0, 0];
    key.resize(32, 0);
    let draw = [70_u32 | 5 << 16, 0x100, 0x20_0001, 0, 10 | 10 << 16];
    let draw: Vec<u8> = draw.iter().flat_map(|word| word.to_le_bytes()).collect();
    let begun = block_of((ConnectionId(1), Direction::ToClient), 0, &answer(), None);
    let each = move |n: u64| {
        let answered = answer().len() as u64;
        let mut pressed = block_of(
            (ConnectionId(1), Direction::ToClient),
            answered + 32 * n,
            &key,
            None,
        );
        let mut drawn = block(12 + 20 * n, &draw, None);
        for (record, micros) in [(&mut pressed, 0), (&mut drawn, 500 + n % 700)] {
            if let Record::Block(block) = record {
                block.time = at(1_000_000 + n * 100_000 + micros);
            }
        }
        [pressed, drawn]
    };
    std::iter::once(begun).chain((0..count).flat_map(each))
}

/// Clients that each create `pixmaps` pixmaps of different sizes and disconnect.
fn hoarders(clients: u32, pixmaps: u32) -> impl Iterator<Item = Record> {
    (2..clients + 2).flat_map(move |client| {
        let connection = ConnectionId(client);
        let opened = Control::Opened(Opened {
            connection,
            transport: "unix".to_owned(),
            pid: Some(client),
            name: None,
            command: Vec::new(),
            started_ns: None,
        });
        let sent = (0..pixmaps).flat_map(|n| {
            let size = (n % 200 + 1) | (n / 200 + 1) << 16;
            [53 | 4 << 16 | 24 << 8, client << 21 | n, 0x100, size]
        });
        let sent: Vec<u8> = sent.flat_map(u32::to_le_bytes).collect();
        let closed = Control::Closed {
            connection,
            by: "client".to_owned(),
            why: None,
        };
        let time = at(u64::from(client) * 1000);
        let mut blocks = [
            block_of((connection, Direction::ToServer), 0, &SETUP, None),
            block_of((connection, Direction::ToClient), 0, &answer(), None),
            block_of((connection, Direction::ToServer), 12, &sent, None),
        ];
        for block in &mut blocks {
            if let Record::Block(block) = block {
                block.time = time;
            }
        }
        let opened = std::iter::once(Record::Control(time, opened));
        opened.chain(blocks).chain([Record::Control(time, closed)])
    })
}

/// A file of `tests/data/hostile`.
fn hostile(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hostile");
    std::path::Path::new(folder).join(name)
}

/// The records of an MCAP file, except those of private kinds.
fn without_padding(file: &[u8]) -> Vec<u8> {
    let (magic, mut rest) = file.split_at(8);
    let mut short = magic.to_vec();
    while let Some((head, _)) = rest.split_first_chunk::<9>() {
        let length = u64::from_le_bytes(head[1..].try_into().expect("8 bytes"));
        let Some((record, after)) = rest.split_at_checked(9 + length as usize) else {
            break;
        };
        if head[0] < 0x80 {
            short.extend_from_slice(record);
        }
        rest = after;
    }
    short
}

/// A trace of a few kilobytes decompresses to names and stacks of hundreds of megabytes.
#[test]
fn inflated_names_and_stacks_give_an_error() {
    let place = Place::new();
    let long = "a".repeat(900_000);
    let opened = |connection| {
        let opened = Opened {
            connection: ConnectionId(connection),
            transport: "unix".to_owned(),
            pid: Some(connection),
            name: Some(long.clone()),
            command: Vec::new(),
            started_ns: None,
        };
        Record::Control(at(1), Control::Opened(opened))
    };
    let stack = |stack| {
        let frame = StackFrame {
            file: long.clone(),
            address: u64::from(stack),
            function: None,
        };
        let frames = vec![frame];
        let whole = true;
        Record::Control(
            at(1),
            Control::Stack {
                stack,
                frames,
                whole,
            },
        )
    };
    let records: [Vec<Record>; 2] = [(2..60).map(opened).collect(), (0..60).map(stack).collect()];
    for records in records {
        let path = trace(&place, records);
        let file = std::fs::read(&path).expect("the trace");
        let length = file.len();
        assert!(length > 1_500_000, "{length} bytes");
        std::fs::write(&path, without_padding(&file)).expect("a file");
        let length = std::fs::metadata(path).expect("the trace").len();
        assert!(length < 200_000, "{length} bytes");
        for words in ["report", "episodes", "report --format html"] {
            let mut command = std::process::Command::new("sh");
            let script = format!("ulimit -d 120000; exec \"$0\" {words} > page");
            command
                .args(["-c", &script, env!("CARGO_BIN_EXE_x11prof")])
                .current_dir(place.path(""));
            let ran = crate::harness::Finished::of(&mut command);
            assert_eq!(ran.status(), Some(1), "{ran}");
            let line = ran.stderr();
            assert!(line.contains("more than any file of its length"), "{line}");
        }
    }
}

/// Runs a command that reads the default file, within the memory and the CPU time that a file of a megabyte may take. A
/// debug build needs up to ten times the time of the product, of which the limit is 5 s.
fn within_limits(place: &Place, words: &str) -> Finished {
    let mut command = std::process::Command::new("sh");
    let script = format!("ulimit -d 300000; ulimit -t 50; exec \"$0\" {words} > page");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_x11prof")])
        .current_dir(place.path(""));
    Finished::of(&mut command)
}

/// Files that are short, whatever they hold.
#[test]
fn a_megabyte_of_any_content_takes_bounded_memory_and_time() {
    let place = Place::new();
    let requests = |client: u32, bytes: &[u8], count: usize| {
        let connection = ConnectionId(client);
        let opened = Control::Opened(Opened {
            connection,
            transport: "unix".to_owned(),
            pid: Some(client),
            name: None,
            command: Vec::new(),
            started_ns: None,
        });
        let time = at(u64::from(client));
        let sent = [SETUP.to_vec(), bytes.repeat(count)].concat();
        let mut setup = block_of((connection, Direction::ToClient), 0, &answer(), None);
        let mut sent = block_of((connection, Direction::ToServer), 0, &sent, None);
        for block in [&mut setup, &mut sent] {
            if let Record::Block(block) = block {
                block.time = time;
            }
        }
        [Record::Control(time, opened), sent, setup]
    };
    let focus = [43, 0, 1, 0];
    let windows = |count: u32, parent: &dyn Fn(u32) -> u32| {
        let create = |n| {
            let head = [1 | 24 << 8 | 8 << 16, 0x20_0000 + n, parent(n), 0];
            head.into_iter().chain([1 | 1 << 16, 1 << 16, 0, 0])
        };
        (0..count).flat_map(create).collect::<Vec<u32>>()
    };
    let siblings = |n| if n == 0 { 0x100 } else { 0x20_0000 };
    let nested = |n| if n == 0 { 0x100 } else { 0x20_0000 + n - 1 };
    // For each window: it is mapped, and drawn on.
    let drawn = (0..20_000_u32).flat_map(|n| {
        let window = 0x20_0000 + n;
        [8 | 2 << 16, window, 61 | 4 << 16, window, 0, 0]
    });
    let words = |words: Vec<u32>| {
        words
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    let map_all = std::iter::repeat_n([9 | 2 << 16, 0x20_0000], 50_000).flatten();
    let siblings = words(
        windows(20_000, &siblings)
            .into_iter()
            .chain(map_all)
            .collect(),
    );
    let nested = words(windows(20_000, &nested).into_iter().chain(drawn).collect());
    // Threads that are all ready to run.
    let switches = |batch: u32| {
        let switch = |n: u32| Switch {
            time: at(u64::from(batch * 1000 + n)),
            pid: 2,
            tid: 2 + n / 2,
            cpu: 0,
            kind: [SwitchKind::In, SwitchKind::Preempted][n as usize % 2],
        };
        Record::Schedule((0..1000).map(switch).collect())
    };
    let stays = |record: &Record| !matches!(record, Record::Control(_, Control::Closed { .. }));
    let pixmaps = hoarders(1, 50_000).filter(stays);
    let of_one_process = hoarders(500, 0).filter(stays).map(|record| match record {
        Record::Control(time, Control::Opened(opened)) => {
            let pid = Some(2);
            Record::Control(time, Control::Opened(Opened { pid, ..opened }))
        }
        other => other,
    });
    // The first two are requests whose replies never come.
    let shapes: [(&str, &str, Vec<Record>); 8] = [
        (
            "report",
            "clients",
            (2..302).flat_map(|n| requests(n, &focus, 4096)).collect(),
        ),
        ("report", "pending", requests(2, &focus, 1 << 17).into()),
        (
            "report",
            "nothing",
            requests(2, &[127, 0, 1, 0], 1 << 17).into(),
        ),
        ("report", "siblings", requests(2, &siblings, 1).into()),
        ("network", "nested", requests(2, &nested, 1).into()),
        (
            "network",
            "switches",
            requests(2, &focus, 1)
                .into_iter()
                .chain((1..100).map(switches))
                .collect(),
        ),
        (
            "network",
            "connections",
            of_one_process.chain((1000..1100).map(switches)).collect(),
        ),
        (
            "report --format html",
            "closed",
            pixmaps.chain(hoarders(4000, 2).skip(5)).collect(),
        ),
    ];
    for (command, name, records) in shapes {
        trace(&place, records);
        let length = std::fs::metadata(place.path("x11prof.mcap"))
            .expect("a file")
            .len();
        assert!(length < 1 << 20, "{name}: {length} bytes");
        let ran = within_limits(&place, command);
        assert_eq!(ran.status(), Some(0), "{name}: {ran}");
    }
    let noise: Vec<u8> = (0..1_u32 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for content in [vec![0; 1 << 20], noise] {
        place.write("x11prof.mcap", &content);
        let ran = within_limits(&place, "report");
        assert_eq!(ran.status(), Some(1), "{ran}");
    }
}

#[test]
fn lack_of_memory_is_not_reported_as_damage() {
    let place = Place::new();
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let trace = std::fs::read(data.join("gtk3-widget-factory.mcap")).expect("a trace");
    place.write("x11prof.mcap", &trace);
    for megabytes in (40..400).step_by(20) {
        let mut command = std::process::Command::new("sh");
        let script = format!("ulimit -v {megabytes}000; exec \"$0\" report > page");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_x11prof")]);
        let ran = Finished::of(command.current_dir(place.path("")));
        assert!(!ran.stderr().contains("damaged"), "{megabytes} MB: {ran}");
    }
}

/// A trace with a CPU sample at an address in each file. The files are older than the trace.
fn sampled(place: &Place, frames: &[(&std::path::Path, u64)]) {
    let records = frames.iter().zip(0..).flat_map(|((file, address), stack)| {
        let path = place.path("").join(file);
        let program = std::fs::File::open(&path).expect("a program");
        // The test's own program stays unchanged.
        let _ = path
            .starts_with(place.path(""))
            .then(|| program.set_modified(std::time::UNIX_EPOCH));
        let frames = vec![StackFrame {
            file: file.to_string_lossy().into_owned(),
            address: *address,
            function: None,
        }];
        let whole = true;
        let ran = Control::RunStack {
            pid: 2,
            at_ns: at(2).as_nanos(),
            stack,
            ran_ns: 5_000_000,
            kernel: false,
        };
        let stack = Control::Stack {
            stack,
            frames,
            whole,
        };
        [Record::Control(at(1), stack), Record::Control(at(2), ran)]
    });
    trace(place, records.collect::<Vec<_>>());
}

#[test]
fn busy_symbol_reader_ends_with_its_parent() {
    let place = Place::new();
    let mut command = place.x11prof([x11prof_stacks::SYMBOL_READER]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut reader = command.spawn().expect("a reader");
    let mut requests = reader.stdin.take().expect("a pipe");
    // The replies fill the pipe, so the reader cannot finish.
    let all = "[\"/nowhere\",1,null,false]\n".repeat(2500);
    requests.write_all(all.as_bytes()).expect("requests");
    drop(requests);
    let status = wait(&mut reader, "the reader");
    assert_eq!(status.code(), Some(1), "{status}");
}

#[test]
fn file_with_many_names_is_read_once() {
    let place = Place::new();
    let mut command = place.x11prof([x11prof_stacks::SYMBOL_READER]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut reader = command.spawn().expect("a reader");
    let mut requests = reader.stdin.take().expect("a pipe");
    let mut replies = BufReader::new(reader.stdout.take().expect("a pipe")).lines();
    let pid = reader.id();
    let mut peak = |names: std::ops::Range<usize>| -> u64 {
        for number in names {
            let name = format!("/{}{}", "./".repeat(number), env!("CARGO_BIN_EXE_x11prof"));
            writeln!(requests, "[{name:?},{},null,false]", 0x10_0000 + number).expect("a request");
            replies.next().expect("a reply").expect("a line");
        }
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
        peak.expect("a number")
    };
    let (one, many) = (peak(0..1), peak(1..40));
    assert!(many < 2 * one, "{one} kB, {many} kB");
    drop(requests);
    wait(&mut reader, "the reader");
}

/// The symbol library tries to allocate a terabyte for this file.
#[test]
fn hostile_symbol_file_does_not_abort_reports() {
    let place = Place::new();
    let program = place.write(
        "claims",
        &std::fs::read(hostile("claims40")).expect("a file"),
    );
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_x11prof"));
    sampled(&place, &[(&program, 4397), (own, u64::MAX)]);
    let report = place.run(["report", "--by", "function"]);
    assert!(report.succeeded().contains("claims+0x112d"), "{report}");
    let stderr = report.stderr();
    let reported = format!(
        "no function names from {}: reading its symbols failed",
        program.display()
    );
    assert!(stderr.contains(&reported), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    place.ok(["export", "--to", "pprof", "-o", "flames"]);
}

/// A program's file may name other files with debug information, such as a pipe, whose opening would block.
#[test]
fn symbols_are_not_read_through_links_to_pipes() {
    needs("cc", "gcc");
    needs("objcopy", "binutils");
    let place = Place::new();
    place.write("t.c", b"int main(void) { return 0; }");
    place.write("debug", b"");
    let mut section = place.path("debug").into_os_string().into_encoded_bytes();
    section.resize(section.len() + 21, 0);
    place.write("section", &section);
    let script = "cc -g -o plain t.c && objcopy --add-gnu-debuglink=debug plain link && \
        objcopy --add-section .gnu_debugaltlink=section plain alt && cp plain package && rm debug && mkfifo debug package.dwp";
    let made = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(place.path(""))
        .status();
    assert!(made.expect("sh").success());
    let symbols = std::process::Command::new("sh")
        .args(["-c", "nm plain | grep ' T main$' | cut -d ' ' -f 1"])
        .current_dir(place.path(""))
        .output();
    let address = String::from_utf8(symbols.expect("nm").stdout).expect("digits");
    let address = u64::from_str_radix(address.trim(), 16).expect("an address");
    for (name, found) in [
        ("plain", "main [plain]"),
        ("link", "link+"),
        ("alt", "alt+"),
        ("package", "package+"),
    ] {
        sampled(&place, &[(&place.path(name), address)]);
        let report = place.ok(["report", "--by", "function"]);
        assert!(report.contains(found), "{name}: {report}");
    }
    // A relative name would be a file of the current folder.
    sampled(&place, &[("plain".as_ref(), address)]);
    let report = place.ok(["report", "--by", "function"]);
    assert!(report.contains("plain+"), "{report}");
}

/// A page without names starts no separate process.
#[test]
fn names_from_a_separate_process_take_under_30_ms() {
    needs("cc", "gcc");
    let place = Place::new();
    let _quiet = quiet();
    place.write("t.c", b"int main(void) { return 0; }");
    let made = std::process::Command::new("cc")
        .args(["-g", "-o", "program", "t.c"])
        .current_dir(place.path(""))
        .status();
    assert!(made.expect("cc").success());
    let program = place.path("program");
    sampled(&place, &[(&program, 0x1130)]);
    let page = |file: &str| {
        std::fs::rename(&program, place.path(file)).expect("a program");
        let begun = Instant::now();
        let page = place.ok(["report", "--by", "function"]);
        let time = begun.elapsed();
        assert_eq!(page.contains("main ["), file == "program", "{page}");
        std::fs::rename(place.path(file), &program).expect("a program");
        time
    };
    // The fastest of several pages: another program may interrupt each.
    let fastest = |file| (0..9).map(|_| page(file)).min().expect("a time");
    let (without, with) = (fastest("elsewhere"), fastest("program"));
    let cost = with.saturating_sub(without);
    assert!(cost < Duration::from_millis(30), "{with:?} - {without:?}");
}

/// Each of many stacks has two hundred frames with thousands of long names.
#[test]
fn multiplied_function_names_do_not_stop_issues_of_other_recordings() {
    let place = Place::new();
    let file = || "/x/lib.so".to_owned();
    let symbols = (0..3).map(|address| Control::Symbol {
        file: file(),
        address,
        functions: vec![
            SymbolFunction {
                name: "f".repeat(80),
                line: None,
                inlined: true,
            };
            7000
        ],
        start: None,
    });
    let stacks = (0..190_u32).flat_map(|stack| {
        let frame = |n| StackFrame {
            file: file(),
            address: (n + u64::from(stack)) % 3,
            function: None,
        };
        let ran = Control::RunStack {
            pid: 2,
            at_ns: at(2).as_nanos(),
            stack,
            ran_ns: 5_000_000,
            kernel: false,
        };
        let frames = (0..200).map(frame).collect();
        let whole = true;
        let stack = Control::Stack {
            stack,
            frames,
            whole,
        };
        [stack, ran]
    });
    let controls = symbols.chain(stacks);
    trace(
        &place,
        controls.map(|control| Record::Control(at(1), control)),
    );
    let length = std::fs::metadata(place.path("x11prof.mcap"))
        .expect("a file")
        .len();
    assert!(length < 1 << 20, "{length} bytes");
    let other = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/xclock.mcap"
    ));
    place.write("other.mcap", &other.expect("a trace"));
    let ran = within_limits(&place, "issues x11prof.mcap other.mcap --format json");
    assert_eq!(ran.status(), Some(0), "{ran}");
    let page: serde_json::Value =
        serde_json::from_slice(&std::fs::read(place.path("page")).expect("a page")).expect("JSON");
    assert_eq!(
        (&page["sessions"], &page["skipped"]),
        (&2.into(), &serde_json::json!([]))
    );
    for words in [
        "report --by stack",
        "report --by function",
        "export --to pprof --by stack -o flames",
    ] {
        let ran = within_limits(&place, words);
        assert_eq!(ran.status(), Some(0), "{words}: {ran}");
    }
}

/// The symbol library panics on this program's symbols when the recording ends.
#[test]
fn hostile_symbols_do_not_truncate_the_trace() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let bytes = std::fs::read(hostile("keep-symbols-970")).expect("a program");
    let program = place.write("program", &bytes);
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, runs).expect("a program");
    let record = [
        "record",
        "--server",
        "xvfb",
        "--keep-symbols",
        "--stacks=requests",
        "--",
        "./program",
    ];
    let recorded = place.run(record);
    assert!(matches!(recorded.status(), Some(0 | 1)), "{recorded}");
    let file = std::fs::File::open(place.path("x11prof.mcap")).expect("the trace");
    let mut reader = Reader::new(file).expect("a trace");
    let mut symbols = 0;
    while let Some(record) = reader.next().expect("a record") {
        symbols += usize::from(matches!(record, Record::Control(_, Control::Symbol { .. })));
    }
    assert!(reader.is_complete(), "{recorded}");
    assert!(symbols > 0, "{recorded}");
}

/// Numbers in untrusted tables may be arbitrarily large.
#[test]
fn numbers_in_tables_do_not_overflow() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("tables/latencies")).expect("a folder");
    std::fs::copy(
        hostile("latencies.parquet"),
        place.path("tables/latencies/a.parquet"),
    )
    .expect("a copy");
    for words in [
        &["issues", "--details", "tables"][..],
        &["issues", "--format", "json", "tables"],
    ] {
        let ran = place.run(words);
        assert!(matches!(ran.status(), Some(0 | 1)), "{ran}");
    }
}

/// A table with 96 MB of text, which exceeds the reading process's memory limit.
#[test]
fn table_exceeding_memory_is_skipped() {
    let place = Place::new();
    let session = x11prof_collection::Session::default();
    for (name, length) in [("a", 12 << 20), ("b", 8)] {
        let mut table = TableWriter::new(&schema::EPISODES, Vec::new()).expect("a table");
        for number in 0..8 {
            let row = EpisodeRow {
                pattern: format!("{number}{}", "a".repeat(length)),
                latency: 1_000_000_000,
                ..EpisodeRow::default()
            };
            table.row(row.cells(&session)).expect("a row");
        }
        let folder = place.path("tables/episodes");
        std::fs::create_dir_all(&folder).expect("a folder");
        let bytes = table.finish().expect("a table");
        std::fs::write(folder.join(format!("{name}.parquet")), bytes).expect("a file");
    }
    let mut command = std::process::Command::new("sh");
    let script = format!("ulimit -d {LIMIT_KB}; exec \"$0\" issues --format json tables");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_x11prof")])
        .current_dir(place.path(""));
    let ran = crate::harness::Finished::of(&mut command);
    let issues: serde_json::Value = serde_json::from_str(&ran.succeeded()).expect("JSON");
    assert_eq!(issues["issues"][0]["occurrences"], 8, "{issues}");
    let said = ran.stderr();
    assert!(said.contains("a.parquet: it is damaged"), "{said}");
    assert!(
        !said.contains("b.parquet") && !said.contains("panicked"),
        "{said}"
    );
}

/// Writes a table of sessions into the folder of a hive with long names, and returns its size.
fn write_table(place: &Place, name: &str, table: TableWriter<Vec<u8>>) -> usize {
    let [version, user, date] = ["v", "u", "d"].map(|letter| letter.repeat(240));
    let folder = format!("tables/{name}/version={version}/user={user}/date={date}");
    let folder = place.path(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let bytes = table.finish().expect("a table");
    std::fs::write(folder.join("a.parquet"), &bytes).expect("a file");
    bytes.len()
}

/// Computes issues of the tables with `limit_kb` of memory for each process.
fn issues_within(place: &Place, limit_kb: u32) -> serde_json::Value {
    let mut command = std::process::Command::new("sh");
    let script = format!("ulimit -d {limit_kb}; exec \"$0\" issues --format json tables");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_x11prof")])
        .current_dir(place.path(""));
    serde_json::from_str(&Finished::of(&mut command).succeeded()).expect("JSON")
}

/// A folder's names are in memory once, however many sessions a table in it has.
#[test]
fn sessions_of_a_table_share_the_names_of_its_folder() {
    let place = Place::new();
    let mut table = TableWriter::new(&schema::SESSIONS, Vec::new()).expect("a table");
    for number in 0..60_000 {
        let session = x11prof_collection::Session {
            id: format!("{number:016x}"),
            ..x11prof_collection::Session::default()
        };
        table.row(session.cells()).expect("a row");
    }
    write_table(&place, schema::SESSIONS.name, table);
    assert_eq!(issues_within(&place, 48_000)["sessions"], 60_000);
}

/// Each row of the tables begins a session, or an issue with long names that other issues have as well.
#[test]
fn a_megabyte_of_tables_takes_bounded_memory() {
    let place = Place::new();
    let mut latencies = TableWriter::new(&schema::LATENCIES, Vec::new()).expect("a table");
    // Numbers that do not compress, so that the tables may have so many rows.
    let random = |number: u32| number.wrapping_mul(0x9e37_79b1);
    for number in 0..80_000_u32 {
        let id = format!("{:x}", random(number));
        let [program, landmark, trigger] = ["p", "l", "input"].map(Cell::Text);
        let numbers = [Cell::number(0), Cell::number(1)];
        let cells = [Cell::Text(&id), program, landmark, trigger].into_iter();
        latencies.row(cells.chain(numbers)).expect("a row");
    }
    let mut episodes = TableWriter::new(&schema::EPISODES, Vec::new()).expect("a table");
    let session = x11prof_collection::Session {
        id: "episodes".to_owned(),
        ..x11prof_collection::Session::default()
    };
    for number in 0..30_000_u32 {
        let name = |letter: &str, digit: u32| {
            let of = number / 50_u32.pow(digit) % 50;
            format!("{of:02}{}", letter.repeat(1500))
        };
        let row = EpisodeRow {
            program: Some(name("p", 0)),
            landmark: name("l", 1),
            blame: name("b", 2),
            pattern: name("t", 0),
            start: u64::from(random(number)),
            latency: 1_000_000_000,
            ..EpisodeRow::default()
        };
        episodes.row(row.cells(&session)).expect("a row");
    }
    let sizes = [(schema::LATENCIES, latencies), (schema::EPISODES, episodes)]
        .map(|(of, table)| write_table(&place, of.name, table));
    assert!(sizes.iter().all(|size| *size < 1_000_000), "{sizes:?}");
    let report = issues_within(&place, 200_000);
    assert_eq!(report["sessions"], 80_001, "{sizes:?}");
    // The last issue has all episodes beyond the limit.
    let issues = report["issues"].as_array().expect("a list");
    let occurrences = issues
        .iter()
        .filter_map(|issue| issue["occurrences"].as_u64());
    assert_eq!((issues.len(), occurrences.sum::<u64>()), (20_001, 30_000));
    assert_eq!(issues[1]["program"].as_str().expect("a name").len(), 1024);
}

/// Sums of forecasts and start-ups do not overflow with the slowest network that a trace may have.
#[test]
fn extreme_numbers_in_records_do_not_panic() {
    let place = Place::new();
    let client = ExistingClient {
        connection: ConnectionId(1),
        first: 0x20_0000,
        mask: u32::MAX,
    };
    let existing = Control::Existing(Existing {
        clients: vec![client],
        ..Existing::default()
    });
    let network = Control::Network(EmulatedNetwork {
        bytes_per_second: Some(f64::MIN_POSITIVE),
        round_trip_ns: 1 << 44,
        jitter_ns: 1 << 44,
        loss: 1.0,
        ..EmulatedNetwork::default()
    });
    let controls = [existing, network].map(|control| Record::Control(at(1), control));
    trace(&place, controls.into_iter().chain(episodes(20)));
    for command in [
        &["episodes", "--all"][..],
        &["network", "--all"],
        &["report", "--format", "html"],
        &["export", "--to", "parquet", "-o", "tables"],
    ] {
        place.ok(command);
    }
}

#[test]
fn x_errors_are_counted_on_the_first_page() {
    let place = Place::new();
    let to_client = (ConnectionId(1), Direction::ToClient);
    let destroy = [4, 0, 2, 0, 7, 0, 0x20, 0].repeat(3);
    // BadWindow (3) for each request, with its sequence number, the window and the major opcode.
    let failed = (1..4).flat_map(|n| {
        let mut error = vec![0, 3, n, 0, 7, 0, 0x20, 0, 0, 0, 4];
        error.resize(32, 0);
        error
    });
    let failed: Vec<u8> = failed.collect();
    let records = [
        block_of(to_client, 0, &answer(), None),
        block(12, &destroy, None),
        block_of(to_client, answer().len() as u64, &failed, None),
    ];
    trace(&place, records);
    let page = place.ok(["report", "--params", "sun4-ipc"]);
    assert!(page.contains("3 BadWindow"), "{page}");
}

#[test]
fn pages_and_exports_have_no_control_characters() {
    let place = Place::new();
    let bad = ['\u{1b}', '\u{9b}', '\u{202e}', '\u{2028}'];
    let name: String = bad.into_iter().collect();
    changed(&place, "xterm.mcap", 1, |record, _| {
        if let Record::Control(_, Control::Opened(opened)) = record {
            opened.name = Some(name.clone());
        }
    });
    let named = format!("{name}.mcap");
    std::fs::rename(place.path("x11prof.mcap"), place.path(&named)).expect("a rename");
    place.ok(["report", "--format", "html", "-o", "report", &named]);
    place.ok(["export", "--to", "firefox", "-o", "profile", &named]);
    place.ok(["export", "--to", "perfetto", "-o", "events", &named]);
    let events = std::fs::read(place.path("events")).expect("an export");
    let has = |name: &str| events.windows(name.len()).any(|at| at == name.as_bytes());
    assert!(has("????") && !has(&name));
    for page in ["network", "report", "episodes", "stats"] {
        let text = place.ok([page, &named]);
        assert!(!text.contains(bad), "{page}: {text:?}");
    }
    place.ok([
        "issues",
        "--threshold",
        "1",
        "--format",
        "html",
        "-o",
        "pages",
        &named,
    ]);
    let pages = std::fs::read_dir(place.path("pages")).expect("a folder");
    let pages = pages.map(|page| page.expect("a page").path());
    let mut read = 0;
    for page in pages.chain([place.path("report"), place.path("profile")]) {
        let text = std::fs::read_to_string(&page).expect("a page");
        assert!(!text.contains(bad), "{}", page.display());
        read += 1;
    }
    assert!(read > 3);
}

#[test]
fn memory_use_is_bounded_for_long_traces() {
    let place = Place::new();
    let limited = |words: &str| {
        let mut command = std::process::Command::new("sh");
        let script = format!("ulimit -d {LIMIT_KB}; exec \"$0\" {words} > /dev/null");
        command
            .args(["-c", &script, env!("CARGO_BIN_EXE_x11prof")])
            .current_dir(place.path(""));
        crate::harness::Finished::of(&mut command).succeeded();
    };
    trace(&place, episodes(40_000));
    limited("episodes --format json");
    limited("report --params sun4-ipc --format html");
    for to in ["perfetto", "pprof"] {
        limited(&format!("export --to {to} -o /dev/null"));
    }
    trace(&place, hoarders(600, 1000));
    limited("report --params sun4-ipc --resources");
    limited("report --params sun4-ipc --format json");
    limited("report --params sun4-ipc --format html");
}

/// Writes a copy of a kept recording with randomly changed records.
pub(crate) fn changed(
    place: &Place,
    name: &str,
    mut seed: u64,
    change: impl Fn(&mut Record, &mut dyn FnMut() -> u64),
) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let file = std::fs::File::open(folder.join(name)).expect("a kept trace");
    let mut reader = Reader::new(std::io::BufReader::new(file)).expect("a trace");
    let path = place.path("x11prof.mcap");
    let to = std::fs::File::create(&path).expect("a file");
    let began = reader.next().expect("a record");
    let Some(Record::Control(began, Control::Started(started))) = began else {
        panic!("{began:?}")
    };
    let mut writer = Writer::new(to, started, began).expect("a trace");
    // A simple pseudo-random generator (Knuth's MMIX LCG).
    let mut random = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    while let Some(mut record) = reader.next().expect("a record") {
        change(&mut record, &mut random);
        writer.write(&record).expect("a record");
    }
    writer.finish().expect("a whole trace");
}

/// Changes about one in `of` bytes of a block.
pub(crate) fn garble(record: &mut Record, random: &mut dyn FnMut() -> u64, of: u64) {
    if let Record::Block(block) = record {
        let mut bytes = block.bytes.to_vec();
        for byte in &mut bytes {
            if random().is_multiple_of(of) {
                *byte = random() as u8;
            }
        }
        block.bytes = bytes.into();
    }
}

/// Changes the record's times.
pub(crate) fn shift(record: &mut Record, mut shifted: impl FnMut(Timestamp) -> Timestamp) {
    match record {
        Record::Block(block) => block.time = shifted(block.time),
        Record::Control(time, _) => *time = shifted(*time),
        Record::Schedule(all) => all.iter_mut().for_each(|one| one.time = shifted(one.time)),
        Record::HandlerTimes(all) => all
            .iter_mut()
            .for_each(|one| one.start = shifted(one.start)),
    }
}

#[test]
fn clock_jumps_of_years_do_not_panic() {
    let place = Place::new();
    for (name, of) in [("xset.mcap", 2), ("xclock.mcap", 3), ("xterm.mcap", 50)] {
        changed(&place, name, of, |record, random| {
            shift(record, |time| match random() % of {
                // Add up to nine years.
                0 => Timestamp::from_nanos(time.as_nanos() + (random() << 27)),
                _ => time,
            });
        });
        for command in COMMANDS {
            answered(&place, command);
        }
    }
}

#[test]
fn times_that_go_back_a_little_panic_no_page() {
    let place = Place::new();
    for seed in 1..4 {
        changed(&place, "xclock.mcap", seed, |record, random| {
            shift(record, |time| match random() % 20 {
                0 => Timestamp::from_nanos(time.as_nanos().saturating_sub(1_000_000_000)),
                1 => Timestamp::from_nanos(time.as_nanos() + 1_000_000_000),
                _ => time,
            });
        });
        for command in [&["network", "--all"][..], &["report", "--format", "html"]] {
            answered(&place, command);
        }
    }
    // A clock that was set back once.
    for number in [11, 15, 21, 25] {
        let count = std::cell::Cell::new(0);
        changed(&place, "emacs.mcap", 1, |record, _| {
            count.set(count.get() + 1);
            let back = if count.get() < number {
                0
            } else {
                1_000_000_000
            };
            shift(record, |time| {
                Timestamp::from_nanos(time.as_nanos().saturating_sub(back))
            });
        });
        for command in [&["network", "--all"][..], &["report"]] {
            answered(&place, command);
        }
    }
}

#[test]
fn impossible_timestamp_is_reported_and_recoverable() {
    let place = Place::new();
    changed(&place, "xset.mcap", 1, |record, random| {
        shift(record, |time| match random() % 50 {
            0 => Timestamp::from_nanos(u64::MAX),
            _ => time,
        });
    });
    let line = place.run(["report", "--params", "xvfb-24"]);
    let line = line.failed_with_one_line(1);
    assert!(line.contains("beyond those of any recording"), "{line}");
    place.ok(["recover", "x11prof.mcap", "-o", "whole.mcap"]);
    place.ok(["report", "--params", "xvfb-24", "whole.mcap"]);
}

#[test]
fn garbled_messages_do_not_panic() {
    let place = Place::new();
    for (name, seed, of) in [
        ("xset.mcap", 1, 50),
        ("xset.mcap", 2, 2000),
        ("xclock.mcap", 3, 500),
    ] {
        changed(&place, name, seed, |record, random| {
            garble(record, random, of)
        });
        for command in COMMANDS {
            answered(&place, command);
        }
    }
}

/// Two recordings with many differing messages: single ones among equal messages, or all of them.
#[test]
fn diverging_megabytes_take_bounded_memory_and_time() {
    let place = Place::new();
    let write = |name: &str, direction: Direction, message: &dyn Fn(u32) -> Vec<u8>| {
        let (start, count) = match direction {
            Direction::ToServer => (SETUP.len(), 450_000),
            Direction::ToClient => (answer().len(), 250_000),
        };
        let all: Vec<u8> = (0..count).flat_map(message).collect();
        let parts = all.chunks(1 << 18).enumerate().map(|(part, bytes)| {
            let offset = start + part * (1 << 18);
            block_of((ConnectionId(1), direction), offset as u64, bytes, None)
        });
        let answered = block_of((ConnectionId(1), Direction::ToClient), 0, &answer(), None);
        let path = trace(&place, std::iter::once(answered).chain(parts));
        let length = std::fs::metadata(&path).expect("a file").len();
        assert!(length < 1 << 20, "{name}: {length} bytes");
        std::fs::rename(path, place.path(name)).expect("another name");
    };
    let alternating = |opcode: u8| move |n: u32| vec![[43, opcode][n as usize % 2], 0, 1, 0];
    write("focus", Direction::ToServer, &alternating(43));
    write("keys", Direction::ToServer, &alternating(119));
    write("nothing", Direction::ToServer, &|_| vec![127, 0, 1, 0]);
    let pressed = |first: u32| {
        move |n: u32| {
            let mut event = vec![2, (first + n % 7 * n % 3) as u8, 0, 0];
            event.resize(32, 0);
            event
        }
    };
    write("pressed", Direction::ToClient, &pressed(8));
    write("others", Direction::ToClient, &pressed(60));
    // Windows that the servers chose.
    let windows = |first: u32| {
        move |n: u32| {
            let id = (first + n / 4).to_le_bytes();
            let mut event = [&[2, 8, 0, 0, 0, 0, 0, 0][..], &id, &id, &id].concat();
            event.resize(32, 0);
            event
        }
    };
    write("windows", Direction::ToClient, &windows(1 << 20));
    write("again", Direction::ToClient, &windows(1 << 24));
    for pair in [
        ["focus", "nothing"],
        ["focus", "keys"],
        ["pressed", "others"],
        ["windows", "again"],
    ] {
        let ran = within_limits(&place, &format!("diverge {} {}", pair[0], pair[1]));
        assert!(matches!(ran.status(), Some(0 | 1)), "{pair:?}: {ran}");
    }
}
