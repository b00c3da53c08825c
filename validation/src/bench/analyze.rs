//! `cargo xtask bench analyze`: requests per second of each stage of the analysis, for recordings of x11perf and
//! gtk3-widget-factory, compared with tshark and xtrace on the same traffic if they are installed; and the memory for a
//! long trace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::x_server::XServer;
use xtask::packages::{COVERAGE, DEMO, TEST, ensure, on_path};
use xtask::run::{cargo, run, target};
use xtask::stages::stages;

/// The processor on which all work runs, as far as the system allows.
const CPU: &str = "1";
const SERVER_CPU: &str = "0";
/// The goals of `report` in requests per second: for small requests only, and for the mixture of a GTK program.
const SMALL_GOAL: f64 = 10_000_000.0;
const GTK_GOAL: f64 = 2_000_000.0;
/// The maximum memory of a report in bytes, independent of the trace's length.
const MEMORY_GOAL: u64 = 200 << 20;
/// The number of times that the long trace repeats the short one's tests.
const LONG: &str = "4";
/// Rounds of each test for the slower programs.
const SHORT: &str = "5000";

/// Many small requests in a short time: x11perf draws a thousand shapes in each repetition.
const SMALL: &str =
    "x11perf -repeat 1 -reps 50000000 -noop; x11perf -repeat 1 -reps 50000 -rect10 -line10";
/// Tests of x11perf, one second each, without -noop, which would dominate the requests.
const X11PERF: &[&str] = &[
    "-rect10",
    "-line100",
    "-ftext",
    "-copywinwin100",
    "-putimage10",
    "-create",
    "-gc",
    "-prop",
];

/// Runs the bench.
pub(crate) fn bench() -> Result<(), String> {
    ensure(&[DEMO, TEST, COVERAGE])?;
    run(cargo().args([
        "build",
        "--release",
        "--locked",
        "-p",
        "x11prof",
        "-p",
        "x11prof-analyzer",
        "--bin",
        "x11prof",
        "--example",
        "stages",
    ]))?;
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let parameters = folder.join("xvfb.toml");
    run(x11prof()
        .args(["calibrate", "--quick", "--server", "xvfb", "-o"])
        .arg(&parameters))?;

    let small = folder.join("small.mcap");
    record(&small, &["sh", "-c", SMALL])?;
    measure("small requests", &small, &parameters, Some(SMALL_GOAL))?;
    let perf = folder.join("x11perf.mcap");
    let command = ["x11perf", "-repeat", "1", "-time", "1"];
    record(&perf, &[&command[..], X11PERF].concat())?;
    measure("x11perf", &perf, &parameters, None)?;
    // The other programs need too much time and memory for the whole trace, so they get fewer rounds of the same tests.
    let short = folder.join("x11perf-short.mcap");
    let mut command = vec!["x11perf", "-repeat", "1", "-reps", SHORT];
    command.extend(X11PERF);
    record(&short, &command)?;
    tshark(&short, &parameters)?;
    xtrace(&folder, &command)?;

    let gtk = folder.join("gtk.mcap");
    record(&gtk, &["timeout", "5", "gtk3-widget-factory"])?;
    measure("gtk3-widget-factory", &gtk, &parameters, Some(GTK_GOAL))?;
    tshark(&gtk, &parameters)?;
    memory(&folder, &perf, &parameters)
}

fn x11prof() -> Command {
    Command::new(target().join("release/x11prof"))
}

