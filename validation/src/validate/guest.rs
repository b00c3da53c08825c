//! `cargo xtask validate guest [desktop] [SECONDS] [KIND…]`: checks that a server whose attached recorder is stopped,
//! killed, starved or out of disk space replies to other clients as quickly as without a recorder, and keeps no more
//! memory. Runs alternate with and without a recorder, together with a client that sends images, or with a desktop of
//! which no program may end. A witness client sends a request every 10 ms.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use x11prof_proxy::{PrivateServer, ServerKind};
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::rust_connection::{DefaultStream, RustConnection};

use super::attach::{Ended, Recorder};
use super::desktop::{self, Desktop};
use super::{quantile, reported};
use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run};

/// The limits in validation/results: server memory due to the recorder, and the increase of the 99th percentile of the
/// reply time.
const MEMORY: u64 = 64 << 20;
const LATER_MS: f64 = 20.0;
/// On a desktop, the longest reply time may exceed the usual longest one by at most this.
const STALL_MS: f64 = 100.0;
/// The default kinds of servers.
const KINDS: [&str; 4] = ["xvfb", "xvnc", "xephyr", "xorg-dummy"];
/// The default duration for each kind, in seconds.
const SECONDS: u64 = 120;
/// The argument that selects a desktop.
const DESKTOP: &str = "desktop";
/// How long to wait until a desktop has started.
const STARTED: Duration = Duration::from_secs(10);
/// The length of one fault.
const FAULT: Duration = Duration::from_secs(5);
/// The interval between two bursts of images.
const BURST: Duration = Duration::from_secs(3);
/// The interval between two requests of the witness.
const EACH: Duration = Duration::from_millis(10);

/// A fault of the recorder or of its machine.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    /// The recorder is stopped for most of the time, then continued.
    Stopped,
    /// The recorder is killed, then attached again.
    Killed,
    /// Two busy loops use the processors, in runs with and without a recorder.
    Starved,
    /// The recording's file cannot grow any more, as on a full disk.
    Full,
}

const FAULTS: [Fault; 5] = [
    Fault::None,
    Fault::Stopped,
    Fault::Killed,
    Fault::Starved,
    Fault::Full,
];

/// The measurements of the witness and the kernel in all runs of one sort.
#[derive(Debug, Default)]
struct Seen {
    /// The reply times by fault, in milliseconds.
    answers: [Vec<f64>; FAULTS.len()],
    /// The largest memory of the server by fault, in bytes.
    memory: [u64; FAULTS.len()],
}

/// Tests the faults on each kind of server.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, desktop::PROGRAMS])?;
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let seconds = arguments.iter().find_map(|word| word.parse().ok());
    let seconds = Duration::from_secs(seconds.unwrap_or(SECONDS));
    let has_desktop = arguments.iter().any(|word| word == DESKTOP);
    let named = arguments
        .iter()
        .filter(|word| word.parse::<u64>().is_err() && *word != DESKTOP)
        .map(String::as_str);
    let mut kinds: Vec<&str> = named.collect();
    if kinds.is_empty() {
        kinds.extend(KINDS);
    }
    let mut failed = Vec::new();
    for kind in kinds {
        let of = ServerKind::from_name(kind).ok_or_else(|| format!("{kind}: no such kind"))?;
        if !on(of, seconds, has_desktop)? {
            failed.push(kind);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("beyond a bound: {}", failed.join(", "))),
    }
}

/// True if one kind of server is within the limits.
fn on(kind: ServerKind, seconds: Duration, has_desktop: bool) -> Result<bool, String> {
    let server = PrivateServer::start(kind).map_err(reported)?;
    let folder = tempfile::tempdir().map_err(reported)?;
    let programs = tempfile::tempdir().map_err(reported)?;
    let desktop = has_desktop.then(|| {
        let display = server.display().to_string();
        Desktop::start(&display, Some(server.authority_file()), programs.path())
    });
    let desktop = desktop.transpose()?;
    if desktop.is_some() {
        std::thread::sleep(STARTED);
    }
    let mut seen = [Seen::default(), Seen::default()];
    let until = Instant::now() + seconds;
    let most = |seen: &Seen| seen.memory.iter().copied().max().unwrap_or(0);
    let (mut turns, mut usual) = (0, None);
    while turns < 2 || Instant::now() < until {
        for attached in [turns % 2 != 0, turns % 2 == 0] {
            turn(
                &server,
                desktop.is_none(),
                attached.then_some(folder.path()),
                &mut seen[usize::from(attached)],
            )?;
            // A server keeps memory that it has allocated, so its usual memory is measured before the first recorder.
            usual.get_or_insert_with(|| most(&seen[0]));
        }
        turns += 1;
    }
    let [without, with] = &seen;
    let (usual, now) = (usual.unwrap_or(0), most(with));
    let grown = now.saturating_sub(usual);
    println!(
        "{}: {turns} turns; memory at most {} MB, attached {} MB (by fault: {:?})",
        kind.name(),
        usual >> 20,
        now >> 20,
        with.memory.map(|bytes| bytes >> 20)
    );
    let mut within = grown <= MEMORY;
    let ended = desktop.map_or_else(String::new, |desktop| desktop.ended());
    if !ended.is_empty() {
        within = false;
        println!(
            "  programs of the desktop ended: {}",
            ended.trim().replace('\n', ", ")
        );
    }
    for (fault, (usual, now)) in FAULTS.iter().zip(without.answers.iter().zip(&with.answers)) {
        let of = |answers: &[f64]| [0.5, 0.99, 1.0].map(|part| quantile(answers, part));
        let ([median, late, worst], [median_now, late_now, worst_now]) = (of(usual), of(now));
        within &= late_now <= late + LATER_MS;
        if has_desktop {
            within &= worst_now <= worst + STALL_MS;
        }
        println!(
            "  {:<8} an answer takes {median:.2} ms, 99 % {late:.2}, worst {worst:.1}; attached {median_now:.2}, \
             {late_now:.2}, {worst_now:.1}",
            format!("{fault:?}").to_lowercase()
        );
    }
    Ok(within)
}

