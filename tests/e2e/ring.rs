//! `record --ring`: writes the last seconds to a file when a condition occurs. The file is readable without earlier
//! data.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::raw::Order;
use crate::harness::{Finished, Place, Recording, Server, needs, until, wait};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use x11prof_trace::{ConnectionId, Control, Direction, Reader, Record, Timestamp};

/// An attached recorder.
struct Recorder(Child);

impl Recorder {
    fn start(place: &Place, server: &Server, more: &[&str]) -> Recorder {
        let mut command = place.x11prof(["record", "--attach", "--display", &server.display]);
        let mut child = command
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("x11prof starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("a line");
        assert!(first.contains("recording the "), "{first}");
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Recorder(child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("a signal is sent");
    }

    fn end(mut self) {
        self.signal(Signal::INT);
        assert!(wait(&mut self.0, "x11prof record").success());
    }
}

/// The messages of each connection, except setups: the connection's process, then kind, name, sequence number and
/// length. A connection that ended before its process was queried has no process, such as the other recorder's
/// first one.
fn messages(place: &Place, trace: &Path) -> BTreeMap<u64, Vec<String>> {
    let trace = trace.to_str().expect("a plain path");
    let dumped = place.ok(["dump", "--format", "json", trace]);
    let mut processes: BTreeMap<u64, u64> = BTreeMap::new();
    let mut all: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in dumped.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let control = &line["control"];
        if control["kind"] == "opened" {
            let connection = control["connection"].as_u64().expect("a number");
            processes.extend(control["pid"].as_u64().map(|pid| (connection, pid)));
        }
        let kind = line["kind"].as_str().unwrap_or_default();
        assert_ne!(kind, "malformed", "{line}");
        if let (Some(connection), "request" | "reply" | "event") =
            (line["connection"].as_u64(), kind)
        {
            let Some(&pid) = processes.get(&connection) else {
                continue;
            };
            all.entry(pid).or_default().push(format!(
                "{kind} {} {} {} {}",
                line["name"], line["of"], line["sequence"], line["bytes"]
            ));
        }
    }
    all
}

#[test]
fn ring_file_contains_the_end_of_the_trace() {
    needs("xterm", "xterm");
    let (server, place) = (Server::xvfb(&[]), Place::new());
    // Two recorders on one server, whose data the server must not mix up.
    let mut xterm = server.client("xterm");
    let script = "i=0; while true; do i=$((i+1)); echo line $i; echo $i >lines; sleep 0.01; done";
    let mut xterm = xterm
        .args(["-e", "sh", "-c", script])
        .current_dir(place.path(""))
        .spawn()
        .expect("xterm starts");
    let mut clock = server.client("xclock");
    let mut clock = clock.args(["-update", "1"]).spawn().expect("xclock starts");
    let whole = Recorder::start(&place, &server, &["-o", "whole.mcap"]);
    let ring = Recorder::start(
        &place,
        &server,
        &["-o", "ring.mcap", "--ring", "1", "--when", "signal"],
    );
    // Wait until much more has been drawn than the ring holds, which takes at least three seconds.
    let lines = || -> Option<u32> {
        let lines = std::fs::read_to_string(place.path("lines")).ok()?;
        lines.trim().parse().ok()
    };
    let first = until("the first line", lines);
    until("the lines", || lines().filter(|lines| *lines > first + 300));
    // The second file overlaps the first one.
    let files = ["ring-1.mcap", "ring-2.mcap"].map(|name| place.path(name));
    for file in &files {
        ring.signal(Signal::USR1);
        until("the ring is written", || file.exists().then_some(()));
    }
    ring.end();
    whole.end();
    for child in [&mut xterm, &mut clock] {
        child.kill().expect("a client is ended");
        wait(child, "a client");
    }
    assert!(!place.path("ring.mcap").exists() && !place.path("ring-3.mcap").exists());
    let all = messages(&place, &place.path("whole.mcap"));
    for file in &files {
        is_a_whole_ring(&place, file, &all);
    }
}

/// Checks that a ring's file contains a contiguous part of each client's messages in `all`, at least one second
/// long.
fn is_a_whole_ring(place: &Place, file: &Path, all: &BTreeMap<u64, Vec<String>>) {
    let kept = messages(place, file);
    assert_eq!(kept.len(), 2, "xterm and xclock");
    for (pid, kept) in &kept {
        let all = &all[pid];
        let found = all.windows(kept.len()).any(|some| some == kept);
        assert!(found, "{kept:?}\nis no part of\n{all:?}");
    }
    let longest = |of: &BTreeMap<u64, Vec<String>>| of.values().map(Vec::len).max().unwrap_or(0);
    assert!(longest(&kept) < longest(all), "the ring has a part");
    let path = file.to_str().expect("a plain path");
    let report = place.json(["report", "--format", "json", path]);
    let seconds = report["trace"]["duration_ms"].as_f64().expect("a time") / 1e3;
    assert!(seconds >= 1.0, "{seconds}");
    let kinds: Vec<&str> = report["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .filter_map(|one| one["kind"].as_str())
        .collect();
    for kind in [
        "malformed",
        "lost-bytes",
        "missing-request",
        "unpaired-reply",
        "incomplete",
    ] {
        assert!(!kinds.contains(&kind), "{kinds:?}");
    }
}

#[test]
fn proxy_writes_the_ring_after_a_long_episode() {
    needs("xterm", "xterm");
    needs("xdotool", "xdotool");
    let place = Place::new();
    let script = "xterm -e sh -c 'read x; exit' & \
                  xdotool search --sync --onlyvisible --class xterm >windows; \
                  xdotool mousemove 50 50 key --delay 30 a b c Return; wait";
    let mut record = place.x11prof([
        "record",
        "--server",
        "xvfb",
        "--ring",
        "10",
        "--when",
        "episode > 0.01ms",
        "--when",
        "signal",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let status = record.stderr(Stdio::null()).status().expect("x11prof runs");
    assert!(status.success());
    let written: PathBuf = place.path("x11prof-1.mcap");
    let path = written.to_str().expect("a plain path");
    let episodes = place.json(["episodes", "--format", "json", path]);
    let found = episodes["episodes"].as_array().expect("episodes");
    assert!(!found.is_empty(), "{episodes}");
    let dumped = place.ok(["dump", path]);
    assert!(dumped.contains("\"kind\":\"mark\""), "{dumped}");
    let report = place.json(["report", "--format", "json", path]);
    assert_eq!(report["server"]["time_source"], "timed", "{report:#}");
}

#[test]
fn mark_under_full_load_writes_the_preceding_ring() {
    under_load("mark", 100_000, |place, recording| {
        let mut mark = place.x11prof(["mark", "--display", &recording.display, "now"]);
        Finished::of(&mut mark).succeeded();
    });
}

#[test]
fn signal_under_full_load_writes_the_preceding_ring() {
    under_load("signal", 100_000, |_, recording| {
        let recorder = Pid::from_child(&recording.child);
        kill_process(recorder, Signal::USR1).expect("a signal is sent");
    });
}

#[test]
fn grab_under_load_writes_the_preceding_ring() {
    under_load("stall > 200ms", 1, |_, recording| {
        let mut client = recording.raw(Order::Little);
        client.request(36, 0, &[]);
        client.sync();
        std::thread::sleep(Duration::from_millis(400));
        client.request(37, 0, &[]);
        client.sync();
    });
}

#[test]
fn two_recorders_write_rings_of_one_name_to_two_files() {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let options = ["--ring", "5", "--when", "mark"];
    let recorders = [(); 2].map(|()| Recorder::start(&place, &server, &options));
    place.ok(["mark", "--display", &server.display, "now"]);
    let both = ["x11prof-1.mcap", "x11prof-2.mcap"].map(|name| place.path(name));
    until("both files", || {
        both.iter().all(|one| one.exists()).then_some(())
    });
    recorders.into_iter().for_each(Recorder::end);
    assert!(!place.path("x11prof-3.mcap").exists());
}

/// Triggers the condition while a client sends continuous NoOperations, `at_once` per write. The file contains the
/// moment and the time before it. At full load the ring may fall behind, which the recorder reports.
fn under_load(when: &str, at_once: usize, happens: impl FnOnce(&Place, &Recording) + Send) {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let trace = place.path("ring.mcap");
    let options = ["--display", &server.display, "--ring", "1", "--when", when];
    let mut recording = Recording::at(&place, &trace, &options);
    let mut client = recording.raw(Order::Little);
    let written = place.path("ring-1.mcap");
    let flood = [127, 0, 1, 0].repeat(at_once);
    let now = || {
        let time = clock_gettime(ClockId::Monotonic);
        Timestamp::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    };
    let (mut happens, start, mut moment) = (Some(happens), Instant::now(), None);
    std::thread::scope(|scope| {
        until("the ring is written", || {
            // Continue long enough for the data that is written after the moment.
            if moment.is_none_or(|moment| now().since(moment) < Duration::from_secs(2)) {
                for _ in 0..100_000 / at_once {
                    client.socket.write_all(&flood).expect("requests");
                }
                client.sync();
            }
            // By then more data has passed than the ring holds.
            if start.elapsed() > Duration::from_secs(2)
                && let Some(happens) = happens.take()
            {
                moment = Some(now());
                let (place, recording) = (&place, &recording);
                scope.spawn(move || happens(place, recording));
            }
            written.exists().then_some(())
        });
    });
    drop(client);
    recording.signal(Signal::INT);
    let is_behind = recording.said().contains("the ring fell behind");
    let page = place.run([Path::new("stats"), &written]);
    let says = page.stderr().contains("the ring fell behind");
    let mut reader = Reader::new(File::open(&written).expect("a trace")).expect("a trace");
    let (mut end, mut first, mut last, mut marks) = (None, None, Timestamp::default(), 0);
    while let Some(record) = reader.next().expect("a record") {
        match record {
            Record::Block(block)
                if block.connection == ConnectionId(1)
                    && block.direction == Direction::ToServer =>
            {
                let is_next = end.is_none_or(|end| end == block.offset);
                assert!(is_next || says, "a hole at {end:?}: {page}");
                end = Some(block.offset + u64::from(block.wire_len));
                first.get_or_insert(block.time);
                last = block.time;
            }
            Record::Control(_, Control::Mark { .. }) => marks += 1,
            _ => {}
        }
    }
    assert!(reader.is_complete() && marks > 0);
    let (first, moment) = (first.expect("a request"), moment.expect("a time"));
    let before = moment.since(first);
    // The file covers time before and after the moment, and is a part of the recording.
    let kept = Duration::from_millis(400)..Duration::from_millis(1800);
    let is_kept = kept.contains(&before) && last > moment;
    assert!(is_kept || is_behind, "{before:?}");
}

#[test]
fn bad_ring_condition_is_rejected_and_idle_ring_writes_no_file() {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let ran = place.run([
        "record",
        "--ring",
        "5",
        "--when",
        "episode > 200",
        "--display",
        ":9",
    ]);
    assert_eq!(ran.status(), Some(2), "{ran}");
    assert!(ran.stderr().contains("no unit"), "{ran}");
    let ran = place.run(["record", "--ring", "5", "--display", ":9"]);
    assert!(ran.stderr().contains("--when"), "{ran}");
    let ring = ["--ring", "5", "--when", "signal", "--seconds", "1"];
    let mut recorder = Recorder::start(&place, &server, &ring);
    let mut xset = Command::new("xset");
    let asked = xset
        .args(["q", "-display", &server.display])
        .stdout(Stdio::null());
    assert!(asked.status().expect("xset runs").success());
    assert!(wait(&mut recorder.0, "x11prof").success());
    let left: Vec<_> = std::fs::read_dir(place.path("."))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains("mcap")),
        "{left:?}"
    );
}
