//! `cargo xtask validate replay`: checks whether a replay shows the same pictures, sends the same requests, and takes
//! the same time.
//!
//! Each program is recorded three times. The first recording is on a server that this program starts, with screenshots
//! at times when the screen does not change, and at the end. The replay's screenshots at these times are compared with
//! them pixel by pixel, and its requests, replies, errors and events are counted. The other two recordings are made as
//! a user would make them, on a private server that times its requests. The server time of a replay is compared with
//! the recorded one, and with the difference between the two recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use x11prof_proxy::{PrivateServer, ServerKind};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};
use x11rb::rust_connection::RustConnection;

use super::programs::{PROGRAMS, Program, packages};
use super::{median, reported};
use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The screen is at rest if it does not change for this long.
const REST: Duration = Duration::from_millis(30);
/// The interval between two screenshots.
const APART: Duration = Duration::from_millis(1500);
/// The number of runs of a program whose server time is compared.
const RUNS: usize = 2;

/// The results of a program.
struct Row {
    equal: usize,
    pictures: usize,
    /// Kinds of requests, replies and errors with different numbers.
    counts: Vec<String>,
    /// Kinds of events with different numbers.
    events: Vec<String>,
    said: Vec<String>,
    /// The ratio of the replayed server time to the recorded one.
    ratio: f64,
    /// The ratio of the second recording to the first.
    again: f64,
}

/// Replays the programs whose names contain one of `arguments`, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, &packages()])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    if arguments == ["same"] {
        return super::replay_same::validate();
    }
    let folder = target().join("validate/replay");
    fs::create_dir_all(&folder).map_err(reported)?;
    println!(
        "| program | equal pictures | requests, replies and errors that differ in number | events that do | replayed / recorded, ms of the server | recorded again / recorded | said |"
    );
    println!("|---|---:|---|---|---:|---:|---|");
    let mut rows = Vec::new();
    for program in PROGRAMS {
        let named = |name: &String| program.name.contains(name.as_str());
        if !arguments.is_empty() && !arguments.iter().any(named) {
            continue;
        }
        match row(program, &folder) {
            Ok(row) => {
                println!(
                    "| {} | {} of {} | {} | {} | {:.2} | {:.2} | {} |",
                    program.name,
                    row.equal,
                    row.pictures,
                    row.counts.join(", "),
                    row.events.join(", "),
                    row.ratio,
                    row.again,
                    row.said.join("; ")
                );
                rows.push(row);
            }
            Err(error) => eprintln!("{}: {error}", program.name),
        }
    }
    // A program without screenshots has nothing to compare.
    let is_equal = |row: &&Row| row.pictures > 0 && row.equal == row.pictures;
    let pictures = rows.iter().filter(is_equal).count();
    let counts = rows.iter().filter(|row| row.counts.is_empty()).count();
    println!(
        "\n{} programs: all pictures equal {pictures}, all counts equal {counts}; replayed / recorded {:.3} in the median",
        rows.len(),
        median(rows.iter().map(|row| row.ratio))
    );
    Ok(())
}

fn row(program: &Program, folder: &Path) -> Result<Row, String> {
    let name = program.name.replace([' ', '(', ')', '/'], "-");
    let trace = folder.join(format!("{name}.mcap"));
    let pictures = record_with_pictures(program, &trace)?;
    let shown = folder.join("pictures");
    // Screenshots of another program must not be mixed with these.
    let _ = fs::remove_dir_all(&shown);
    let replay = folder.join("replay.mcap");
    let (_, said) = replayed(&trace, &replay, Some(&shown))?;
    let mut equal = 0;
    for (name, recorded) in &pictures {
        let here = fs::read(shown.join(format!("xvfb/{name}.ppm"))).unwrap_or_default();
        equal += usize::from(here == *recorded);
    }
    let played = folder.join("replay-xvfb.mcap");
    let counts = ["Requests", "Replies", "Errors"].map(|of| differing(&trace, &played, of, &said));
    let counts: Result<Vec<Vec<String>>, String> = counts.into_iter().collect();
    let events = differing(&trace, &played, "Events", &said)?;
    let (mut times, mut replays) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let timed = folder.join(format!("{name}-timed-{run}.mcap"));
        super::carried::record(program, &timed)?;
        let (compared, _) = replayed(&timed, &replay, None)?;
        let of = |at: usize| compared["servers"][at]["server_ms"].as_f64();
        times.push(of(0).ok_or("no time")?);
        replays.push(of(1).ok_or("no time")?);
    }
    let ratios = times.iter().zip(&replays).map(|(there, here)| here / there);
    Ok(Row {
        equal,
        pictures: pictures.len(),
        counts: counts?.concat(),
        events,
        said: said.lines().map(short).collect(),
        ratio: median(ratios),
        again: times[1] / times[0],
    })
}

/// A line of the player's output, without the names of the program and the server.
fn short(line: &str) -> String {
    line.trim_start_matches("x11prof: xvfb: ").to_owned()
}

