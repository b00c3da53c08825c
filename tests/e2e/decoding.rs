//! Each message of xcb-proto's descriptions with random contents, decoded and compared with these contents.

use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Stdio};

use x11prof_trace::{Block, ConnectionId, Control, Direction, Opened, Record, Started, Writer};

use crate::harness::Place;
use crate::hostile::at;

/// The folder of Debian's package xcb-proto.
const DESCRIPTIONS: &str = "/usr/share/xcb";

#[test]
fn decoded_messages_match_a_second_decoder() {
    for seed in ["1", "2", "3"] {
        let place = Place::new();
        let python = |what| {
            let mut python = Command::new("python3");
            python.args(["tests/e2e/decoding.py", what, DESCRIPTIONS, seed]);
            python
        };
        let made = python("make").output().expect("python3 and xcb-proto");
        let made = String::from_utf8(made.stdout).expect("text");
        write_trace(&place, &made);
        let dump = place.run(["dump", "--format", "json"]).succeeded();
        let mut check = python("check");
        check.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut check = check.stderr(Stdio::piped()).spawn().expect("python3");
        let mut stdin = check.stdin.take().expect("a pipe");
        let written = std::thread::spawn(move || stdin.write_all(dump.as_bytes()));
        let checked = check.wait_with_output().expect("a result");
        written.join().expect("no panic").expect("a reader");
        let differences = String::from_utf8_lossy(&checked.stdout);
        let counts = String::from_utf8_lossy(&checked.stderr);
        assert!(differences.is_empty(), "seed {seed}, {counts}{differences}");
        let compared = counts
            .split(' ')
            .next()
            .and_then(|count| count.parse().ok());
        assert!(compared > Some(2100), "{counts}");
    }
}

/// Writes a trace of two connections with the messages that the script prints.
fn write_trace(place: &Place, made: &str) {
    let mut lines = made.lines();
    let extensions = serde_json::from_str(lines.next().expect("a list")).expect("extensions");
    let file = File::create(place.path("x11prof.mcap")).expect("a file");
    let started = Started {
        format: 0,
        recorder: "test".to_owned(),
        wall_clock_ns: 0,
        command: Vec::new(),
        cpu_model: String::new(),
        cpus: 1,
        kernel: String::new(),
        full: true,
    };
    let mut writer = Writer::new(file, started, at(0)).expect("a trace");
    let opened = |number| {
        Control::Opened(Opened {
            connection: ConnectionId(number),
            transport: "unix".to_owned(),
            pid: None,
            name: None,
            command: Vec::new(),
            started_ns: None,
        })
    };
    for control in [Control::Extensions { extensions }, opened(1), opened(2)] {
        writer
            .write(&Record::Control(at(0), control))
            .expect("a record");
    }
    let mut offsets = [[0; 2]; 3];
    for (number, line) in lines.enumerate() {
        let mut words = line.split(' ');
        let connection: u32 = words
            .next()
            .and_then(|word| word.parse().ok())
            .expect("a number");
        let direction = match words.next() {
            Some("to-server") => Direction::ToServer,
            _ => Direction::ToClient,
        };
        let digits = words.next().expect("bytes").as_bytes().chunks(2);
        let byte = |two| u8::from_str_radix(std::str::from_utf8(two).expect("digits"), 16);
        let bytes: Vec<u8> = digits.map(|two| byte(two).expect("a byte")).collect();
        let len = u32::try_from(bytes.len()).expect("a short message");
        let toward = usize::from(direction == Direction::ToClient);
        let offset: &mut u64 = &mut offsets[connection as usize][toward];
        let block = Block {
            time: at(1000 + number as u64),
            connection: ConnectionId(connection),
            direction,
            offset: *offset,
            wire_len: len,
            fds: 0,
            gaps: Vec::new(),
            bytes: bytes.into(),
        };
        *offset += u64::from(len);
        writer.write(&Record::Block(block)).expect("a record");
    }
    writer.finish().expect("a whole trace");
}
