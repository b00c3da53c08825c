//! `cargo xtask validate audit [TRACE|FOLDER…]`: checks that the pages of a recording do not contradict each other.
//! Audits the stored recordings and the given ones, or new recordings of many programs in every way. A recording that
//! cannot be made or audited counts as a failure.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::attach::{Attached as _, Recorder};
use super::programs::PROGRAMS;
use super::reported;
use crate::bench::x_server::XServer;
use xtask::run::{cargo, root, run, target};

/// The minimum number of programs and recordings of a complete validation.
const PROGRAMS_LEAST: usize = 25;
const RECORDINGS_LEAST: usize = 100;
/// The number of recordings made in parallel.
const AT_ONCE: usize = 3;
/// The remaining part of a truncated file, in percent.
const CUTS: [usize; 3] = [30, 60, 95];
/// The ways to record, with their options; `Way::of` selects the programs of each way.
const NET: &[&str] = &["--net", "1MB/s,20ms"];
const SCRUBBED: &[&str] = &["--scrub", "--try", "answer-queries"];
const RING: &[&str] = &["--ring", "4", "--when", "mark"];

/// Programs that do something for some seconds, alone or in response to a key or a button.
const SHORT: [&str; 18] = [
    "xeyes",
    "xlogo",
    "xedit",
    "xman -bothshown",
    "bitmap",
    "ico",
    "xload -update 1",
    "oclock",
    "xfontsel",
    "editres",
    "xbiff",
    "viewres",
    "xgc",
    "xmag",
    "xmessage -buttons yes,no Question",
    "gtk3-demo",
    "x11perf -repeat 1 -time 1 -reps 2000 -rect10 -copywinwin10",
    "listres",
];

/// A recording, or the reason why there is none.
struct Case {
    name: String,
    way: &'static str,
    made: Result<Recorded, String>,
}

struct Recorded {
    trace: PathBuf,
    /// The profile that was printed during the recording.
    live: Option<PathBuf>,
}

/// Audits all recordings, and prints a line for each.
pub(crate) fn validate(given: &[String]) -> Result<(), String> {
    run(cargo().args(["build", "--release", "--locked"]))?;
    let place = target().join("validate/audit");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(reported)?;
    }
    fs::create_dir_all(&place).map_err(reported)?;
    let mut cases = kept(&root().join("tests/data"))?;
    for path in given.iter().map(PathBuf::from) {
        match path.is_dir() {
            true => cases.extend(kept(&path)?),
            false => cases.push(Case::kept(path)),
        }
    }
    let mut wrong = 0;
    if given.is_empty() {
        let (programs, fresh) = fresh(&place);
        cases.extend(fresh);
        println!("{programs} programs");
        wrong += usize::from(programs < PROGRAMS_LEAST || cases.len() < RECORDINGS_LEAST);
    }
    let mut audited: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        let said = case.made.as_ref().map_err(Clone::clone).and_then(audit);
        *audited.entry(case.way).or_default() += 1;
        wrong += usize::from(said.is_err());
        let said = said.unwrap_or_else(|why| format!("WRONG: {why}"));
        println!("{} {}: {said}", case.name, case.way);
    }
    println!("{audited:?}");
    match wrong {
        0 => {
            println!("{} recordings contradict nothing", cases.len());
            Ok(())
        }
        some => Err(format!(
            "{some} of {} are not there or contradict themselves",
            cases.len()
        )),
    }
}

impl Case {
    fn kept(trace: PathBuf) -> Case {
        let name = trace.display().to_string();
        let made = Ok(Recorded { trace, live: None });
        Case {
            name,
            way: "kept",
            made,
        }
    }
}

/// The traces in a folder.
fn kept(folder: &Path) -> Result<Vec<Case>, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let mut traces: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|is| is == "mcap"))
        .collect();
    traces.sort();
    Ok(traces.into_iter().map(Case::kept).collect())
}

/// The number of installed programs, and recordings of them on private servers.
fn fresh(place: &Path) -> (usize, Vec<Case>) {
    let long = PROGRAMS
        .iter()
        .map(|program| (program.name.to_owned(), program.shell.to_owned()));
    let short = SHORT
        .iter()
        .map(|command| ((*command).to_owned(), worked(command)));
    let program = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
    let (programs, missing): (Vec<_>, Vec<_>) = long
        .chain(short)
        .map(|(name, shell)| (program(&name), shell))
        .partition(|(name, _)| is_installed(name));
    let missing: Vec<_> = missing.into_iter().map(|(name, _)| name).collect();
    println!("not installed: {}", missing.join(", "));
    let wanted = Mutex::new(programs.iter().enumerate());
    let made = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = wanted.lock().ok().and_then(|mut wanted| wanted.next());
                    let Some((number, (name, shell))) = next else {
                        return;
                    };
                    let cases = of_program(number, name, shell, place);
                    if let Ok(mut made) = made.lock() {
                        made.extend(cases);
                    }
                }
            });
        }
    });
    (programs.len(), made.into_inner().unwrap_or_default())
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// Runs a program for four seconds, with some keys and clicks.
fn worked(command: &str) -> String {
    format!(
        "timeout -k 1 4 {command} & sleep 1.5
         for at in 20 40 60 80; do xdotool mousemove $at $at click 1 key Tab sleep 0.1; done
         xdotool type --delay 30 'quick fox'; sleep 0.5; kill $!; wait"
    )
}

