//! `cargo xtask validate division`: checks the attribution of the recorded server's time.
//!
//! A library preloaded into the server times each handler (`dispatch_times.c`). The test compares it with the shares
//! of requests in reports of the same run, by cost table and by the recorder's own timer. Nothing is pinned, the
//! parameters are the defaults, and each program is recorded once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use x11prof_protocol::{Extension, Extensions, Symbol, request_name};
use x11prof_proxy::ServerKind;
use x11prof_trace::{Control, Reader, Record};

use super::programs::{DRAWN, PROGRAMS, Program, packages, packages_of};
use super::refit::{Compared, Times, held_against, summary};
use super::reported;
use xtask::packages::{DEMO, ensure};
use xtask::run::{cargo, root, run, target};

/// A program on a private server of that kind.
pub(super) type Recorded<'a> = (&'a Program, ServerKind);

/// Runs the programs whose names contain one of `arguments`, or all. After `again`, uses the last recordings. A
/// parameter file among the arguments replaces the default one, and a kind of server replaces Xvfb.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, &packages(), &packages_of(DRAWN)])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let folder = target().join("validate/division");
    fs::create_dir_all(&folder).map_err(reported)?;
    let library = folder.join("dispatch_times.so");
    let source = root().join("validation/src/validate/dispatch_times.c");
    run(Command::new("cc")
        .args(["-O2", "-Wall", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl"))?;
    let again = arguments
        .first()
        .is_some_and(|argument| argument == "again");
    let arguments = &arguments[usize::from(again)..];
    let is_file = |name: &&String| name.ends_with(".toml");
    let parameters = arguments.iter().find(is_file);
    let kind = arguments
        .iter()
        .find_map(|name| ServerKind::from_name(name));
    let kind = kind.unwrap_or(ServerKind::Xvfb);
    let is_name = |name: &&String| !is_file(name) && ServerKind::from_name(name).is_none();
    let names: Vec<&String> = arguments.iter().filter(is_name).collect();
    println!(
        "| program | new | measured / kernel | own work, % | most expensive requests: measured %, true % of all requests | largest difference | timed / kernel | timed: largest difference |"
    );
    println!("|---|---|---:|---:|---|---:|---:|---:|");
    let chosen = |program: &&Program| {
        names.is_empty()
            || names
                .iter()
                .any(|name| program.name.contains(name.as_str()))
    };
    let mut all = Vec::new();
    for program in PROGRAMS.iter().chain(DRAWN).filter(chosen) {
        match row((program, kind), &folder, &library, (again, parameters)) {
            Ok((row, compared)) => {
                println!("{row}");
                all.push(compared);
            }
            Err(error) => eprintln!("{}: {error}", program.name),
        }
    }
    println!("\n{}", summary(&all));
    Ok(())
}

/// A line of the table, with its times.
fn row(
    (program, kind): (&Program, ServerKind),
    folder: &Path,
    library: &Path,
    (again, parameters): (bool, Option<&String>),
) -> Result<(String, Compared), String> {
    let (trace, times) = (
        trace((program, kind), folder),
        times((program, kind), folder),
    );
    if !again {
        record((program, kind), library, &trace, &times)?;
    }
    let truth = truth(&trace, &times)?;
    let report = |basis| super::report_on(basis, &trace, parameters.map(String::as_str));
    let (divided, timed) = (report("attributed")?, report("timed")?);
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let total = |report: &Value| {
        let total = &report["total"];
        number(&total["server_ms"]) / number(&total["server_cpu_ms"])
    };
    let own = number(&divided["transport"]["unattributed"]["ms"])
        / number(&divided["total"]["server_ms"]);
    let compared = Compared {
        truth,
        divided: by_request(&divided)?,
        timed: by_request(&timed)?,
        is_drawn: DRAWN.iter().any(|drawn| drawn.name == program.name),
    };
    let (shown, apart, first) = held_against(&compared.truth, &compared.divided);
    let (_, timed_apart, timed_first) = held_against(&compared.truth, &compared.timed);
    let words = shown.iter();
    let words = words.map(|(name, reported, share)| format!("{name} {reported:.1} {share:.1}"));
    let words: Vec<String> = words.collect();
    let other = |is_first| if is_first { "" } else { ", another first" };
    let row = format!(
        "| {} | {} | {:.3} | {:.1} | {} | {apart:.1}{} | {:.3} | {timed_apart:.1}{} |",
        program.name,
        if program.new { "yes" } else { "" },
        total(&divided),
        100.0 * own,
        words.join(", "),
        other(first),
        total(&timed),
        other(timed_first),
    );
    Ok((row, compared))
}

/// The server time for each kind of request, in ms.
fn by_request(report: &Value) -> Result<Times, String> {
    let requests = report["requests"].as_array().ok_or("no requests")?;
    let one = |of: &Value| Some((of["name"].as_str()?.to_owned(), of["server_ms"].as_f64()?));
    Ok(requests.iter().filter_map(one).collect())
}

fn name((program, kind): Recorded<'_>) -> String {
    let name = format!("{} {kind}", program.name);
    name.replace([' ', '(', ')', '/'], "-")
}

/// The path of a program's recording.
pub(super) fn trace(program: Recorded<'_>, folder: &Path) -> PathBuf {
    folder.join(format!("{}.mcap", name(program)))
}

/// The path of the handler times that the preloaded library measured in the same run.
pub(super) fn times(program: Recorded<'_>, folder: &Path) -> PathBuf {
    folder.join(format!("{}.times", name(program)))
}

/// Records a program on a server with the preloaded library.
fn record(
    (program, kind): Recorded<'_>,
    library: &Path,
    trace: &Path,
    times: &Path,
) -> Result<(), String> {
    let _ = fs::remove_file(times);
    let home = tempfile::tempdir().map_err(reported)?;
    let host = if kind == ServerKind::Xephyr {
        "Xvfb"
    } else {
        ""
    };
    Command::new(target().join("release/x11prof"))
        .args(["record", "--server", kind.name(), "-o"])
        .arg(trace)
        .args(["--", "timeout", "-k", "5", "60", "sh", "-c", program.shell])
        .env("LD_PRELOAD", library)
        .env("DISPATCH_TIMES", times)
        .env("DISPATCH_HOST", host)
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", home.path())
        .current_dir(home.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(|_| ())
        .map_err(reported)
}

/// The share of each request in the total time, in percent, as measured by the preloaded library.
pub(super) fn truth(trace: &Path, times: &Path) -> Result<Times, String> {
    let extensions = extensions(trace)?;
    let bytes = fs::read(times).map_err(|error| format!("{}: {error}", times.display()))?;
    let mut nanos = Times::new();
    for (cell, bytes) in bytes.chunks_exact(16).enumerate() {
        let word = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        if word(0) > 0 {
            let (major, minor) = ((cell >> 8) as u8, (cell & 0xFF) as u8);
            let name = request_name(major, minor, &extensions).to_string();
            *nanos.entry(name).or_default() += word(8) as f64;
        }
    }
    let all: f64 = nanos.values().sum();
    Ok(nanos
        .into_iter()
        .map(|(name, time)| (name, 100.0 * time / all))
        .collect())
}

/// The server's extensions, as recorded in the trace.
fn extensions(trace: &Path) -> Result<Extensions, String> {
    let file = fs::File::open(trace).map_err(|error| format!("{}: {error}", trace.display()))?;
    let mut reader = Reader::new(std::io::BufReader::new(file)).map_err(reported)?;
    let mut known = Extensions::new();
    while let Some(record) = reader.next().map_err(reported)? {
        if let Record::Control(_, Control::Extensions { extensions }) = record {
            for extension in extensions {
                known.insert(Extension {
                    name: Symbol::new(&extension.name),
                    major: extension.major,
                    first_event: extension.first_event,
                    first_error: extension.first_error,
                });
            }
            break;
        }
    }
    Ok(known)
}
