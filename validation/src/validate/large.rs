//! `cargo xtask validate programs [NAME…]`: runs large programs directly and through the recorder. Both runs must have
//! the same windows, screenshots, exit status and standard error; every page must work, and the audit must find
//! nothing.
//!
//! If the recorded run differs, a second direct run shows whether the program also differs from itself.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use x11prof_proxy::{PrivateServer, ServerKind};

use super::reported;
use xtask::run::{cargo, run, target};

/// The environment variable with the path of another build of x11prof to test.
pub(super) const BINARY: &str = "X11PROF";
/// The maximum duration of a run, and of its start.
const RUN: Duration = Duration::from_secs(40);
const START: Duration = Duration::from_secs(25);
/// A program is ready when its screenshot has not changed for this long.
const STILL: Duration = Duration::from_millis(1200);
/// How long to wait until a program stops changing its screen, and until it ends.
const PATIENCE: Duration = Duration::from_secs(6);
/// The time of a page.
const PAGE: Duration = Duration::from_secs(300);
/// The share of pixels that may differ, for example because of a cursor or a clock.
const ALIKE: f64 = 0.002;

/// Programs, with the shell commands that start them in a separate folder.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "firefox-esr",
        "firefox-esr --new-instance --profile . about:license",
    ),
    (
        "chromium",
        "chromium --no-sandbox --no-first-run --user-data-dir=. about:credits",
    ),
    (
        "soffice",
        "soffice --norestore --nologo --writer -env:UserInstallation=file://$PWD/office",
    ),
    ("gimp", "gimp --no-splash picture.ppm"),
    ("krita", "krita --nosplash picture.ppm"),
    ("blender", "blender --factory-startup"),
    ("wine", "WINEDEBUG=-all wine notepad text"),
    ("kate", "kate text"),
    (
        "mpv",
        "mpv --no-config --vo=x11 --image-display-duration=inf picture.ppm",
    ),
    ("vlc", "vlc --no-qt-privacy-ask"),
    (
        "xpra",
        "xpra start --daemon=no --attach=yes --start-child=xcalc --exit-with-children=yes",
    ),
    ("java", "java Swing.java"),
    ("inkscape", "inkscape"),
    ("evince", "evince"),
    ("emacs", "emacs -Q text"),
    ("gvim", "gvim -f text"),
    ("audacity", "audacity"),
    ("gnumeric", "gnumeric"),
    ("abiword", "abiword text"),
    ("qalculate-gtk", "qalculate-gtk"),
    ("thunar", "thunar ."),
    ("pcmanfm", "pcmanfm ."),
    ("geany", "geany -c . text"),
    ("mousepad", "mousepad text"),
    ("featherpad", "featherpad text"),
    ("transmission-gtk", "transmission-gtk -g ."),
    ("dillo", "dillo text"),
    ("kitty", "kitty sh -c 'cat text; read line'"),
    ("xterm", "xterm -e sh -c 'cat text; read line'"),
    ("nedit", "nedit text"),
    ("xfig", "xfig"),
    ("mupdf", "mupdf picture.pdf"),
    ("gnome-calculator", "gnome-calculator"),
    ("gtk4-widget-factory", "gtk4-widget-factory"),
    ("idle", "idle text"),
];

