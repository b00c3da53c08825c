//! A killed recorder leaves a readable trace without holes, up to the moment shortly before the kill.
//!
//! The missing time depends on the machine's load. The tests of that time are ignored here and run by `cargo xtask
//! validate killed`.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::raw::{Client, Order, setup};
use crate::harness::{Place, Recording, Server, until, wait};
use rustix::process::{Pid, Signal, kill_process};
use x11prof_trace::{Direction, Reader, Record};

/// The recorded client's requests.
#[derive(Clone, Copy)]
enum Load {
    /// A round trip per millisecond, as from a busy program.
    Steady,
    /// Continuous NoOperations.
    Flood,
    /// Incompressible NoOperations of 200 bytes.
    Noise,
}

impl Load {
    /// Sends one batch, waits until the server has read it, and returns its length in bytes.
    fn send(self, client: &mut Client, noise: &[u8]) -> u64 {
        let sent = match self {
            Self::Steady => {
                std::thread::sleep(Duration::from_millis(1));
                0
            }
            Self::Flood => {
                for _ in 0..1000 {
                    client.request(127, 0, &[0; 15]);
                }
                1000 * 64
            }
            Self::Noise => {
                client.socket.write_all(noise).expect("noise");
                noise.len() as u64
            }
        };
        client.sync();
        sent + 4
    }
}

fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let mut noise = Vec::new();
    for _ in 0..2000 {
        noise.extend([127, 0, 50, 0]);
        for _ in 0..49 {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            noise.extend(state.to_le_bytes());
        }
    }
    noise
}

/// The number of contiguous request bytes in a trace, and whether the trace is complete.
fn requested(trace: &Path) -> (u64, bool) {
    let file = std::fs::File::open(trace).expect("the trace");
    let mut reader = Reader::new(file).expect("a trace");
    let mut bytes = 0;
    while let Some(record) = reader.next().expect("a record") {
        if let Record::Block(block) = record
            && block.direction == Direction::ToServer
        {
            assert_eq!(block.offset, bytes, "no hole");
            bytes += u64::from(block.wire_len);
        }
    }
    (bytes, reader.is_complete())
}

/// Kills a recorder under `load` at each of `moments` after the client's first bytes are on disk. Checks that the
/// trace is contiguous and recoverable. Returns the longest time before a kill that is missing from the trace.
fn kill(load: Load, moments: impl Iterator<Item = Duration>) -> Duration {
    let server = Server::xvfb(&[]);
    let noise = noise();
    let mut longest = Duration::ZERO;
    for moment in moments {
        let place = Place::new();
        let trace = place.path("trace.mcap");
        let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
        let mut client = recording.raw(Order::Little);
        let mut bytes = setup(Order::Little, &[0; 16]).len() as u64;
        // On a busy machine this may take long.
        until("the client is in the trace", || {
            (trace.exists() && requested(&trace).0 > 0).then_some(())
        });
        let (start, mut sent) = (Instant::now(), Vec::new());
        while start.elapsed() < moment {
            bytes += load.send(&mut client, &noise);
            sent.push((Instant::now(), bytes));
        }
        let killed = Instant::now();
        recording.signal(Signal::KILL);
        let (there, complete) = requested(&trace);
        assert!(!complete && there > 0, "{there} bytes after {moment:?}");
        let page = place.run([Path::new("episodes"), &trace]);
        assert!(page.stderr().contains("was cut off"), "{page}");
        let missing = sent.iter().find(|&&(_, bytes)| bytes > there);
        longest = longest.max(missing.map_or(Duration::ZERO, |&(at, _)| killed - at));
        let whole = place.path("whole.mcap");
        place.ok([Path::new("recover"), &trace, Path::new("-o"), &whole]);
        assert_eq!(requested(&whole), (there, true));
    }
    #[allow(clippy::print_stdout, reason = "the figure is what validate is for")]
    {
        println!("lost at most {longest:?}");
    }
    longest
}

