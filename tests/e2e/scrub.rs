//! A scrubbed recording can be shared: it contains no typed or shown text, no title and no path, and every report
//! has the same figures, except that requests are repeated ones if they differed only in unused bytes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use crate::harness::raw::{Client, Order};
use crate::harness::{Finished, Place, Recording, Server, needs, wait};
use rustix::process::Signal;
use serde_json::Value;
use x11prof_analyzer::{Observation, Pipeline};
use x11prof_protocol::Message;
use x11prof_trace::{Direction, Part, Reader, Record};

/// Reports whose figures must be the same for the copy.
const REPORTS: [&[&str]; 5] = [
    &["report"],
    &["report", "--resources"],
    &["stats"],
    &["network"],
    &["episodes"],
];

/// The searchable contents of a trace.
struct Contents {
    /// The bytes of each direction of each connection.
    streams: Vec<Vec<u8>>,
    controls: String,
    /// The key codes of the key presses that each client sent or received, in order, by message.
    presses: HashMap<(u32, &'static str), Vec<u32>>,
}

impl Contents {
    fn of(trace: &Path) -> Contents {
        let file = BufReader::new(File::open(trace).expect("a trace"));
        let mut reader = Reader::new(file).expect("a trace");
        let mut pipeline = Pipeline::new();
        let mut streams: HashMap<(u32, Direction), Vec<u8>> = HashMap::new();
        let mut controls = String::new();
        let mut presses: HashMap<_, Vec<u32>> = HashMap::new();
        while let Some(record) = reader.next().expect("a whole trace") {
            match &record {
                Record::Block(block) => {
                    let stream = streams.entry((block.connection.0, block.direction));
                    let stream = stream.or_default();
                    for part in block.parts() {
                        if let Part::Kept(bytes) = part {
                            stream.extend(bytes);
                        }
                    }
                }
                Record::Control(_, control) => {
                    controls += &serde_json::to_string(control).expect("JSON");
                }
                Record::Schedule(_) | Record::HandlerTimes(_) => {}
            }
            pipeline.run_records([record], |observation| {
                let Observation::Message(seen) = observation else {
                    return;
                };
                let (name, code) = match seen.message {
                    Message::Event(event) => match event.name.as_str() {
                        name @ "KeyPress" => (name, u32::from(event.bytes[1])),
                        name @ ("XInputExtension:KeyPress" | "XInputExtension:RawKeyPress") => {
                            (name, event.order.u32(event.bytes, 16).expect("a key"))
                        }
                        _ => return,
                    },
                    Message::Request(request)
                        if request.name.as_str() == "XTEST:FakeInput" && request.bytes[4] == 2 =>
                    {
                        (request.name.as_str(), u32::from(request.bytes[5]))
                    }
                    _ => return,
                };
                let client = (seen.connection.0, name);
                presses.entry(client).or_default().push(code);
            });
        }
        Contents {
            streams: streams.into_values().collect(),
            controls,
            presses,
        }
    }

    /// The encodings in which the trace contains a word.
    fn find(&self, word: &str) -> Vec<&'static str> {
        let wide = |big: bool| -> Vec<u8> {
            let bytes = |unit: u16| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            };
            word.encode_utf16().flat_map(bytes).collect()
        };
        let encodings = [
            ("UTF-8", word.as_bytes().to_vec()),
            ("Latin-1", word.chars().map(|letter| letter as u8).collect()),
            ("UCS-2", wide(true)),
            ("UTF-16, little endian", wide(false)),
        ];
        let is_in = |bytes: &[u8]| {
            let has = |stream: &Vec<u8>| stream.windows(bytes.len()).any(|at| at == bytes);
            self.streams.iter().any(has)
        };
        let found = encodings.iter().filter(|(_, bytes)| is_in(bytes));
        let mut found: Vec<_> = found.map(|(encoding, _)| *encoding).collect();
        found.extend(self.controls.contains(word).then_some("JSON"));
        found
    }
}

