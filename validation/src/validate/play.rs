//! `cargo xtask validate drive [plays|delays|screen|quiet|same]`: checks that driven sessions repeat exactly, and that
//! `type` and `drive` report the true latency.
//!
//! *plays*: ten plays of one session of each program have the same actions and the same kinds and numbers of
//! requests, except named ones. *delays*: compares the latency of keys with the handler's own clock, and checks that
//! `drive --old` finds a slower handler. *screen*: compares the latency of keys in programs of nine toolkits, with a
//! window manager, a clipboard manager and an input method, with a stopwatch. *quiet*: prints what the pages say first
//! about the same programs without input. *same*: the number of false changes in N comparisons of a program with itself.

mod stopwatch;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use x11prof_proxy::{PrivateServer, ServerKind};
use x11rb::protocol::xproto::ConnectionExt as _;

use super::guest::connect;
use super::{median, quantile, reported};
use xtask::packages::{DEMO, EDITORS as EDITOR_PACKAGES, MORE_PROGRAMS, TEST, TOOLKITS, ensure};
use xtask::run::{cargo, run, target};

/// The number of runs of a session.
const PLAYS: usize = 10;
/// The number of recordings on each side of a comparison.
const RUNS: usize = 4;
/// Comparisons of a program with itself.
const COMPARISONS: usize = 20;
/// The durations of handlers, in milliseconds.
const DELAYS: [&str; 4] = ["10", "30", "100", "300"];

/// A program with its session.
struct Driven {
    name: &'static str,
    command: &'static [&'static str],
    session: &'static str,
}

const fn driven(
    name: &'static str,
    command: &'static [&'static str],
    session: &'static str,
) -> Driven {
    Driven {
        name,
        command,
        session,
    }
}

const EDIT: &str = "type \"hello\\n\"\nkey ctrl+a\nkey Right\nkey shift+Left\ntype \"x\"\nmove 100 100\nclick 1 60 120\nscroll 1 100 100\n";

const PROGRAMS: [Driven; 6] = [
    driven(
        "xterm",
        &["xterm", "-e", "cat"],
        "type \"hello\\n\"\nkey ctrl+l\nmove 100 100\nclick 1 60 60\nscroll -1 60 60\n",
    ),
    driven("mousepad (GTK 3)", &["mousepad"], EDIT),
    driven("featherpad (Qt 5)", &["featherpad", "--standalone"], EDIT),
    driven("text in Tk", &["wish", "text.tcl"], EDIT),
    driven("text in Swing", &["java", "Text.java"], EDIT),
    driven(
        "emacs (GTK 3)",
        &["emacs", "-Q"],
        "type \"hello\\n\"\nkey ctrl+a\nkey Up\nkey ctrl+k\ntype \"x\"\nmove 100 100\nclick 1 60 220\nscroll 1 100 200\n",
    ),
];

/// Programs of nine toolkits that draw what is typed, with their commands.
const EDITORS: &[(&str, &[&str])] = &[
    ("xterm (Xlib)", &["xterm", "-e", "cat"]),
    ("urxvt (Xlib)", &["urxvt", "-e", "cat"]),
    ("st (Xft)", &["st", "-e", "cat"]),
    ("xedit (Xaw)", &["xedit", "new"]),
    ("nedit (Motif)", &["nedit"]),
    ("mousepad (GTK 3)", &["mousepad"]),
    ("geany (GTK 3)", &["geany", "-i", "new.c"]),
    (
        "gvim (GTK 3)",
        &["gvim", "-f", "-u", "NONE", "+startinsert"],
    ),
    ("emacs (GTK 3)", &["emacs", "-Q"]),
    ("abiword (GTK 3)", &["abiword"]),
    ("gnome-text-editor (GTK 4)", &["gnome-text-editor", "-s"]),
    ("featherpad (Qt 5)", &["featherpad", "--standalone"]),
    ("qterminal (Qt 5)", &["qterminal", "-e", "cat"]),
    ("text in Tk", &["wish", "text.tcl"]),
    ("idle (Tk)", &["idle", "new.py"]),
    ("text in Swing", &["java", "Text.java"]),
    ("terminology (EFL)", &["terminology", "-e", "cat"]),
];
/// The programs that run with them: a window manager, a clipboard manager and an input method.
const BESIDE: [&[&str]; 3] = [&["openbox"], &["parcellite"], &["ibus-daemon", "--xim"]];

/// The time within which they must be ready, and the interval between two checks.
const READY_WITHIN: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// The first and the last second of a recording in which programs are quiet, and its end.
const QUIET: [&str; 3] = ["10", "20", "22"];

