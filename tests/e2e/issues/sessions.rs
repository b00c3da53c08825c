//! Sessions of three programs in two versions, driven by xdotool with human-like pauses. They contain four
//! problems: Notes 2 sleeps in a handler, Browser 1 queries the server repeatedly, Browser 2 waits for another
//! program, Painter 2 redraws everything.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::harness::{Finished, Place, Recording, Server, needs, wait};

pub(crate) const PROGRAMS: [&str; 3] = ["notes", "browser", "painter"];

/// A known problem and its expected issue.
pub(crate) struct Problem {
    pub(crate) program: &'static str,
    pub(crate) landmark: &'static str,
    pub(crate) version: &'static str,
    /// The blame must contain one of these words.
    pub(crate) blame: &'static [&'static str],
    /// The problem uses CPU time. If other load occupies the processors, a blame on the run queue is valid.
    pub(crate) works: bool,
}

pub(crate) const PROBLEMS: [Problem; 4] = [
    Problem {
        program: "notes",
        landmark: "Notes",
        version: "2",
        blame: &["sleep"],
        works: false,
    },
    Problem {
        program: "browser",
        landmark: "Browser",
        version: "1",
        blame: &["QueryPointer"],
        works: true,
    },
    Problem {
        program: "browser",
        landmark: "Browser",
        version: "2",
        blame: &["waiting for wish (ConvertSelection)"],
        works: false,
    },
    Problem {
        program: "painter",
        landmark: "Painter",
        version: "2",
        blame: &["drawing", "writing"],
        works: true,
    },
];

/// The parameters of a session.
pub(crate) struct Session {
    pub(crate) program: &'static str,
    pub(crate) version: &'static str,
    pub(crate) user: String,
    /// Seed for the actions and their pauses.
    pub(crate) number: u64,
    /// Number of input actions.
    pub(crate) actions: usize,
}

impl Session {
    /// Path of the recording in `folder`.
    pub(crate) fn trace(&self, folder: &Path) -> PathBuf {
        let name = format!("{}-{}-{}.mcap", self.program, self.version, self.number);
        folder.join(name)
    }

    /// Records the session into `folder`.
    pub(crate) fn record(&self, folder: &Path) {
        self.record_as(&self.trace(folder), &[], |_| {});
    }

    /// Records the session with additional arguments. `look` inspects the recorder before it is stopped.
    pub(crate) fn record_as(&self, output: &Path, more: &[&str], look: impl FnOnce(&Recording)) {
        needs("xdotool", "xdotool");
        needs("wish", "tk");
        let place = Place::new();
        let server = Server::xvfb(&["-screen", "0", "800x600x24"]);
        let labels = [
            format!("program={}", self.program),
            format!("version={}", self.version),
            format!("user={}", self.user),
        ];
        let mut words = vec!["--display", &server.display];
        words.extend(more);
        for label in &labels {
            words.extend(["--label", label]);
        }
        // Move the pointer away from all windows.
        xdotool(&server, &["mousemove", "790", "590"]);
        let mut recording = Recording::at(&place, output, &words);
        let mut chance = Chance(self.number * 7919 + 17);
        let slow = (300 + chance.below(150)).to_string();
        let mut holder = (self.program == "browser").then(|| {
            ready(
                self.tk("holder", &recording, &place)
                    .arg(&slow)
                    .args(["-name", "holder"]),
            )
        });
        let mut program = match self.program {
            "painter" => {
                let mut python = recording.client("/usr/bin/python3");
                python
                    .arg(source("session_painter.py"))
                    .arg(self.version)
                    .arg((5000 + chance.below(2000)).to_string())
                    .env("HOME", place.path("."))
                    .env("GDK_BACKEND", "x11")
                    .env("NO_AT_BRIDGE", "1")
                    .env("GSETTINGS_BACKEND", "memory");
                ready(&mut python)
            }
            name => ready(
                self.tk(name, &recording, &place)
                    .arg(&slow)
                    .args(["-name", name]),
            ),
        };
        let person = self.person(&mut chance);
        xdotool(
            &server,
            &person.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        assert!(wait(&mut program, self.program).success());
        if let Some(holder) = &mut holder {
            holder.kill().expect("it runs until then");
            holder.wait().expect("it has ended");
        }
        look(&recording);
        recording.signal(rustix::process::Signal::INT);
    }

    fn tk(&self, name: &str, recording: &Recording, place: &Place) -> Command {
        let mut wish = recording.client("wish");
        wish.arg(source("session.tcl"))
            .args([name, self.version])
            .env("HOME", place.path("."));
        wish
    }

    /// The input actions as xdotool arguments.
    fn person(&self, chance: &mut Chance) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut say = |text: &str| words.extend(text.split(' ').map(str::to_owned));
        // The first two actions cover both kinds, whatever the random numbers are.
        for action in 0..self.actions {
            let kind = if action < 2 {
                action as u64
            } else {
                chance.below(3)
            };
            match (self.program, kind) {
                ("painter", _) => {
                    let (x, y) = (40 + chance.below(400), 40 + chance.below(200));
                    say(&format!("mousemove {x} {y} sleep 0.2 click 1"));
                }
                (_, 0) => say("mousemove 80 30 sleep 0.2 click 1"),
                (_, 1) if self.program == "browser" => say("mousemove 260 30 sleep 0.2 click 1"),
                _ => {
                    say("mousemove 250 200 sleep 0.2 click 1 sleep 0.3");
                    say(&format!("type --args 1 --delay {}", 90 + chance.below(60)));
                    say(["quickly", "brown", "fox", "jumps"][chance.below(4) as usize]);
                }
            }
            say(&format!("sleep 0.{}", 75 + chance.below(24)));
        }
        say("key F12");
        words
    }
}

/// A deterministic pseudo-random generator (Marsaglia's xorshift, 2003).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

pub(crate) fn source(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/toolkits");
    folder.join(name)
}

pub(crate) fn xdotool(server: &Server, words: &[&str]) {
    Finished::of(server.client("xdotool").args(words)).succeeded();
}

/// Starts a program and waits for its ready line.
pub(crate) fn ready(command: &mut Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("a line of it");
    assert_eq!(line.trim(), "ready");
    child
}