/// Scrubs a trace into a copy next to it.
fn scrub(place: &Place, trace: &Path) -> PathBuf {
    let copy = place.path("scrubbed.mcap");
    let ran = Finished::of(place.x11prof(["scrub"]).arg(trace).arg("-o").arg(&copy));
    assert!(ran.stderr().contains("messages changed"), "{ran}");
    assert!(ran.stderr().contains("kept: times"), "{ran}");
    copy
}

/// A report without names and without the fields that differ in a copy.
fn figures(place: &Place, trace: &Path, words: &[&str]) -> Value {
    fn without_names(value: &mut Value) {
        match value {
            Value::String(text) => text.clear(),
            Value::Array(values) => values.iter_mut().for_each(without_names),
            Value::Object(members) => {
                // A copy is marked as scrubbed and has no command line. Key codes are hidden, so each key press is
                // a separate landmark and phase; `groups` combines them.
                for member in ["records", "command", "landmarks", "phases"] {
                    members.remove(member);
                }
                members.values_mut().for_each(without_names);
            }
            _ => {}
        }
    }
    let (command, options) = words.split_first().expect("a command");
    let mut ran = place.x11prof([command]);
    let text = Finished::of(ran.arg(trace).args(options).args(["--format", "json"])).succeeded();
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    without_names(&mut value);
    value
}

fn assert_equal_reports(place: &Place, trace: &Path, copy: &Path) {
    for words in REPORTS {
        let [mut before, mut after] = [trace, copy].map(|trace| figures(place, trace, words));
        if words == ["network"] {
            // The replies with pictures and keyboard maps differ, and savings depend on the repeated requests.
            for report in [&mut before, &mut after] {
                let members = report.as_object_mut().expect("an object");
                members
                    .retain(|name, _| !["duplicates", "suggestions", "total"].contains(&&**name));
            }
        }
        assert_eq!(before, after, "{words:?} of {}", trace.display());
    }
}

#[test]
fn scrubbed_traces_give_the_same_report_figures() {
    let place = Place::new();
    for name in ["xset", "xclock", "xterm", "gtk3-widget-factory"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let trace = folder.join(name).with_extension("mcap");
        let copy = scrub(&place, &trace);
        assert_equal_reports(&place, &trace, &copy);
    }
}

#[test]
fn scrub_does_not_replace_its_input() {
    let place = Place::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let bytes = std::fs::read(folder.join("xset.mcap")).expect("a trace");
    let trace = place.write("x11prof.mcap", &bytes);
    let ran = place.run(["scrub", "-o", "x11prof.mcap"]);
    assert!(
        ran.failed_with_one_line(2)
            .contains("would replace an input file")
    );
    assert_eq!(std::fs::read(trace).expect("a trace"), bytes);
}

/// The typed words; the last one has a letter twice in a row.
const TYPED: [&str; 3] = ["quixotic", "walnuts", "zeppelin"];
const TITLE: &str = "Ledger of Münchhausen";

/// The path that the terminal shows.
const PATH: &str = "/srv/marzipan/accounts.txt";

/// The words that the copy must not contain.
fn words() -> impl Iterator<Item = &'static str> {
    TYPED
        .into_iter()
        .chain([TITLE, "Münchhausen", PATH, "marzipan"])
}

/// Records a terminal with a title, in which words are typed and a path is shown.
fn type_into_a_terminal(place: &Place, server: &Server, trace: &Path, options: &[&str]) {
    let display = ["--display", &server.display];
    let mut recording = Recording::at(place, trace, &[&display, options].concat());
    // No key needs a modifier, because the copy hides which presses are modifiers.
    let script = "read line; printf 'shown: %s\\n' \"$0\"; sleep 1";
    let mut xterm = recording
        .client("xterm")
        .env("LC_ALL", "C.UTF-8")
        .args(["-u8", "-T", TITLE, "-e", "sh", "-c", script, PATH])
        .spawn()
        .expect("xterm starts");
    let mut person = recording.client("xdotool");
    person.args(["search", "--sync", "--onlyvisible", "--class", "xterm"]);
    person.args(["windowfocus", "--sync", "type", "--delay", "30"]);
    person.arg(format!("{}\n", TYPED.join(" ")));
    Finished::of(&mut person).succeeded();
    wait(&mut xterm, "xterm");
    assert!(recording.signal(Signal::INT).success());
}