/// Tests all faults in sequence, with a recorder that writes to a folder, or without a recorder.
fn turn(
    server: &PrivateServer,
    sends_images: bool,
    folder: Option<&Path>,
    seen: &mut Seen,
) -> Result<(), String> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| match sends_images {
            true => send_images(server, &over),
            false => Ok(()),
        });
        let mut faults = FAULTS.iter().zip(&mut seen.answers).zip(&mut seen.memory);
        let done = faults.try_for_each(|((fault, answers), memory)| {
            let ask = |answers: &mut Vec<f64>| watch(server, answers, memory);
            during(*fault, server, folder, answers, ask)
        });
        over.store(true, Ordering::Relaxed);
        let loaded = load.join().map_err(|_| "the load broke off".to_owned())?;
        done.and(loaded)
    })
}

/// Causes a fault while `ask` measures.
fn during(
    fault: Fault,
    server: &PrivateServer,
    folder: Option<&Path>,
    answers: &mut Vec<f64>,
    mut ask: impl FnMut(&mut Vec<f64>) -> Result<(), String>,
) -> Result<(), String> {
    let attach = |limit: Option<u64>| -> Result<Option<Recorder>, String> {
        let trace = folder.map(|folder| folder.join("trace.mcap"));
        let display = server.display().to_string();
        let authority = Some(server.authority_file());
        trace
            .map(|trace| Recorder::attach_within(&display, authority, &trace, limit))
            .transpose()
    };
    // The limit of 10 MB is reached soon.
    let limit = matches!(fault, Fault::Full).then_some(10_000);
    let recorder = attach(limit)?;
    let _loops: Vec<Ended> = match fault {
        Fault::Starved => (0..2).map(|_| busy_loop(60)).collect::<Result<_, _>>()?,
        _ => Vec::new(),
    };
    match (fault, &recorder) {
        (Fault::Stopped, Some(recorder)) => recorder.signal("STOP")?,
        (Fault::Killed, Some(recorder)) => recorder.signal("KILL")?,
        _ => {}
    }
    ask(answers)?;
    if let (Fault::Stopped, Some(recorder)) = (fault, &recorder) {
        recorder.signal("CONT")?;
        ask(answers)?;
    }
    match (fault, recorder) {
        // The recorder has ended, or ends with an error, as expected.
        (Fault::Killed | Fault::Full, recorder) => drop(recorder),
        (_, Some(recorder)) => recorder.end_late()?,
        _ => {}
    }
    Ok(())
}

/// Sends requests to the server for the duration of a fault.
fn watch(server: &PrivateServer, answers: &mut Vec<f64>, memory: &mut u64) -> Result<(), String> {
    let witness = connect(server)?;
    let until = Instant::now() + FAULT;
    while Instant::now() < until {
        let asked = Instant::now();
        let reply = witness.get_input_focus().map_err(reported)?.reply();
        reply.map_err(reported)?;
        answers.push(asked.elapsed().as_secs_f64() * 1000.0);
        *memory = (*memory).max(resident(server.pid())?);
        std::thread::sleep(EACH);
    }
    Ok(())
}

/// A connection to the server.
pub(super) fn connect(server: &PrivateServer) -> Result<RustConnection, String> {
    let display = server.display().to_string();
    let number = display.rsplit(':').next().unwrap_or_default();
    let stream = UnixStream::connect(format!("/tmp/.X11-unix/X{number}")).map_err(reported)?;
    let (stream, _) = DefaultStream::from_unix_stream(stream).map_err(reported)?;
    let (name, cookie) = (b"MIT-MAGIC-COOKIE-1".to_vec(), server.cookie().as_bytes());
    RustConnection::connect_to_stream_with_auth_info(stream, 0, name, cookie.to_vec())
        .map_err(reported)
}

/// Draws 100 images of 1 MB (25 of x11perf's repetitions) as fast as the server accepts them, every three seconds: 2 GB
/// per minute.
fn send_images(server: &PrivateServer, over: &AtomicBool) -> Result<(), String> {
    let mut next = Instant::now();
    while !over.load(Ordering::Relaxed) {
        if Instant::now() < next {
            std::thread::sleep(EACH);
            continue;
        }
        next = Instant::now() + BURST;
        let mut perf = Command::new("x11perf");
        perf.args(["-repeat", "1", "-reps", "25", "-putimage500"])
            .env("DISPLAY", server.display().to_string())
            .env("XAUTHORITY", server.authority_file())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        perf.status().map_err(reported)?;
    }
    Ok(())
}

/// A process that uses a processor until it is dropped, for at most this many seconds, in case this program is killed.
pub(super) fn busy_loop(seconds: u32) -> Result<Ended, String> {
    let mut shell = Command::new("sh");
    let bounded = shell.args(["-c", &format!("ulimit -t {seconds}; while :; do :; done")]);
    bounded.spawn().map(Ended).map_err(reported)
}

/// The bytes of a process that are in memory (proc(5), `statm`).
fn resident(pid: u32) -> Result<u64, String> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).map_err(reported)?;
    let pages: Option<u64> = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.map(|pages| pages * 4096).ok_or("no statm".to_owned())
}
