//! `cargo xtask validate attach`: the server CPU overhead of attaching, in alternating runs with and without a
//! recorder, and a test that an ordinary user can attach to another user's server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{median, quantile, reported};
use crate::bench::x_server::XServer;
use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The number of pairs of runs with and without a recorder.
pub(super) const PAIRS: usize = 7;
/// The largest accepted overhead of attaching for typical programs.
const GOAL: f64 = 0.05;
/// The recorder must attach and end within this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// The load of a server.
pub(super) struct Load {
    pub(super) name: &'static str,
    /// True if the goal applies to the load.
    pub(super) usual: bool,
    shell: &'static str,
}

pub(super) const LOADS: [Load; 3] = [
    Load {
        name: "GTK 3 program",
        usual: true,
        shell: "gtk3-widget-factory & sleep 2
            for x in 80 160 240 320 400 480 560 640; do
              xdotool mousemove $x 150 sleep 0.05 click 1 sleep 0.1 click 5 key Tab sleep 0.1 click 4
              xdotool mousemove $x 300 sleep 0.05 key space sleep 0.1
            done; sleep 0.3; kill $!; wait",
    },
    Load {
        name: "xterm that scrolls",
        usual: true,
        shell: "xterm -fn fixed -j -e 'for i in $(seq 60); do seq 300; sleep 0.03; done'",
    },
    Load {
        name: "x11perf flood",
        usual: false,
        shell: "x11perf -repeat 1 -time 1 -reps 40000 -rect10 -line10 -noop >/dev/null 2>&1",
    },
];

/// Measures all loads whose names contain one of `arguments`, or all loads. `user` runs only the test with another
/// user.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST])?;
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let folder = target().join("validate/attach");
    fs::create_dir_all(&folder).map_err(reported)?;
    let wanted = |name: &str| {
        arguments.is_empty() || arguments.iter().any(|word| name.contains(word.as_str()))
    };
    let mut failed = Vec::new();
    println!(
        "{:<20} {:>10} {:>10} {:>8}   quarters of the pairs",
        "load", "without", "attached", "more"
    );
    for load in LOADS.iter().filter(|load| wanted(load.name)) {
        let more = measured(load, &folder)?;
        if load.usual && more > GOAL {
            failed.push(load.name);
        }
    }
    if wanted("user") {
        as_another_user()?;
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "attaching costs more than {:.0} %: {}",
            GOAL * 100.0,
            failed.join(", ")
        )),
    }
}

/// The server's CPU time, in milliseconds.
pub(super) struct Took {
    pub(super) load: f64,
    /// The CPU time for the requests at the start.
    attaching: f64,
    /// The overhead that the recorder reports.
    reported: Option<f64>,
}

/// The share by which attaching increases the server's CPU time for a load.
fn measured(load: &Load, folder: &Path) -> Result<f64, String> {
    let (mut without, mut with, mut more) = (Vec::new(), Vec::new(), Vec::new());
    let (mut asked, mut said) = (Vec::new(), Vec::new());
    // The first run fills caches.
    once::<Recorder>(load, |_| Ok(None))?;
    for pair in 0..PAIRS {
        let trace = folder.join("trace.mcap");
        let mut took = [0.0; 2];
        let mut attaching = 0.0_f64;
        // The order within the pairs also alternates.
        for attached in [pair % 2 == 0, pair % 2 != 0] {
            let attach = |display: &str| {
                let trace = attached.then_some(trace.as_path());
                let recorder = trace.map(|trace| Recorder::attach(display, trace));
                recorder.transpose()
            };
            let one = once(load, attach)?;
            said.extend(one.reported);
            took[usize::from(attached)] = one.load;
            attaching = attaching.max(one.attaching);
        }
        without.push(took[0]);
        with.push(took[1]);
        more.push(took[1] / took[0] - 1.0);
        asked.push(attaching);
    }
    let part = median(more.iter().copied());
    println!(
        "{:<20} {:>7.1} ms {:>7.1} ms {:>6.1} %   {:.1} to {:.1} %, {:.1} ms to attach, the recorder says {:.1} ms",
        load.name,
        median(without.iter().copied()),
        median(with.iter().copied()),
        part * 100.0,
        quantile(&more, 0.25) * 100.0,
        quantile(&more, 0.75) * 100.0,
        median(asked.iter().copied()),
        median(said.iter().copied()),
    );
    Ok(part)
}

/// Runs a load on a separate server. `attach` attaches to it, given its display. Returns the server's CPU time.
pub(super) fn once<A: Attached>(
    load: &Load,
    attach: impl FnOnce(&str) -> Result<Option<A>, String>,
) -> Result<Took, String> {
    let cpus = std::thread::available_parallelism().map_err(reported)?;
    let server = XServer::start(&format!("0-{}", cpus.get() - 1))?;
    let asleep = ran(server.pid())?;
    let attached = attach(&server.display())?;
    let before = ran(server.pid())?;
    // The exit status of a terminated program is meaningless.
    Command::new("sh")
        .args(["-c", load.shell])
        .env("DISPLAY", server.display())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(reported)?;
    let after = ran(server.pid())?;
    let reported = attached.map(A::end).transpose()?.flatten();
    Ok(Took {
        reported,
        load: (after - before) as f64 / 1e6,
        attaching: (before - asleep) as f64 / 1e6,
    })
}

/// A recorder, or another client, that is attached to a server.
pub(super) trait Attached {
    /// Detaches. Returns the reported overhead on the server, in milliseconds.
    fn end(self) -> Result<Option<f64>, String>;
}