#[test]
fn scrub_removes_typed_and_shown_text() {
    needs("xterm", "xterm");
    needs("xdotool", "xdotool");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let trace = place.path("typed.mcap");
    type_into_a_terminal(&place, &server, &trace, &[]);

    let copy = scrub(&place, &trace);
    let (before, after) = (Contents::of(&trace), Contents::of(&copy));
    for word in words() {
        // The search must find each word in the original.
        assert_ne!(before.find(word), [""; 0], "{word} in the recording");
        assert_eq!(after.find(word), [""; 0], "{word} in the copy");
    }

    assert!(before.presses.keys().any(|(_, name)| *name == "KeyPress"));
    for (client, codes) in &before.presses {
        let scrubbed = &after.presses[client];
        assert_eq!(scrubbed.len(), codes.len(), "{client:?}");
        let line: usize = TYPED.iter().map(|word| word.len() + 1).sum();
        if codes.len() < line {
            continue;
        }
        let mut rest = &codes[..];
        for word in TYPED {
            let (typed, more) = rest.split_at(word.len() + 1);
            rest = more;
            let keys = &typed[..word.len()];
            let spells = scrubbed.windows(keys.len()).any(|codes| codes == keys);
            assert!(!spells, "{word}: {keys:?} in {scrubbed:?}");
        }
        // The replacement follows no rule: each press has a different code.
        let mut different = scrubbed.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), scrubbed.len(), "{scrubbed:?}");
    }
    assert_equal_reports(&place, &trace, &copy);
}

#[test]
fn scrubbed_recording_never_contains_typed_or_shown_text() {
    needs("xterm", "xterm");
    needs("xdotool", "xdotool");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let trace = place.path("scrubbed-at-once.mcap");
    type_into_a_terminal(&place, &server, &trace, &["--scrub"]);
    let contents = Contents::of(&trace);
    for word in words() {
        assert_eq!(contents.find(word), [""; 0], "{word}");
    }
    assert!(
        contents.controls.contains("scrubbed"),
        "it says that it is one"
    );
    let typed: usize = TYPED.iter().map(|word| word.len() + 1).sum();
    let presses = contents.presses.values().map(Vec::len).max();
    assert!(presses >= Some(typed), "{presses:?} keys");
    // The copy is complete and can be reported like any recording.
    let report = place.json([
        "report",
        trace.to_str().expect("a name"),
        "--params",
        "xvfb-24",
        "--format",
        "json",
    ]);
    assert_eq!(report["trace"]["complete"], true);
    assert_eq!(report["trace"]["unpaired_replies"], 0);
}

/// Texts that an input method and a program exchange, and the pixels of a glyph.
const PREVIEW: &str = "pomegranate blossom";
const COMMITTED: &str = "cinnabar";
const PICTURE: &str = "the ink of a tourmaline letter  ";
/// The beginnings of such texts in requests with 32-bit lengths.
const LONG: [&str; 2] = ["sassafras", "obsidian"];

