//! `cargo xtask validate suites [NAME…]`: other projects' test suites directly, recorded, over an emulated network and
//! next to an attached recorder. Their verdicts must be the same.
//!
//! A verdict that differs between two direct runs is the suite's own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::large::binary;
use super::reported;
use crate::bench::x_server::XServer;
use xtask::packages::{Needed, ensure};
use xtask::run::{cargo, run};

/// The processor of the servers.
const SERVER_CPU: &str = "0";
/// The time of an attached recorder to begin.
const ATTACH: Duration = Duration::from_secs(2);

/// A suite that runs on the display in its environment.
struct Suite {
    name: &'static str,
    needed: Needed,
    /// Runs once in the folder of the suite, without a display.
    prepare: &'static str,
    shell: &'static str,
    /// A line of output is a verdict if it contains one of these. The verdict begins there.
    verdicts: &'static [&'static str],
}

const SUITES: &[Suite] = &[
    Suite {
        name: "x11perf",
        needed: needed("x11perf", "x11-apps"),
        prepare: "",
        shell: "x11perf -repeat 1 -reps 2 -all",
        verdicts: &["sec): ", "X Error", "Major opcode"],
    },
    Suite {
        name: "rendercheck",
        needed: needed("rendercheck", "rendercheck"),
        prepare: "",
        shell: "rendercheck -t fill,dcoords,mcoords",
        verdicts: &["tests passed", "test FAILED", "test error", "not passed"],
    },
    Suite {
        name: "node-x11",
        needed: needed("npm", "npm"),
        prepare: "npm install --no-audit --no-fund x11@2.3.0 mocha@10 should@13 sinon@17 async@3 >log 2>&1",
        shell: "for test in node_modules/x11/test/*.js; do
                    timeout 90 npx mocha --timeout 30000 --exit --reporter tap $test | sed \"s|ok [0-9]*|& $(basename $test)|\"
                done",
        verdicts: &["not ok ", "ok "],
    },
    Suite {
        name: "python-xlib",
        needed: needed("pip", "python3-pip"),
        // A later setuptools cannot read the description of the package.
        prepare: "echo 'setuptools<70' >limit && PIP_CONSTRAINT=limit \
                  pip download -q --no-deps --no-binary :all: python-xlib==0.33 && \
                  tar xzf python-xlib-0.33.tar.gz --strip-components=1 && pip install -q --target lib six",
        shell: "for test in xlib_display requests_le requests_be events_le events_be; do
                    PYTHONPATH=lib python3 -W ignore -m unittest -v test.test_$test
                done",
        verdicts: &["test_"],
    },
    Suite {
        name: "xcffib",
        needed: needed("pip", "python3-pip"),
        // The tests start a server each, unless reported otherwise, and leave their clients running. The deselected test
        // connects with a made-up cookie, which the recorder refuses even if the server accepts it.
        prepare: "pip install -q --target lib xcffib==1.13.0 pytest==8.4.2 && \
                  pip download -q --no-deps --no-binary :all: xcffib==1.13.0 && \
                  tar xzf xcffib-1.13.0.tar.gz --strip-components=1 xcffib-1.13.0/test && \
                  printf '%s\\n' 'import atexit, subprocess, xcffib, xcffib.testing' \
                      'def begin(self): self.conn = xcffib.connect()' \
                      'def spawn(self, command): atexit.register(subprocess.Popen(command).kill)' \
                      'of = xcffib.testing.XvfbTest' \
                      'of.setUp, of.spawn, of.tearDown = begin, spawn, lambda self: self.conn.disconnect()' \
                      >lib/display_given.py",
        shell: "PYTHONPATH=lib python3 -m pytest -v -p display_given -p no:cacheprovider \
                --deselect test/test_connection.py::TestConnection::test_auth_connect test",
        verdicts: &["test/"],
    },
    Suite {
        name: "tk",
        needed: needed("wish", "python3-tk"),
        // Python's tests of Tk; Tk's own are in no Debian package.
        prepare: "python=/usr/bin/python3; \
                  package=$($python -c 'import sys; print(\"libpython%d.%d-testsuite\" % sys.version_info[:2])') && \
                  apt-get download -q $package >log 2>&1 && dpkg -x $package*.deb root && mv root/usr/lib/python3* lib && \
                  cp -r $($python -c 'import os, tkinter; print(os.path.dirname(tkinter.__file__))')/. lib/tkinter",
        shell: "cd lib && for test in tkinter/test/test_t*/test_*.py; do
                    PYTHONPATH=. timeout 300 /usr/bin/python3 -m unittest -v $(echo ${test%.py} | tr / .)
                done",
        verdicts: &["test_"],
    },
    Suite {
        name: "x11rb",
        needed: needed("Xvfb", "xvfb"),
        // Its examples, as its own CI runs them, except for the one of shared memory, which a network does not have.
        prepare: "cargo init -q --name suite && cargo add -q x11rb@0.14.0 2>log && \
                  cargo vendor -q vendor >log && cd vendor/x11rb && rm .cargo-checksum.json && \
                  echo '[workspace]' >>Cargo.toml && cargo build -q --examples --all-features",
        shell: "for name in check_unchecked_requests generic_events hypnomoire list_fonts record simple_window tutorial \
                    xclock_utc xeyes; do
                    X11RB_EXAMPLE_TIMEOUT=1 timeout 20 vendor/x11rb/target/debug/examples/$name >said 2>&1
                    echo verdict $name $? $(grep -c . said)
                done",
        verdicts: &["verdict "],
    },
    Suite {
        name: "gtk4",
        needed: needed("gtk4-widget-factory", "gtk-4-examples"),
        // GTK's own tests, except for those of style sheets, which need no display, and for some that take minutes.
        prepare: "apt-get download -q gtk-4-tests >log 2>&1 && dpkg -x gtk-4-tests*.deb root",
        shell: "cd root/usr/libexec/installed-tests/gtk-4.0 && export GDK_BACKEND=x11 GTK_A11Y=test GSETTINGS_BACKEND=memory
                for test in gdk/* gtk/*; do
                    case $test in *.*|*-client|*-data|*exhaustive|*/main|*/grid|*keywords) continue;; esac
                    [ -f $test ] && (cd ${test%/*} && timeout 120 ./${test#*/} --tap | sed \"s|ok [0-9]*|& $test|\")
                done",
        verdicts: &["not ok ", "ok "],
    },
    Suite {
        name: "sdl2",
        // mpv uses SDL 2, so its package brings the library.
        needed: needed("mpv", "mpv"),
        prepare: "apt-get download -q libsdl2-tests >log 2>&1 && dpkg -x libsdl2-tests*.deb root",
        shell: "cd root/usr/libexec/installed-tests/SDL2 && export SDL_VIDEODRIVER=x11 SDL_AUDIODRIVER=dummy
                for suite in Clipboard Events Keyboard Mouse Pixels Render Surface Syswm Video; do
                    timeout 120 ./testautomation --seed x --filter $suite
                done",
        verdicts: &[">>> Test '"],
    },
];