/// Records a program on a server that this program starts, without shared memory, because its contents are never
/// recorded. Returns the screenshots at its marks.
fn record_with_pictures(program: &Program, trace: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let server = PrivateServer::start(ServerKind::Xvfb).map_err(reported)?;
    let display = server.display().to_string();
    let home = tempfile::tempdir().map_err(reported)?;
    let x11prof = target().join("release/x11prof");
    let mut recorder = Command::new(&x11prof)
        .args([
            "record",
            "--keep-images",
            "--try",
            "no-sharing",
            "--display",
        ])
        .args([&display, "-o"])
        .arg(trace)
        .args(["--", "timeout", "-k", "5", "60", "sh", "-c", program.shell])
        .env("XAUTHORITY", server.authority_file())
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(reported)?;
    let screen = Screen::of(&server)?;
    let mut pictures = Vec::new();
    let mut next = Instant::now();
    while recorder.try_wait().map_err(reported)?.is_none() {
        std::thread::sleep(Duration::from_millis(20));
        if Instant::now() < next {
            continue;
        }
        let Some(before) = screen.at_rest()? else {
            continue;
        };
        let name = format!("moment-{}", pictures.len());
        let marked = Command::new(&x11prof)
            .args(["mark", "--display", &display, &name])
            .env("HOME", home.path())
            .env("XDG_RUNTIME_DIR", home.path())
            .status()
            .map_err(reported)?;
        // Drawing at about the time of the mark may come before or after it.
        if marked.success() && screen.picture()? == before {
            pictures.retain(|(other, _)| *other != name);
            pictures.push((name, before));
            next = Instant::now() + APART;
        }
    }
    Ok(pictures)
}

/// The screen of a server.
struct Screen(RustConnection);

impl Screen {
    fn of(server: &PrivateServer) -> Result<Screen, String> {
        use x11rb::rust_connection::DefaultStream;
        let number = server.display().number();
        let socket = std::os::unix::net::UnixStream::connect(format!("/tmp/.X11-unix/X{number}"));
        let (stream, _) =
            DefaultStream::from_unix_stream(socket.map_err(reported)?).map_err(reported)?;
        let cookie = server.cookie().as_bytes().to_vec();
        let name = b"MIT-MAGIC-COOKIE-1".to_vec();
        let x = RustConnection::connect_to_stream_with_auth_info(stream, 0, name, cookie);
        Ok(Screen(x.map_err(reported)?))
    }

    /// A screenshot in the format of `replay --pictures`.
    fn picture(&self) -> Result<Vec<u8>, String> {
        let screen = &self.0.setup().roots[0];
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        let format = ImageFormat::Z_PIXMAP;
        let asked = self
            .0
            .get_image(format, screen.root, 0, 0, width, height, u32::MAX);
        let image = asked.map_err(reported)?.reply().map_err(reported)?;
        let mut picture = format!("P6\n{width} {height}\n255\n").into_bytes();
        for pixel in image.data.chunks_exact(4) {
            picture.extend([pixel[2], pixel[1], pixel[0]]);
        }
        Ok(picture)
    }

    /// A screenshot of a screen that no longer changes; `None` if it still changes.
    fn at_rest(&self) -> Result<Option<Vec<u8>>, String> {
        let first = self.picture()?;
        std::thread::sleep(REST);
        Ok((self.picture()? == first).then_some(first))
    }
}

/// Replays a trace on a private Xvfb. Returns the comparison, and the messages of the player.
fn replayed(
    trace: &Path,
    output: &Path,
    pictures: Option<&Path>,
) -> Result<(Value, String), String> {
    let mut command = Command::new(target().join("release/x11prof"));
    command.arg("replay").arg(trace);
    command.args(["--server", "xvfb", "--format", "json", "-o"]);
    command.arg(output);
    if let Some(folder) = pictures {
        command.arg("--pictures").arg(folder);
    }
    let output = command.output().map_err(reported)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match serde_json::from_slice(&output.stdout) {
        Ok(compared) => Ok((compared, said)),
        Err(_) => Err(said),
    }
}

/// Kinds of messages with different numbers, except for the round trips that the player reports as added.
fn differing(
    trace: &Path,
    replay: &Path,
    category: &str,
    said: &str,
) -> Result<Vec<String>, String> {
    let (recorded, mut replayed) = (counts(trace, category)?, counts(replay, category)?);
    let added = said
        .lines()
        .find(|line| line.contains("GetInputFocus request"));
    let added = added.and_then(|line| line.split(' ').nth(2)?.parse::<i64>().ok());
    if let Some(count) = replayed.get_mut("GetInputFocus") {
        *count -= added.unwrap_or(0);
    }
    replayed.retain(|_, count| *count != 0);
    let names: BTreeSet<&String> = recorded.keys().chain(replayed.keys()).collect();
    let of = |counts: &BTreeMap<String, i64>, name| counts.get(name).copied().unwrap_or(0);
    let differ = names.into_iter().filter_map(|name| {
        let (there, here) = (of(&recorded, name), of(&replayed, name));
        (there != here).then(|| format!("{name} {there} → {here}"))
    });
    Ok(differ.collect())
}

/// The numbers of messages of a category, by name.
fn counts(trace: &Path, category: &str) -> Result<BTreeMap<String, i64>, String> {
    let mut command = Command::new(target().join("release/x11prof"));
    command.arg("stats").arg(trace).args(["--format", "json"]);
    let stats = command.output().map_err(reported)?.stdout;
    let stats: Value = serde_json::from_slice(&stats).map_err(reported)?;
    let categories = stats["categories"].as_array().into_iter().flatten();
    let mut categories = categories.filter(|one| one["name"] == category);
    let kinds = categories.next().map(|one| &one["by_message"]);
    let kinds = kinds.and_then(Value::as_array).into_iter().flatten();
    let count = |one: &Value| Some((one["name"].as_str()?.to_owned(), one["count"].as_i64()?));
    Ok(kinds.filter_map(count).collect())
}