/// A client that receives text from an input method, in messages and in a property, and adds a glyph.
fn through_an_input_method(recording: &Recording) {
    let mut client = recording.raw(Order::Little);
    let (window, root) = (client.id(1), client.root());
    client.request(1, 0, &[window, root, 0, 10 | 10 << 16, 1 << 16, 0, 0]);
    let atom = |client: &mut Client, name: &str| {
        let padded = name.len().next_multiple_of(4);
        let mut bytes = vec![16, 0, (2 + padded / 4) as u8, 0, name.len() as u8, 0, 0, 0];
        bytes.extend(name.as_bytes());
        bytes.resize(8 + padded, 0);
        client.socket.write_all(&bytes).expect("InternAtom");
        client.order.read_u32(&client.reply().0, 8)
    };
    let protocol = atom(&mut client, "_XIM_PROTOCOL");
    let property = atom(&mut client, "_client0");
    let words = |bytes: &[u8]| -> Vec<u32> {
        let words = bytes.chunks_exact(4);
        words.map(|four| Order::Little.read_u32(four, 0)).collect()
    };
    // XIM_COMMIT in a ClientMessage of 8-bit units to the client itself, which also receives the event.
    let mut packet = [63, 0, 4, 0, 1, 0, 1, 0, 2, 0, 8, 0].to_vec();
    packet.extend(COMMITTED.as_bytes());
    let message = [vec![33 | 8 << 8, window, protocol], words(&packet)].concat();
    client.request(25, 0, &[vec![window, 0], message].concat());
    // XIM_PREEDIT_DRAW is too long for a message: a property holds it, and the message has the property's length
    // and atom.
    let mut packet = vec![73, 0, 11, 0, 1, 0, 1, 0];
    packet.extend([1, 0, 0, 0].repeat(4));
    packet.extend([19, 0]);
    packet.extend(PREVIEW.as_bytes());
    packet.resize(packet.len().next_multiple_of(4), 0);
    let length = packet.len() as u32;
    let value = [vec![window, property, 31, 8, length], words(&packet)].concat();
    client.request(18, 2, &value);
    let message = vec![33 | 32 << 8, window, protocol, length, property, 0, 0, 0];
    client.request(25, 0, &[vec![window, 0], message].concat());
    client.request(20, 1, &[window, property, 31, 0, 1000]);
    assert!(client.reply().0.ends_with(&packet));
    // RENDER: the 8-bit alpha format has alpha mask 255 and depth 8.
    let render = client.extension("RENDER");
    client.request(render, 1, &[]);
    let (formats, _) = client.reply();
    let alpha = formats[32..].chunks_exact(28).find(|one| {
        let masks = client.order.read_u16(one, 22);
        one[5] == 8 && one[4] == 1 && masks == 255
    });
    let alpha = client.order.read_u32(alpha.expect("a format"), 0);
    let set = client.id(2);
    client.request(render, 17, &[set, alpha]);
    let glyph = vec![set, 1, 65, 8 | 4 << 16, 0, 8];
    let glyph = [glyph, words(PICTURE.as_bytes())].concat();
    client.request(render, 20, &glyph);
    // The same requests with BIG-REQUESTS lengths.
    let big_requests = client.extension("BIG-REQUESTS");
    client.request(big_requests, 0, &[]);
    client.reply();
    let [text, ink] = LONG.map(|word| words(format!("{word:32}").as_bytes()));
    let text = [vec![window, property, 31, 8, 32], text].concat();
    let glyph = [vec![set, 1, 66, 8 | 4 << 16, 0, 8], ink].concat();
    for (major, minor, fields) in [(18, 0, text), (render, 20, glyph)] {
        let length = 2 + fields.len() as u32;
        let head = [u32::from(major) | minor << 8, length];
        for field in head.into_iter().chain(fields) {
            client.socket.write_all(&field.to_le_bytes()).expect("it");
        }
    }
    client.request(20, 1, &[window, property, 31, 0, 1000]);
    client.reply();
}

#[test]
fn scrub_removes_input_method_text_and_glyph_images() {
    let place = Place::new();
    let [text, ink] = LONG;
    let planted = [
        COMMITTED,
        PREVIEW,
        "blossom",
        PICTURE,
        "tourmaline",
        text,
        ink,
    ];
    let trace = place.path("planted.mcap");
    for options in [&["--server", "xvfb"][..], &["--server", "xvfb", "--scrub"]] {
        let mut recording = Recording::at(&place, &trace, options);
        through_an_input_method(&recording);
        assert!(recording.signal(Signal::INT).success());
        let scrubbed = options.contains(&"--scrub");
        let found = Contents::of(&trace);
        for word in planted {
            assert_eq!(found.find(word).is_empty(), scrubbed, "{word}: {options:?}");
        }
        if !scrubbed {
            let copy = Contents::of(&scrub(&place, &trace));
            for word in planted {
                assert_eq!(copy.find(word), [""; 0], "{word} in the copy");
            }
            std::fs::remove_file(&trace).expect("the trace");
        }
    }
}