impl Attached for Recorder {
    fn end(mut self) -> Result<Option<f64>, String> {
        let status = self.ended()?;
        match status.success() {
            true => Ok(self.1.join().ok().flatten()),
            false => Err(format!("the recorder ended with {status}")),
        }
    }
}

/// An attached recorder.
pub(super) struct Recorder(Ended, JoinHandle<Option<f64>>);

impl Recorder {
    pub(super) fn attach(display: &str, trace: &Path) -> Result<Recorder, String> {
        Recorder::attach_within(display, None, trace, None)
    }

    /// Attaches with an authority file, and with a limit on the file size in kilobytes.
    pub(super) fn attach_within(
        display: &str,
        authority: Option<&Path>,
        trace: &Path,
        limit: Option<u64>,
    ) -> Result<Recorder, String> {
        let mut command = Command::new("sh");
        // Exceeding the file size limit causes a write error, as a full disk does.
        let limit = limit.map_or(String::new(), |limit| {
            format!("trap '' XFSZ; ulimit -f {}; ", 2 * limit)
        });
        command
            .args(["-c", &format!("{limit}exec \"$0\" \"$@\"")])
            .arg(target().join("release/x11prof"))
            .args(["record", "--attach", "--display", display, "-o"])
            .arg(trace)
            .envs(authority.map(|file| ("XAUTHORITY", file)));
        Recorder::start(&mut command)
    }

    pub(super) fn signal(&self, signal: &str) -> Result<(), String> {
        let id = self.0.0.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &id])
            .status();
        sent.map(drop).map_err(reported)
    }

    /// Ends the recorder. Holes in the recording are not an error.
    pub(super) fn end_late(mut self) -> Result<(), String> {
        self.ended().map(drop)
    }

    /// Starts the recorder, and waits until it reports that it is recording.
    fn start(command: &mut Command) -> Result<Recorder, String> {
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(reported)?;
        let pipe = child.stderr.take().ok_or("no pipe")?;
        let mut lines = BufReader::new(pipe).lines();
        let said = lines.next().and_then(Result::ok).unwrap_or_default();
        if !said.contains("recording the ") {
            return Err(said);
        }
        let said = std::thread::spawn(move || {
            let lines = lines.map_while(Result::ok);
            lines.filter_map(|line| cost(&line)).last()
        });
        Ok(Recorder(Ended(child), said))
    }

    fn ended(&mut self) -> Result<ExitStatus, String> {
        self.signal("INT")?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.0.0.try_wait().map_err(reported)? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("the recorder does not end".to_owned())
    }
}

/// Parses the milliseconds in the recorder's line about its cost.
fn cost(line: &str) -> Option<f64> {
    let mut words = line
        .split_once("it cost the server at least ")?
        .1
        .split(' ');
    let number: f64 = words.next()?.parse().ok()?;
    Some(match words.next()? {
        "s" => number * 1e3,
        "ms" => number,
        _ => number / 1e3,
    })
}

/// The nanoseconds that a process has run (proc(5), schedstat).
fn ran(pid: u32) -> Result<u64, String> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).map_err(reported)?;
    let first = text.split_whitespace().next().unwrap_or_default();
    first.parse().map_err(reported)
}

/// As the user "nobody", attaches to a server of root, with a copy of the cookie.
fn as_another_user() -> Result<(), String> {
    if !is_root() {
        println!("another user: left out, it needs root");
        return Ok(());
    }
    let place = PathBuf::from(format!("/tmp/x11prof-attach-{}", std::process::id()));
    fs::create_dir_all(&place).map_err(reported)?;
    let checked = attach_as_nobody(&place);
    let _ = fs::remove_dir_all(&place);
    checked
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

fn attach_as_nobody(place: &Path) -> Result<(), String> {
    const NOBODY: &str = "65534";
    const COOKIE: &str = "00112233445566778899aabbccddeeff";
    let done = |command: &mut Command| match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    };
    let (servers, copy) = (place.join("servers"), place.join("copy"));
    let cookie = |file: &Path, display: &str| {
        let mut xauth = Command::new("xauth");
        done(
            xauth
                .arg("-qf")
                .arg(file)
                .args(["add", display, ".", COOKIE]),
        )
    };
    // A server accepts a cookie of any display.
    cookie(&servers, ":99")?;
    let mut child = Command::new("Xvfb")
        .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-auth"])
        .arg(&servers)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(reported)?;
    let mut number = String::new();
    let pipe = child.stdout.take().ok_or("no pipe")?;
    let _server = Ended(child);
    BufReader::new(pipe)
        .read_line(&mut number)
        .map_err(reported)?;
    let display = format!(":{}", number.trim());
    cookie(&copy, &display)?;
    let binary = place.join("x11prof");
    fs::copy(target().join("release/x11prof"), &binary).map_err(reported)?;
    done(Command::new("chown").args(["-R", NOBODY]).arg(place))?;
    let trace = place.join("trace.mcap");
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(&binary)
        .args(["record", "--attach", "--display", &display, "-o"])
        .arg(&trace)
        .env("XAUTHORITY", &copy)
        .env("HOME", place)
        .current_dir(place);
    let recorder = Recorder::start(&mut command)?;
    let mut client = Command::new("xset");
    client
        .args(["q", "-display", &display])
        .env("XAUTHORITY", &copy);
    done(client.stdout(Stdio::null()))?;
    recorder.end()?;
    let report = super::report(&trace, None)?;
    let count = report["total"]["count"].as_u64().unwrap_or(0);
    println!("another user: {count} requests of a client of root's, recorded by user {NOBODY}");
    match count {
        0 => Err("nothing was recorded".to_owned()),
        _ => Ok(()),
    }
}

/// A process that is ended on drop.
pub(super) struct Ended(pub(super) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