/// Records `command` on a private Xvfb. Its exit status does not matter, because `timeout` ends it.
fn record(trace: &Path, command: &[&str]) -> Result<(), String> {
    eprintln!("recording {}", command.join(" "));
    let mut recorder = x11prof();
    recorder
        .args(["record", "--server", "xvfb", "-o"])
        .arg(trace);
    recorder.arg("--").args(command);
    let output = recorder
        .output()
        .map_err(|error| format!("cannot run x11prof: {error}"))?;
    match std::fs::metadata(trace) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "no trace of {}: {}",
            command.join(" "),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Prints a line for each stage.
fn measure(name: &str, trace: &Path, parameters: &Path, goal: Option<f64>) -> Result<(), String> {
    println!("{name}");
    let [memory, file] = ["memory", "file"].map(|what| stages(trace, what, parameters));
    for stage in memory?.stages.into_iter().chain(file?.stages) {
        let rate = stage.requests / stage.seconds;
        let goal = match goal.filter(|_| stage.name == "report") {
            Some(goal) if rate >= goal => "  (goal met)".to_owned(),
            Some(goal) => format!("  (goal: {} million)", goal / 1e6),
            None => String::new(),
        };
        print_rate(
            &format!("x11prof, {}", stage.name),
            stage.requests,
            stage.seconds,
            &goal,
        );
    }
    Ok(())
}

/// Measures tshark on a recording that was exported as a capture.
fn tshark(trace: &Path, parameters: &Path) -> Result<(), String> {
    if !on_path("tshark") {
        return Ok(());
    }
    let capture = trace.with_extension("pcapng");
    run(x11prof()
        .arg("export")
        .arg(trace)
        .args(["--to", "pcapng", "-o"])
        .arg(&capture))?;
    let requests = stages(trace, "file", parameters)?.stages;
    let requests = requests.first().map_or(0.0, |stage| stage.requests);
    let seconds = processor_seconds(
        Command::new("taskset")
            .args(["-c", CPU, "tshark", "-r"])
            .arg(&capture)
            .args(["-T", "fields", "-e", "x11.opcode"]),
    )?;
    print_rate("tshark, decoding", requests, seconds, "");
    std::fs::remove_file(&capture).map_err(|error| error.to_string())
}

/// Runs `command` to its end, and returns its CPU time.
fn processor_seconds(command: &mut Command) -> Result<f64, String> {
    let before = children_seconds()?;
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() {
        Ok(children_seconds()? - before)
    } else {
        Err(format!("{command:?} failed: {status}"))
    }
}

/// CPU time of all reaped child processes (proc(5), stat: cutime and cstime, in ticks; Linux has 100 ticks per second).
pub(super) fn children_seconds() -> Result<f64, String> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    // The second field is a name in parentheses, which may contain any characters.
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = |at| fields.split(' ').nth(at)?.parse::<f64>().ok();
    let (user, system) = ticks(13)
        .zip(ticks(14))
        .ok_or("no times in /proc/self/stat")?;
    Ok((user + system) / 100.0)
}

fn print_rate(what: &str, requests: f64, seconds: f64, note: &str) {
    println!(
        "  {what:<32} {requests:>12.0} requests {seconds:>9.3} s {:>14.0} /s{note}",
        requests / seconds
    );
}

/// xtrace prints while it relays, so its CPU time counts.
fn xtrace(folder: &Path, command: &[&str]) -> Result<(), String> {
    if !on_path("xtrace") {
        return Ok(());
    }
    let server = XServer::start(SERVER_CPU)?;
    let text = folder.join("xtrace.txt");
    let mut xtrace = Command::new("taskset")
        .args(["-c", CPU, "xtrace", "-n", "-d", &server.display()])
        .args(["-D", &format!(":{DISPLAY}"), "-k", "-o"])
        .arg(&text)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start xtrace: {error}"))?;
    let socket = PathBuf::from(format!("/tmp/.X11-unix/X{DISPLAY}"));
    let start = Instant::now();
    while !socket.exists() && start.elapsed().as_secs() < 10 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let client = Command::new(command[0])
        .args(["-display", &format!(":{DISPLAY}")])
        .args(&command[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let ran = std::fs::read_to_string(format!("/proc/{}/schedstat", xtrace.id()))
        .map_err(|error| error.to_string());
    let _ = xtrace.kill();
    let _ = xtrace.wait();
    let _ = std::fs::remove_file(&socket);
    client.map_err(|error| format!("cannot run {}: {error}", command[0]))?;
    let nanos: f64 = ran?
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or("no schedstat of xtrace")?;
    let lines = std::fs::read(&text)
        .map_err(|error| error.to_string())?
        .split(|byte| *byte == b'\n')
        .filter(|line| line.windows(9).any(|window| window == b": Request"))
        .count();
    print_rate("xtrace, relaying as text", lines as f64, nanos / 1e9, "");
    Ok(())
}

/// The display number that xtrace serves.
const DISPLAY: u32 = 490;

/// The peak memory for a short trace and for one with more than a gigabyte of protocol.
fn memory(folder: &Path, short: &Path, parameters: &Path) -> Result<(), String> {
    let long = folder.join("long.mcap");
    let mut command = vec!["x11perf", "-repeat", LONG, "-time", "1"];
    command.extend(X11PERF);
    record(&long, &command)?;
    println!("peak of resident memory of a profile from the file");
    let mut largest = 0;
    for trace in [short, &long] {
        let peak = stages(trace, "file", parameters)?.peak;
        let bytes = std::fs::metadata(trace).map_or(0, |meta| meta.len());
        println!(
            "  {:<28} {:>8} MB of trace {:>8} MB of memory",
            trace.file_name().unwrap_or_default().to_string_lossy(),
            bytes >> 20,
            peak >> 20
        );
        largest = largest.max(peak);
    }
    let _ = std::fs::remove_file(&long);
    if largest <= MEMORY_GOAL {
        Ok(())
    } else {
        Err(format!(
            "the peak of {} MB is over the goal of 200 MB",
            largest >> 20
        ))
    }
}