/// Recordings of a program: normal, over a network, in one of the other ways, and the first recording scrubbed and
/// truncated.
fn of_program(number: usize, name: &str, shell: &str, place: &Path) -> Vec<Case> {
    let case = |way, made| Case {
        name: name.to_owned(),
        way,
        made,
    };
    let work = |way: &str| {
        let folder = place.join(format!("{name}-{way}"));
        fs::create_dir_all(&folder)
            .map_err(reported)
            .map(|()| folder)
    };
    let recorded = |way, options: &[&str], shell: &str| {
        case(
            way,
            work(way).and_then(|folder| record(&folder, options, shell)),
        )
    };
    let plain = recorded("plain", &[], shell);
    let marked = format!(
        "( {shell} ) & sleep 2.5; {} mark; wait",
        program().display()
    );
    let printed = format!("( {shell} ); sleep 3; kill -USR1 $PPID; sleep 1");
    let other = match number % 4 {
        0 => case(
            "attached",
            work("attached").and_then(|at| attached(&at, shell)),
        ),
        1 => recorded("ring", RING, &marked),
        2 => recorded("live", &["--live"], &printed),
        _ => recorded("tried", SCRUBBED, shell),
    };
    let mut cases = vec![recorded("net", NET, shell), other];
    if let Ok(Recorded { trace, .. }) = &plain.made {
        let cut = CUTS[number % CUTS.len()];
        cases.push(case("scrubbed", scrubbed(trace)));
        cases.push(case("cut off", cut_off(trace, cut)));
    }
    cases.insert(0, plain);
    cases
}

fn program() -> PathBuf {
    target().join("release/x11prof")
}

/// Records a shell command on a private server.
fn record(folder: &Path, options: &[&str], shell: &str) -> Result<Recorded, String> {
    let said = folder.join("said.txt");
    // The program's exit status does not matter.
    Command::new(program())
        .args(["record", "--server", "xvfb", "-o", "trace.mcap"])
        .args(options)
        .args(["--", "sh", "-c", shell])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&said).map_err(reported)?)
        .status()
        .map_err(reported)?;
    let live = options.contains(&"--live").then(|| said.clone());
    let found = ["trace.mcap", "trace-1.mcap"].map(|name| folder.join(name));
    match found.into_iter().find(|trace| trace.exists()) {
        Some(trace) => Ok(Recorded { trace, live }),
        None => Err(format!("no recording, see {}", said.display())),
    }
}

/// Attaches to a server and records a shell command.
fn attached(folder: &Path, shell: &str) -> Result<Recorded, String> {
    let cpus = std::thread::available_parallelism().map_err(reported)?;
    let server = XServer::start(&format!("0-{}", cpus.get() - 1))?;
    let trace = folder.join("trace.mcap");
    let recorder = Recorder::attach(&server.display(), &trace)?;
    Command::new("sh")
        .args(["-c", shell])
        .env("DISPLAY", server.display())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(reported)?;
    recorder.end()?;
    Ok(Recorded { trace, live: None })
}

fn scrubbed(trace: &Path) -> Result<Recorded, String> {
    let scrubbed = trace.with_file_name("scrubbed.mcap");
    let mut scrub = Command::new(program());
    let done = scrub.arg("scrub").arg(trace).arg("-o").arg(&scrubbed);
    let done = done.output().map_err(reported)?;
    match done.status.success() {
        true => Ok(Recorded {
            trace: scrubbed,
            live: None,
        }),
        false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

fn cut_off(trace: &Path, hundredths: usize) -> Result<Recorded, String> {
    let cut = trace.with_file_name("cut.mcap");
    let bytes = fs::read(trace).map_err(reported)?;
    fs::write(&cut, &bytes[..bytes.len() * hundredths / 100]).map_err(reported)?;
    Ok(Recorded {
        trace: cut,
        live: None,
    })
}

/// The number of passed checks; otherwise the failures, or the reason why the audit could not run.
fn audit(recorded: &Recorded) -> Result<String, String> {
    let trace = recorded.trace.display();
    let live = recorded
        .live
        .as_ref()
        .map(fs::read_to_string)
        .transpose()
        .map_err(reported)?;
    let found = x11prof_audit::recording(
        &|| Command::new(program()),
        &recorded.trace,
        live.as_deref(),
    )?;
    let said = found.to_string();
    let lines = said.lines().filter(|line| !line.starts_with("not in this"));
    let said = lines.collect::<Vec<_>>().join("; ");
    match found.violations.is_empty() {
        true => Ok(said),
        false => Err(format!("{trace}: {said}")),
    }
}
