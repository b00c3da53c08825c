//! `export` of the small recordings of real programs in `tests/data`. `cargo xtask validate exports` checks the
//! results with third-party readers.

use std::path::Path;
use std::process::Command;

use crate::harness::{Finished, Place, needs};

/// Exports a kept recording and returns the file's bytes.
fn export(place: &Place, recording: &str, format: &str) -> Vec<u8> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let trace = place.path(recording);
    std::fs::copy(kept.join(recording), &trace).expect("the recording is kept");
    place.ok(["export", recording, "--to", format, "-o", format]);
    std::fs::read(place.path(format)).expect("it was written")
}

fn text(place: &Place, recording: &str, format: &str) -> String {
    String::from_utf8(export(place, recording, format)).expect("text")
}

#[test]
fn collapsed_stacks_add_up_to_server_time() {
    for recording in ["xterm.mcap", "gtk3-widget-factory.mcap", "xset.mcap"] {
        let place = Place::new();
        let stacks = text(&place, recording, "collapsed");
        let micros = stacks.lines().map(|line| {
            let (stack, micros) = line.rsplit_once(' ').expect("a stack and a number");
            assert_eq!(stack.split(';').count(), 3, "{line}");
            micros.parse::<f64>().expect("a number")
        });
        let sum = micros.sum::<f64>() / 1000.0;
        let report = place.json(["report", "--format", "json", recording]);
        let total = report["total"]["server_ms"].as_f64().expect("a time");
        // Each line is rounded to one microsecond.
        let rounding = 0.0005 * (stacks.lines().count() + 50) as f64;
        assert!((sum - total).abs() < rounding, "{sum} {total}\n{stacks}");
        assert!(stacks.contains(";0x"), "windows have names\n{stacks}");
    }
}

#[test]
fn protoc_decodes_pprof_export_with_published_definition() {
    const DEFINITION: &str = "/usr/share/gocode/src/github.com/google/pprof/proto";
    needs("protoc", "protobuf-compiler");
    assert!(
        Path::new(DEFINITION).exists(),
        "install Debian's package golang-github-google-pprof-dev (cargo xtask test does)"
    );
    let place = Place::new();
    export(&place, "xterm.mcap", "pprof");
    let zipped = place.path("pprof.gz");
    std::fs::rename(place.path("pprof"), &zipped).expect("it was written");
    Finished::of(Command::new("gzip").arg("-d").arg(&zipped)).succeeded();
    let profile = std::fs::File::open(place.path("pprof")).expect("it was unzipped");
    let mut protoc = Command::new("protoc");
    protoc
        .arg("--decode=perftools.profiles.Profile")
        .arg(format!("--proto_path={DEFINITION}"))
        .arg("profile.proto")
        .stdin(profile);
    let text = Finished::of(&mut protoc).succeeded();
    let strings = text
        .lines()
        .filter_map(|line| line.strip_prefix("string_table: "));
    let strings: Vec<&str> = strings.collect();
    assert_eq!(strings[0], "\"\"");
    for name in ["server_time", "nanoseconds", "OpenFont", "(no window)"] {
        assert!(strings.contains(&format!("{name:?}").as_str()), "{text}");
    }
    // protoc prints a field that the definition lacks by its number.
    let unknown = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    assert!(!text.lines().any(unknown), "{text}");
}

#[test]
fn timelines_contain_every_round_trip() {
    let place = Place::new();
    let profile = export(&place, "xterm.mcap", "firefox");
    let profile: serde_json::Value = serde_json::from_slice(&profile).expect("JSON");
    let threads = profile["threads"].as_array().expect("threads");
    let trips = threads
        .iter()
        .flat_map(|thread| thread["markers"]["data"].as_array().expect("markers"))
        .filter(|marker| marker["type"] == "X11RoundTrip");
    let report = place.json(["report", "--format", "json", "xterm.mcap"]);
    let replies = report["transport"]["replies"].as_u64().expect("a number");
    assert_eq!(trips.count() as u64, replies);

    needs("protoc", "protobuf-compiler");
    export(&place, "xterm.mcap", "perfetto");
    let trace = std::fs::File::open(place.path("perfetto")).expect("it was written");
    let mut protoc = Command::new("protoc");
    let text = Finished::of(protoc.arg("--decode_raw").stdin(trace)).succeeded();
    // Trace.packet, TracePacket.track_event, TrackEvent.type: the start of a slice.
    let begun = text.lines().filter(|line| *line == "    9: 1").count() as u64;
    assert!(begun > replies, "{begun} slices, {replies} replies");
}

#[test]
fn timelines_use_the_terms_of_the_text_report() {
    let place = Place::new();
    for to in ["firefox", "perfetto"] {
        let file = export(&place, "gtk3-widget-factory.mcap", to);
        let has = |word: &str| file.windows(word.len()).any(|at| at == word.as_bytes());
        assert!(has("off-CPU") && !has("off_cpu"), "{to}");
    }
}