const SWING: &str = "import javax.swing.*; public class Swing { public static void main(String[] a) {
    var f = new JFrame(\"Swing\"); f.add(new JScrollPane(new JTextArea(\"text\", 20, 40))); f.pack(); f.setVisible(true); } }";

/// The pages of a recording, by the arguments that print them.
const PAGES: &[&str] = &[
    "report",
    "report --all",
    "report --format html -o page.html",
    "report --by window",
    "episodes --all",
    "network",
    "stats --histograms",
    "dump",
    "top",
    "export --to perfetto -o timeline",
];

/// The results of a run.
struct Run {
    windows: BTreeSet<String>,
    picture: Vec<u8>,
    /// The exit status as in a shell, or the reason why there is none.
    status: String,
    stderr: BTreeSet<String>,
    peak: Duration,
}

/// Runs the programs with these names, or all that are installed.
pub(super) fn validate(names: &[String]) -> Result<(), String> {
    if std::env::var_os(BINARY).is_none() {
        run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    }
    let base = tempfile::tempdir().map_err(reported)?;
    // Wine creates its folder once, which takes a minute.
    let wine = base.path().join("wine");
    let _ = Command::new("timeout")
        .args(["90", "wineboot", "-i"])
        .env("WINEPREFIX", &wine)
        .env_remove("DISPLAY")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    println!("| program | windows | picture | status | standard error | pages | seconds |");
    println!("|---|---|---|---|---|---|---:|");
    let (mut tried, mut failed) = (0, Vec::new());
    for (name, shell) in PROGRAMS {
        let is_named = names.is_empty() || names.iter().any(|one| one == name);
        if !is_named || !is_installed(name) {
            continue;
        }
        tried += 1;
        // All runs use the same folder, because programs show its name.
        let once = |side: &str, recorded| {
            let folder = base.path().join("folder");
            let run = once(&folder, &wine, shell, recorded);
            fs::rename(&folder, base.path().join(format!("{name}-{side}"))).map_err(reported)?;
            run
        };
        let (direct, recorded) = (once("direct", false)?, once("recorded", true)?);
        let mut differing = differences(&direct, &recorded);
        if differing.iter().any(|one| one.is_some()) {
            let itself = differences(&direct, &once("again", false)?);
            let own = |one: Option<String>| one.map(|what| format!("{what} (as itself)"));
            differing = std::array::from_fn(|at| match &itself[at] {
                Some(_) => own(differing[at].take()),
                None => differing[at].take(),
            });
        }
        let pages = pages(&base.path().join(format!("{name}-recorded")))?;
        let is_own = |what: &String| what.ends_with("(as itself)");
        let faults = differing
            .iter()
            .flatten()
            .filter(|what| !is_own(what))
            .count();
        if faults > 0 || !pages.is_empty() {
            failed.push(*name);
        }
        let [windows, picture, status, stderr] = differing.map(|one| one.unwrap_or("same".into()));
        let pages = if pages.is_empty() {
            "all".to_owned()
        } else {
            pages.join("; ")
        };
        let time = recorded.peak.as_secs_f64();
        println!("| {name} | {windows} | {picture} | {status} | {stderr} | {pages} | {time:.0} |");
    }
    println!(
        "\n{tried} programs, {} differ: {}",
        failed.len(),
        failed.join(", ")
    );
    match failed.is_empty() {
        true => Ok(()),
        false => Err("programs differ".to_owned()),
    }
}

/// The recorder: the other build if there is one, otherwise the release build.
pub(super) fn binary() -> PathBuf {
    let release = || target().join("release/x11prof");
    std::env::var_os(BINARY).map_or_else(release, PathBuf::from)
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Runs a program once, and sends it some input.
fn once(folder: &Path, wine: &Path, shell: &str, recorded: bool) -> Result<Run, String> {
    fs::create_dir(folder).map_err(reported)?;
    let text: String = (1..200)
        .map(|n| format!("Line {n}: the quick brown fox\n"))
        .collect();
    let picture: Vec<u8> = (0..320 * 240 * 3).map(|n| (n * 7 % 251) as u8).collect();
    let picture = [&b"P6 320 240 255\n"[..], &picture].concat();
    for (name, bytes) in [
        ("text", text.as_bytes()),
        ("picture.ppm", &picture),
        ("Swing.java", SWING.as_bytes()),
    ] {
        fs::write(folder.join(name), bytes).map_err(reported)?;
    }
    let _ = Command::new("gs")
        .args([
            "-q",
            "-dBATCH",
            "-dNOPAUSE",
            "-sDEVICE=pdfwrite",
            "-sOutputFile=picture.pdf",
            "-c",
        ])
        .arg("/Helvetica findfont 30 scalefont setfont 72 700 moveto (text) show showpage")
        .current_dir(folder)
        .status();
    let server = PrivateServer::start(ServerKind::Xvfb).map_err(reported)?;
    let script = format!("{shell} 2>stderr >/dev/null & echo $! >pid; wait $!");
    let mut command = match recorded {
        true => {
            let mut record = Command::new(binary());
            // Not in the folder that file managers show.
            record.arg("record").arg("-o").arg(trace(folder));
            record.args(["--", "sh", "-c", &script]);
            record
        }
        false => {
            let mut direct = Command::new("sh");
            direct.args(["-c", &script]);
            direct
        }
    };
    let authority = server.authority_file().to_owned();
    let display = server.display().to_string();
    command
        .env("DISPLAY", &display)
        .env("XAUTHORITY", &authority)
        .env("HOME", folder)
        .env("WINEPREFIX", wine)
        .env("NO_AT_BRIDGE", "1")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("recorder")).map_err(reported)?)
        .process_group(0);
    let began = Instant::now();
    let mut child = command.spawn().map_err(reported)?;
    let on = |program: &str| {
        let mut command = Command::new("timeout");
        command
            .args(["5", program])
            .env("DISPLAY", &display)
            .env("XAUTHORITY", &authority);
        command.stderr(Stdio::null());
        command
    };
    let output = |command: &mut Command| command.output().map(|of| of.stdout).unwrap_or_default();
    let shot = || output(on("xwd").args(["-root", "-silent"]));
    let empty = shot();
    while shot() == empty
        && began.elapsed() < START
        && child.try_wait().is_ok_and(|of| of.is_none())
    {
        sleep(Duration::from_millis(300));
    }
    still(shot);
    for words in [
        "mousemove 150 150 click 1",
        "type --delay 60 abc",
        "key --delay 60 Tab Down Return",
    ] {
        output(on("xdotool").args(words.split(' ')));
        sleep(Duration::from_millis(300));
    }
    let picture = still(shot);
    let tree = output(on("xwininfo").args(["-root", "-tree"]));
    let windows = String::from_utf8_lossy(&tree)
        .lines()
        .filter_map(window)
        .collect();
    let status = end(&mut child, folder, began);
    let stderr = fs::read(folder.join("stderr")).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&stderr);
    let plain = |line: &str| without_numbers(&line.replace(&display, "…"));
    Ok(Run {
        windows,
        picture,
        status,
        stderr: stderr.lines().map(plain).collect(),
        peak: began.elapsed(),
    })
}