/// Runs the part that `arguments` names, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS, TOOLKITS, EDITOR_PACKAGES])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    run(cargo().args(["build", "--release", "--locked", "--example", "microbench"]))?;
    let folder = target().join("validate/play");
    fs::create_dir_all(&folder).map_err(reported)?;
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients/toolkits");
    for file in ["text.tcl", "Text.java"] {
        fs::copy(clients.join(file), folder.join(file)).map_err(reported)?;
    }
    let part = arguments.first().map(String::as_str);
    let wants = |name| part.is_none_or(|part| part == name);
    if !["plays", "delays", "screen", "quiet", "same"]
        .into_iter()
        .any(wants)
    {
        return Err("expected plays, delays, screen, quiet or same".to_owned());
    }
    if wants("plays") {
        plays(&folder)?;
    }
    if wants("delays") {
        delays(&folder)?;
    }
    if wants("screen") {
        screen(&folder)?;
    }
    if wants("quiet") {
        quiet(&folder)?;
    }
    if wants("same") {
        same(&folder)?;
    }
    Ok(())
}

/// Processes that end with this value.
struct Ended(Vec<Child>);

impl Drop for Ended {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that has ended needs no signal.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn x11prof_path() -> PathBuf {
    target().join("release/x11prof")
}

/// A command in `folder`, without the files and settings of this user.
fn at(folder: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("NO_AT_BRIDGE", "1")
        .env("GSETTINGS_BACKEND", "memory")
        .env_remove("DISPLAY")
        .stdin(Stdio::null());
    command
}

/// A command on a server, with its input method.
fn on(folder: &Path, server: &PrivateServer, program: impl AsRef<OsStr>) -> Command {
    let mut command = at(folder, program);
    command
        .env("DISPLAY", server.display().to_string())
        .env("XAUTHORITY", server.authority_file())
        .env("XMODIFIERS", "@im=ibus");
    command
}

/// Runs x11prof like a user, without a display.
fn x11prof(folder: &Path, words: &[&str]) -> Result<Value, String> {
    result(at(folder, x11prof_path()).args(words))
}

/// Runs x11prof, prints its messages, and reads its JSON.
fn result(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(reported)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let of_ours = said.lines().filter(|line| line.starts_with("x11prof:"));
    of_ours.for_each(|line| eprintln!("{line}"));
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {said}"))
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or(f64::NAN)
}

fn latencies(of: &Value) -> impl Iterator<Item = f64> {
    let actions = of["actions"].as_array().into_iter().flatten();
    actions.map(|action| number(&action["latencies_ms"][0]))
}

/// Runs each session ten times.
fn plays(folder: &Path) -> Result<(), String> {
    println!(
        "| program | actions in each play | unanswered | requests in each play | kinds whose number differs |"
    );
    println!("|---|---:|---:|---:|---|");
    for program in &PROGRAMS {
        fs::write(folder.join("session.txt"), program.session).map_err(reported)?;
        let times = PLAYS.to_string();
        let words = [
            "drive",
            "session.txt",
            "--times",
            &times,
            "--format",
            "json",
            "--",
        ];
        let played = match x11prof(folder, &[&words, program.command].concat()) {
            Ok(played) => played,
            Err(error) => {
                println!("| {} | {error} |", program.name);
                continue;
            }
        };
        let runs = played["plays"].as_array().cloned().unwrap_or_default();
        let answered = runs
            .iter()
            .map(|run| run["latency"]["count"].as_u64().unwrap_or(0));
        let answered: BTreeSet<u64> = answered.collect();
        let unanswered: BTreeSet<u64> = runs
            .iter()
            .filter_map(|run| run["without_response"].as_u64())
            .collect();
        let mut kinds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for run in &runs {
            let trace = run["trace"].as_str().unwrap_or_default();
            let report = super::report(&folder.join(trace), None)?;
            for line in report["requests"].as_array().into_iter().flatten() {
                let name = line["name"].as_str().unwrap_or_default();
                let counts = kinds.entry(name.to_owned()).or_default();
                counts.push(line["count"].as_u64().unwrap_or(0));
            }
        }
        let span = |counts: &Vec<u64>| {
            let least = if counts.len() < runs.len() {
                0
            } else {
                counts.iter().min().copied().unwrap_or(0)
            };
            (least, counts.iter().max().copied().unwrap_or(0))
        };
        let differ = kinds.iter().map(|(name, counts)| (name, span(counts)));
        let differ: Vec<String> = differ
            .filter(|(_, (least, most))| least != most)
            .map(|(name, (least, most))| format!("{name} {least} to {most}"))
            .collect();
        let sums = kinds
            .values()
            .map(span)
            .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        println!(
            "| {} | {answered:?} | {unanswered:?} | {} to {} | {} of {}: {} |",
            program.name,
            sums.0,
            sums.1,
            differ.len(),
            kinds.len(),
            differ.join(", ")
        );
    }
    Ok(())
}

/// The handler times that microbench measured, in milliseconds.
fn truth(path: &Path) -> Result<Vec<f64>, String> {
    let text = fs::read_to_string(path).map_err(reported)?;
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let worked = lines.filter(|line| !line["asked_ms"].is_null());
    Ok(worked
        .map(|line| (number(&line["end_ns"]) - number(&line["begin_ns"])) / 1e6)
        .collect())
}

fn microbench() -> Result<String, String> {
    let path = target().join("release/examples/microbench");
    path.into_os_string()
        .into_string()
        .map_err(|_| "a path that is no text".to_owned())
}

/// Compares the latencies of `drive` with known handler delays, and checks that `drive --old` finds a slower handler.
fn delays(folder: &Path) -> Result<(), String> {
    let program = microbench()?;
    // The program writes its measurements some time after the last key.
    let session = format!("type \"{}\"\nwait 1s\n", "abcde".repeat(DELAYS.len()));
    fs::write(folder.join("session.txt"), session).map_err(reported)?;
    println!(
        "| handler | keys | latency less the handler's own time, ms: median, largest |\n|---|---:|---|"
    );
    let times: Vec<&str> = DELAYS.iter().flat_map(|delay| [*delay; 5]).collect();
    for work in ["sleep", "compute"] {
        let words = [
            "drive",
            "session.txt",
            "--format",
            "json",
            "--",
            &program,
            "keyboard",
            work,
            "truth.json",
        ];
        let played = x11prof(folder, &[&words[..], &times].concat())?;
        let truth = truth(&folder.join("truth.json"))?;
        let off: Vec<f64> = latencies(&played)
            .zip(&truth)
            .map(|(latency, truth)| latency - truth)
            .collect();
        let largest = off.iter().map(|off| off.abs()).fold(0.0, f64::max);
        println!(
            "| {work} | {} | {:.2}, {largest:.2} |",
            off.len(),
            median(off.iter().copied())
        );
    }
    println!(
        "| the new version's handler takes longer by, ms | by `drive --old`: median, largest off |\n|---|---|"
    );
    for delay in DELAYS {
        let slower = delay.parse::<u32>().map_err(reported)? + 20;
        let old = format!("{program} keyboard sleep old.json {}", ["20"; 20].join(" "));
        let words = [
            "drive",
            "session.txt",
            "--times",
            "4",
            "--format",
            "json",
            "--all",
            "--old",
            &old,
            "--",
        ];
        let slower = slower.to_string();
        let new = [&program, "keyboard", "sleep", "new.json"];
        let difference = x11prof(folder, &[&words[..], &new, &[slower.as_str(); 20]].concat())?;
        let rows = difference["rows"].as_array().into_iter().flatten();
        let actions = rows.filter(|row| row["quantity"] == "action_ms" && !row["name"].is_null());
        let asked: f64 = delay.parse().map_err(reported)?;
        let off: Vec<f64> = actions.map(|row| number(&row["change"]) - asked).collect();
        let largest = off.iter().map(|off| off.abs()).fold(0.0, f64::max);
        println!(
            "| {delay} | {:.2}, {largest:.2} of {} actions |",
            asked + median(off.iter().copied()),
            off.len()
        );
    }
    Ok(())
}

/// Waits until the window manager and the input method own their selections.
fn until_ready(server: &PrivateServer) -> Result<(), String> {
    let x = connect(server)?;
    let begun = Instant::now();
    for name in ["WM_S0", "@server=ibus"] {
        let atom = x.intern_atom(false, name.as_bytes()).map_err(reported)?;
        let atom = atom.reply().map_err(reported)?.atom;
        loop {
            let owner = x.get_selection_owner(atom).map_err(reported)?;
            if owner.reply().map_err(reported)?.owner != x11rb::NONE {
                break;
            }
            if begun.elapsed() > READY_WITHIN {
                return Err(format!("no program owns {name}"));
            }
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Prints the first lines of each page about each program without input, between [`QUIET`] seconds of a recording.
fn quiet(folder: &Path) -> Result<(), String> {
    let beside = BESIDE.map(|words| words.join(" ") + " & ").concat();
    let shell = format!("{beside} exec \"$@\"");
    let [from, to, end] = QUIET;
    for (name, command) in EDITORS {
        let record = [
            "record",
            "--server",
            "xvfb",
            "--seconds",
            end,
            "-o",
            "quiet.mcap",
            "--",
            "sh",
            "-c",
            &shell,
            "sh",
        ];
        let words = [&record, *command].concat();
        let recorded = at(folder, x11prof_path()).args(words).status();
        recorded.map_err(reported)?;
        println!("\n### {name}\n");
        for page in [
            &["report", "--from", from, "--to", to][..],
            &["episodes", "--from", from, "--to", to],
            &["top", "--at", to],
        ] {
            let page = at(folder, x11prof_path())
                .args(page)
                .arg("quiet.mcap")
                .output();
            let text = String::from_utf8_lossy(&page.map_err(reported)?.stdout).into_owned();
            text.lines()
                .take_while(|line| !line.is_empty())
                .for_each(|line| println!("    {line}"));
        }
    }
    Ok(())
}

/// Compares the latency of each program's keys in `type` with a stopwatch.
fn screen(folder: &Path) -> Result<(), String> {
    println!(
        "| program | keys of both | type, ms: median | type less the stopwatch, ms: median, 90 % within, largest |\n|---|---:|---:|---|"
    );
    for (name, command) in EDITORS {
        let server = PrivateServer::start(ServerKind::Xvfb).map_err(reported)?;
        let display = server.display().to_string();
        let start = |words: &&[&str]| on(folder, &server, words[0]).args(&words[1..]).spawn();
        let beside: Result<Vec<Child>, _> = BESIDE.iter().map(start).collect();
        let beside = Ended(beside.map_err(reported)?);
        until_ready(&server)?;
        let words = [
            "type",
            "the quick brown fox jumps over the lazy dog and sees five boxing wizards",
            "--format",
            "json",
            "--yes",
            "--display",
            &display,
            "--",
        ];
        let over = AtomicBool::new(false);
        let (typed, seen) = std::thread::scope(|scope| {
            let watch = scope.spawn(|| stopwatch::watch(&server, &over));
            let words = [&words, *command].concat();
            let typed = result(on(folder, &server, x11prof_path()).args(words));
            drop(beside);
            over.store(true, Ordering::Relaxed);
            (typed, watch.join())
        });
        let seen = seen.map_err(|_| "the stopwatch broke off".to_owned())??;
        let typed: Vec<f64> = match &typed {
            Ok(typed) => latencies(typed).collect(),
            Err(why) => {
                println!("| {name} | {why} |");
                continue;
            }
        };
        if typed.len() != seen.len() {
            let (typed, seen) = (typed.len(), seen.len());
            println!("| {name} | {typed} typed, {seen} seen |");
            continue;
        }
        let both = typed
            .iter()
            .zip(&seen)
            .filter_map(|(typed, seen)| Some(typed - (*seen)?))
            .filter(|off| off.is_finite());
        let off: Vec<f64> = both.collect();
        let mut distances: Vec<f64> = off.iter().map(|off| off.abs()).collect();
        distances.sort_by(f64::total_cmp);
        println!(
            "| {name} | {} of {} | {:.2} | {:.2}, {:.2}, {:.2} |",
            off.len(),
            seen.len(),
            median(typed.iter().copied()),
            median(off.iter().copied()),
            quantile(&distances, 0.9),
            distances.last().copied().unwrap_or(f64::NAN)
        );
    }
    Ok(())
}

/// Compares a program with itself several times, and prints how often `drive` reports a significant difference.
fn same(folder: &Path) -> Result<(), String> {
    fs::write(
        folder.join("session.txt"),
        "type \"hello\\n\"\nkey ctrl+l\nclick 1 60 60\n",
    )
    .map_err(reported)?;
    let times = RUNS.to_string();
    let mut found = 0;
    for comparison in 1..=COMPARISONS {
        let words = [
            "drive",
            "session.txt",
            "--times",
            &times,
            "--format",
            "json",
        ];
        let both = ["--old", "xterm -e cat", "--", "sh", "-c", "xterm -e cat"];
        let difference = x11prof(folder, &[&words[..], &both].concat())?;
        if difference["significant"].as_u64() != Some(0) {
            found += 1;
            let rows = difference["rows"].as_array().into_iter().flatten();
            let real = rows.filter(|row| row["significant"] == true);
            let real: Vec<String> = real
                .map(|row| format!("{} {}", row["quantity"], row["name"]))
                .collect();
            println!("comparison {comparison}: {}", real.join(", "));
        }
    }
    println!("xterm with itself: something real was found in {found} of {COMPARISONS}");
    Ok(())
}
