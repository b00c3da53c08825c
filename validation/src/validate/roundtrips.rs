//! `cargo xtask validate network trips`: compares round trips of real programs with xtrace's log of the same session, and
//! shows suggestions for their start-up.
//!
//! The program is connected to x11prof, x11prof to xtrace, xtrace to Xvfb. In the log, a round trip is a reply to the
//! client's last request that leaves no reply pending. x11prof excludes round trips during which the client was
//! observed to run, so it may count a few less.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::reported;
use crate::bench::x_server::XServer;
use xtask::packages::{DEMO, MORE_PROGRAMS, Needed, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The programs, each run for some seconds.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("xterm", &["xterm", "-e", "sleep 2"]),
    ("gtk3-widget-factory", &["gtk3-widget-factory"]),
    ("mousepad", &["mousepad"]),
    ("featherpad (Qt)", &["featherpad"]),
];
/// The share of round trips during which a client may have run.
const WORKED_ON: f64 = 0.02;

/// A program that is ended on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the programs whose names contain one of `arguments`, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let xtrace = Needed {
        program: "xtrace",
        package: "xtrace",
    };
    ensure(&[DEMO, TEST, MORE_PROGRAMS, &[xtrace]])?;
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let folder = target().join("validate/roundtrips");
    fs::create_dir_all(&folder).map_err(reported)?;
    let mut failed = Vec::new();
    for (name, command) in PROGRAMS {
        if !arguments.is_empty() && !arguments.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let (trace, log) = (folder.join("trace.mcap"), folder.join("xtrace.log"));
        record(command, &trace, &log)?;
        let theirs = in_log(&fs::read_to_string(&log).map_err(reported)?);
        let report = report(&trace)?;
        let total = &report["total"];
        let ours = total["round_trips"].as_u64().unwrap_or(0);
        println!("{name}: {ours} round trips, {theirs} in xtrace's log");
        for start in report["start_ups"].as_array().into_iter().flatten() {
            println!(
                "  start-up: {} round trips, {} ms",
                start["round_trips"], start["latency_ms"]
            );
        }
        for one in report["suggestions"]
            .as_array()
            .into_iter()
            .flatten()
            .take(3)
        {
            println!(
                "  {} ms: {}",
                one["saves_ms"],
                one["action"].as_str().unwrap_or("")
            );
        }
        if ours > theirs || (theirs - ours) as f64 > WORKED_ON * theirs as f64 {
            failed.push(name);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("the counts differ: {}", failed.join(", "))),
    }
}

/// Records a program on a display that xtrace serves.
fn record(command: &[&str], trace: &Path, log: &Path) -> Result<(), String> {
    // xtrace appends to an existing log.
    let _ = fs::remove_file(log);
    let server = XServer::start("0")?;
    let free = |number: &u32| !Path::new(&socket(*number)).exists();
    let number = (900..1000).find(free).ok_or("no free display")?;
    let display = format!(":{number}");
    let xtrace = Command::new("xtrace")
        .args(["-n", "-k", "-d", &server.display(), "-D", &display, "-o"])
        .arg(log)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(reported)?;
    let _xtrace = Running(xtrace);
    for _ in 0..500 {
        if !free(&number) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // The programs never end, so the exit status is timeout's.
    Command::new(target().join("release/x11prof"))
        .args(["record", "--display", &display, "-o"])
        .arg(trace)
        .args(["--", "timeout", "-k", "1", "6"])
        .args(command)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(drop)
        .map_err(reported)
}

fn socket(number: u32) -> String {
    format!("/tmp/.X11-unix/X{number}")
}

fn report(trace: &Path) -> Result<Value, String> {
    let output = Command::new(target().join("release/x11prof"))
        .args(["network", "--format", "json"])
        .arg(trace)
        .output()
        .map_err(reported)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// A line of the log: `001:<:00a3: 16: Request(23): GetSelectionOwner …`.
struct Line<'a> {
    client: &'a str,
    sent: bool,
    number: &'a str,
    text: &'a str,
}

impl Line<'_> {
    fn read(line: &str) -> Option<Line<'_>> {
        let (client, rest) = line.split_once(':')?;
        let (way, rest) = rest.split_once(':')?;
        let (number, text) = rest.split_once(':')?;
        let hexadecimal = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_hexdigit());
        hexadecimal.then_some(Line {
            client,
            sent: way == "<",
            number,
            text,
        })
    }

    fn is_reply(&self) -> bool {
        !self.sent && self.text.contains("eply") && !self.text.contains(": Event ")
    }

    fn is_error(&self) -> bool {
        !self.sent && self.text.starts_with("Error ")
    }

    /// The kind of a request, in the log's notation.
    fn kind(&self) -> &str {
        let text = self.text.trim_start();
        let text = text.split_once(": ").map_or(text, |(_, text)| text);
        text.split(['=', '\'']).next().unwrap_or(text)
    }
}

/// The number of round trips in a log. Its first connection belongs to the recorder.
fn in_log(log: &str) -> u64 {
    let lines = log
        .lines()
        .filter_map(Line::read)
        .filter(|line| line.client != "000");
    let lines: Vec<Line<'_>> = lines.collect();
    // A kind of request has a reply if the log contains a reply to one.
    let mut kinds: HashMap<(&str, &str), &str> = HashMap::new();
    let mut questions: HashSet<&str> = HashSet::new();
    for line in &lines {
        if line.sent {
            kinds.insert((line.client, line.number), line.kind());
        } else if line.is_reply()
            && let Some(kind) = kinds.get(&(line.client, line.number))
        {
            questions.insert(kind);
        }
    }
    let mut open: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    let mut last: HashMap<&str, &str> = HashMap::new();
    let mut count = 0;
    for line in &lines {
        let open = open.entry(line.client).or_default();
        if line.sent {
            last.insert(line.client, line.number);
            if questions.contains(line.kind()) {
                open.insert(line.number);
            }
        } else if (line.is_reply() || line.is_error()) && open.remove(line.number) {
            let alone = open.is_empty() && last.get(line.client) == Some(&line.number);
            count += u64::from(alone);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::in_log;

    #[test]
    fn round_trips_in_a_log_are_counted() {
        let log = "000:<:0001:  4: Request(99): ListExtensions \n\
            000:>:0001:32: Reply to ListExtensions: names=\n\
            001:<:0001: 20: Request(98): QueryExtension name='A'\n\
            001:>:0001:32: Reply to QueryExtension: present=true(0x01)\n\
            001:<:0002: 20: Request(98): QueryExtension name='B'\n\
            001:<:0003: 20: Request(98): QueryExtension name='C'\n\
            001:>:0002:32: Reply to QueryExtension: present=true(0x01)\n\
            001:>:0003:32: Reply to QueryExtension: present=true(0x01)\n\
            001:<:0004:  8: Request(8): MapWindow window=0x0020000c\n\
            001:>:0004:Error 3=Window: major=8, minor=0, bad=0x00000000, seq=0004\n\
            001:<:0005: 20: Request(98): QueryExtension name='D'\n\
            001:>:0005:Error 11=Alloc: major=98, minor=0, bad=0x00000000, seq=0005\n";
        assert_eq!(in_log(log), 3);
    }
}