/// The screenshot after the screen has stopped changing.
fn still(shot: impl Fn() -> Vec<u8>) -> Vec<u8> {
    let (began, mut since, mut before) = (Instant::now(), Instant::now(), shot());
    while since.elapsed() < STILL && began.elapsed() < PATIENCE {
        sleep(Duration::from_millis(300));
        let now = shot();
        if !are_alike(&now, &before) {
            since = Instant::now();
        }
        before = now;
    }
    before
}

/// Parses a named top-level window in xwininfo's list: name, class and size.
fn window(line: &str) -> Option<String> {
    let line = line.strip_prefix("     0x")?;
    if line.starts_with(' ') || line.contains("(has no name)") {
        return None;
    }
    let (_, rest) = line.split_once(' ')?;
    let end = rest
        .rfind("+")
        .and_then(|at| rest[..at].find("  "))
        .unwrap_or(rest.len());
    let size = rest[end..].split_whitespace().next()?.split('+').next()?;
    Some(format!("{} {size}", without_numbers(rest[..end].trim())))
}

/// Replaces each number in the text by 0: process ids, times, addresses.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut is_number = false;
    for c in text.chars() {
        let digit = c.is_ascii_digit() || is_number && c.is_ascii_hexdigit();
        if digit && !is_number {
            out.push('0');
        }
        is_number = digit;
        if !digit {
            out.push(c);
        }
    }
    out
}