/// Moments spread over two periods of the recorder's flush, an irrational step apart.
fn moments(count: u64, from: u64) -> impl Iterator<Item = Duration> {
    (0..count).map(move |n| Duration::from_millis(from + n * 618 % 400))
}

#[test]
fn kill_leaves_a_recoverable_trace() {
    kill(Load::Steady, moments(4, 500));
}

#[test]
fn kill_during_a_flood_leaves_a_recoverable_trace() {
    kill(Load::Flood, moments(2, 700));
}

#[test]
fn kill_under_noise_leaves_a_recoverable_trace() {
    kill(Load::Noise, moments(4, 500));
}

#[test]
fn every_report_warns_once_about_a_truncated_recording() {
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let trace = place.path("trace.mcap");
    let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
    let mut client = recording.raw(Order::Little);
    client.sync();
    until("the client is in the trace", || {
        let dumped = place.run(["dump", "trace.mcap"]);
        dumped.stdout().contains("GetInputFocus").then_some(())
    });
    recording.signal(Signal::KILL);
    place.ok(["recover", "trace.mcap", "-o", "whole.mcap"]);
    let pages: [&[&str]; 8] = [
        &["episodes"],
        &["network"],
        &["stats"],
        &["dump"],
        &["issues"],
        &["export", "--to", "pcapng", "-o", "capture"],
        &["export", "--to", "pprof", "-o", "profile"],
        &["export", "--to", "parquet", "-o", "tables"],
    ];
    for (trace, words) in [
        ("trace.mcap", "the recording was cut off"),
        ("whole.mcap", "the trace was cut off here"),
    ] {
        for page in pages {
            let ran = place.run(page.iter().chain([&trace]));
            ran.succeeded();
            assert!(ran.stderr().contains(words), "{ran}");
            assert_eq!(ran.stderr().matches("cut off").count(), 1, "{ran}");
        }
        let report = ["report", "--params", "xvfb-24", "--format", "json", trace];
        let report = place.json(report);
        assert_eq!(report["trace"]["complete"], false);
        let kinds = report["warnings"].as_array().expect("warnings").iter();
        let cut = kinds.filter(|one| one["kind"] == "incomplete" || one["kind"] == "trouble");
        assert_eq!(cut.count(), 1, "{report:#}");
    }
}

#[test]
#[ignore = "needs a machine to itself; cargo xtask validate killed"]
fn kill_loses_at_most_250_ms() {
    assert!(kill(Load::Steady, moments(24, 260)) <= Duration::from_millis(250));
}

#[test]
#[ignore = "needs a machine to itself; cargo xtask validate killed"]
fn kill_during_a_flood_loses_at_most_250_ms() {
    assert!(kill(Load::Flood, moments(8, 500)) <= Duration::from_millis(250));
}

#[test]
#[ignore = "needs a machine to itself; cargo xtask validate killed"]
fn kill_under_noise_loses_at_most_250_ms() {
    assert!(kill(Load::Noise, moments(20, 500)) <= Duration::from_millis(250));
}

#[test]
fn early_signals_leave_no_folders() {
    let place = Place::new();
    for step in 0..60 {
        let mut command = place.x11prof(["record", "--server", "xvfb", "--", "sleep", "1"]);
        let mut recorder = command.stderr(Stdio::null()).spawn().expect("x11prof");
        std::thread::sleep(Duration::from_millis(5 * step));
        let signal = [Signal::INT, Signal::TERM][step as usize % 2];
        kill_process(Pid::from_child(&recorder), signal).expect("a signal is sent");
        wait(&mut recorder, "x11prof record");
        let left = std::fs::read_dir(place.path("")).expect("a folder");
        let mut left = left.map(|entry| entry.expect("an entry").file_name());
        let left = left.find(|name| name.to_string_lossy().starts_with("x11prof-"));
        assert_eq!(left, None, "after {} ms", 5 * step);
    }
}