const fn needed(program: &'static str, package: &'static str) -> Needed {
    Needed { program, package }
}

/// The ways to run a suite: the name, and the recorder's options, if it records.
const WAYS: [(&str, Option<&[&str]>); 5] = [
    ("direct", None),
    ("again", None),
    ("recorded", Some(&[])),
    ("net", Some(&["--net", "lan"])),
    ("attached", Some(&["--attach"])),
];

/// Runs all suites, or those of these names.
pub(super) fn validate(names: &[String]) -> Result<(), String> {
    if std::env::var_os(super::large::BINARY).is_none() {
        run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    }
    let wanted = |suite: &&Suite| names.is_empty() || names.iter().any(|one| one == suite.name);
    println!("| suite | verdicts | of itself | recorded | over a network | attached |");
    println!("|---|---:|---:|---:|---:|---:|");
    let mut differ = Vec::new();
    for suite in SUITES.iter().filter(wanted) {
        ensure(&[&[Needed { ..suite.needed }]])?;
        let folder = tempfile::tempdir().map_err(reported)?;
        let prepared = shell(suite.prepare, folder.path())
            .status()
            .map_err(reported)?;
        if !prepared.success() {
            return Err(format!("{}: {prepared}", suite.prepare));
        }
        let verdicts = WAYS.map(|(_, recorder)| verdicts(suite, folder.path(), recorder));
        let [direct, others @ ..] = verdicts;
        let direct = direct?;
        let mut row = format!("| {} | {} |", suite.name, direct.len());
        let mut own = BTreeSet::new();
        for (other, (way, _)) in others.into_iter().zip(&WAYS[1..]) {
            let other = other?;
            let apart: BTreeSet<String> = direct.symmetric_difference(&other).cloned().collect();
            let apart: BTreeSet<String> = apart.difference(&own).cloned().collect();
            row += &format!(" {} |", apart.len());
            if *way == "again" {
                own = apart;
            } else {
                differ.extend(
                    apart
                        .iter()
                        .map(|one| format!("{} {way}: {one}", suite.name)),
                );
            }
        }
        println!("{row}");
    }
    match differ.is_empty() {
        true => Ok(()),
        false => Err(differ.join("\n")),
    }
}

fn shell(line: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder);
    command
}

/// Runs a suite on a new server, and reads its verdicts.
fn verdicts(
    suite: &Suite,
    folder: &Path,
    recorder: Option<&[&str]>,
) -> Result<BTreeSet<String>, String> {
    let server = XServer::start(SERVER_CPU)?;
    let output = folder.join("output");
    let line = format!("{{ {}; }} >output 2>&1", suite.shell);
    let mut program = shell(&line, folder);
    program.env("DISPLAY", server.display());
    let trace = folder.join("suite.mcap");
    let mut record = Command::new(binary());
    record.current_dir(folder).args(["record", "--display"]);
    record.arg(server.display()).arg("-o").arg(&trace);
    record
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("log")).map_err(reported)?);
    match recorder {
        None => drop(program.status().map_err(reported)?),
        Some(["--attach"]) => {
            let mut recorder = record.arg("--attach").spawn().map_err(reported)?;
            sleep(ATTACH);
            let ended = program.status();
            let pid = recorder.id().to_string();
            let _ = Command::new("kill").args(["-INT", &pid]).status();
            recorder.wait().map_err(reported)?;
            ended.map_err(reported)?;
        }
        Some(options) => {
            record.args(options).args(["--", "sh", "-c", &line]);
            record.status().map_err(reported)?;
        }
    }
    let text = fs::read(&output).map_err(reported)?;
    let text = String::from_utf8_lossy(&text);
    let verdict = |line: &str| {
        let marks = suite.verdicts.iter();
        let at = marks.filter_map(|mark| line.find(mark)).min()?;
        line.get(at..).map(str::to_owned)
    };
    Ok(text.lines().filter_map(verdict).collect())
}