/// Ends the program like a session manager, and returns its status.
fn end(child: &mut Child, folder: &Path, began: Instant) -> String {
    let pid = fs::read_to_string(folder.join("pid")).unwrap_or_default();
    signal("-TERM", pid.trim());
    let mut until = (Instant::now() + PATIENCE)
        .max(began + Duration::from_secs(5))
        .min(began + RUN);
    let mut is_interrupted = false;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let signal = status.signal().map(|signal| 128 + signal);
                break format!("{}", status.code().or(signal).unwrap_or(-1));
            }
            _ if Instant::now() > until && !is_interrupted && is_followed(folder) => {
                is_interrupted = true;
                signal("-INT", &child.id().to_string());
                until += PATIENCE;
            }
            _ if Instant::now() > until => break "does not end".to_owned(),
            _ => sleep(Duration::from_millis(100)),
        }
    };
    // Helper processes of the program are in its process group.
    signal("-KILL", &format!("-{}", child.id()));
    let _ = child.wait();
    status
}

/// Sends a signal to a process, or to a process group with a minus sign.
fn signal(signal: &str, to: &str) {
    let mut kill = Command::new("kill");
    // The process may have ended.
    let _ = kill.args([signal, "--", to]).stderr(Stdio::null()).status();
}

/// The last recording, in the folder that contains `folder`.
fn trace(folder: &Path) -> PathBuf {
    folder.with_file_name("recorded.mcap")
}

/// True if the recorder follows a process that the ended command started and that still has a window, such as the program
/// behind a shell script.
fn is_followed(folder: &Path) -> bool {
    let said = fs::read_to_string(folder.join("recorder")).unwrap_or_default();
    said.contains("Ctrl-C ends the recording")
}

/// True if screenshots differ at most in small areas such as a cursor.
fn are_alike(one: &[u8], other: &[u8]) -> bool {
    part_differing(one, other) <= ALIKE
}

/// The share of pixels that differ between two screenshots.
fn part_differing(one: &[u8], other: &[u8]) -> f64 {
    if one.len() != other.len() || one.is_empty() {
        return 1.0;
    }
    let pixels = one.chunks(4).zip(other.chunks(4));
    let differing = pixels.filter(|(one, other)| one != other).count();
    differing as f64 / (one.len() / 4) as f64
}

/// The differences in windows, screenshot, status and standard error.
fn differences(one: &Run, other: &Run) -> [Option<String>; 4] {
    let sets = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        let list: Vec<&str> = one
            .symmetric_difference(other)
            .map(String::as_str)
            .collect();
        let first: String = list.first()?.chars().take(60).collect();
        Some(format!(
            "{} differ: {}",
            list.len(),
            first.replace('|', "/")
        ))
    };
    let part = part_differing(&one.picture, &other.picture);
    [
        sets(&one.windows, &other.windows),
        (part > ALIKE).then(|| format!("{:.1} % differ", 100.0 * part)),
        (one.status != other.status).then(|| format!("{} for {}", other.status, one.status)),
        sets(&one.stderr, &other.stderr),
    ]
}

/// The pages of a folder's recording that fail or print unexpected text.
fn pages(folder: &Path) -> Result<Vec<String>, String> {
    let mut failing = Vec::new();
    for page in PAGES {
        let mut words = page.split(' ');
        let command = words.next().unwrap_or_default();
        let mut x11prof = Command::new("timeout");
        x11prof
            .arg(PAGE.as_secs().to_string())
            .arg(binary())
            .arg(command)
            .arg(trace(folder))
            .args(words);
        let ran = x11prof.current_dir(folder).output().map_err(reported)?;
        let said = String::from_utf8_lossy(&ran.stderr);
        if !ran.status.success() || said.contains("panicked") {
            // The audit prints the checks that fail to standard output.
            let printed = String::from_utf8_lossy(&ran.stdout);
            let line = said.lines().chain(printed.lines()).next();
            let line = line.unwrap_or_default();
            failing.push(format!("{page}: {} {line}", ran.status));
            let kept = std::env::temp_dir().join(format!("x11prof-failing-{command}.mcap"));
            fs::copy(trace(folder), kept).map_err(reported)?;
        }
    }
    let audited = x11prof_audit::recording(&|| Command::new(binary()), &trace(folder), None);
    let violations = audited.map(|found| (!found.violations.is_empty()).then(|| found.to_string()));
    failing.extend(
        violations
            .unwrap_or_else(Some)
            .map(|why| format!("audit: {why}")),
    );
    Ok(failing)
}
