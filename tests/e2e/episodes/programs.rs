//! Toolkit programs that were not used to develop the episode analysis, driven by keys and clicks with pauses. No
//! episode may extend past the next action, or have more client CPU time than the kernel counted.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::benchmark::{Episode, beginning_ns, episodes, xdotool};
use super::figures::median;
use super::idle::monotonic_ns;
use super::kernel::Kernel;
use super::table::keep;
use super::toolkits::{classes, source};
use crate::harness::{Place, Recording, Server, needs, quiet, wait};

/// A program and how it is started.
struct Program {
    name: &'static str,
    toolkit: &'static str,
    /// A program on the PATH, and its package.
    needs: (&'static str, &'static str),
    words: &'static [&'static str],
    /// Start-up time in seconds.
    start: u64,
}

const fn program(
    name: &'static str,
    toolkit: &'static str,
    needs: (&'static str, &'static str),
    words: &'static [&'static str],
) -> Program {
    Program {
        name,
        toolkit,
        needs,
        words,
        start: 4,
    }
}

/// `SOURCE/…` represents a file of the clients, `CLASSES` for the folder of the compiled Swing programs.
const PROGRAMS: &[Program] = &[
    program("xterm", "Xt", ("xterm", "xterm"), &["xterm"]),
    program("xcalc", "Xaw", ("xcalc", "x11-apps"), &["xcalc"]),
    program("xfig", "Xaw3d", ("xfig", "xfig"), &["xfig"]),
    program("nedit", "Motif", ("nedit", "nedit"), &["nedit"]),
    program("xpdf", "Motif", ("xpdf", "xpdf"), &["xpdf"]),
    program("fluid", "FLTK", ("fluid", "fluid"), &["fluid"]),
    program(
        "dillo",
        "FLTK",
        ("dillo", "dillo"),
        &["dillo", "SOURCE/page.html"],
    ),
    program(
        "text in wxWidgets",
        "wxWidgets",
        (
            "/usr/share/doc/python3-wxgtk4.0/copyright",
            "python3-wxgtk4.0",
        ),
        &["/usr/bin/python3", "SOURCE/text_wx.py"],
    ),
    program(
        "featherpad",
        "Qt 5",
        ("featherpad", "featherpad"),
        &["featherpad", "--standalone"],
    ),
    program(
        "text in Qt 6",
        "Qt 6",
        ("/usr/share/doc/python3-pyqt6/copyright", "python3-pyqt6"),
        &["/usr/bin/python3", "SOURCE/text_qt6.py"],
    ),
    program(
        "testspriteminimal",
        "SDL 2",
        (SPRITES, "libsdl2-tests"),
        &[SPRITES],
    ),
    program(
        "mousepad",
        "GTK 3",
        ("mousepad", "mousepad"),
        &["mousepad", "--disable-server"],
    ),
    program("geany", "GTK 3", ("geany", "geany"), &["geany", "-i"]),
    program(
        "emacs",
        "GTK 3, X",
        ("emacs", "emacs-gtk"),
        &["emacs", "-Q"],
    ),
    program(
        "gtk4-widget-factory",
        "GTK 4",
        ("gtk4-widget-factory", "gtk-4-examples"),
        &["env", "GSK_RENDERER=cairo", "gtk4-widget-factory"],
    ),
    program(
        "text in Tk",
        "Tk",
        ("wish", "tk"),
        &["wish", "SOURCE/text.tcl"],
    ),
    program(
        "text in Swing",
        "Swing",
        ("java", "default-jre"),
        &["java", "-cp", "CLASSES", "Text"],
    ),
    Program {
        start: 12,
        ..program(
            "chromium",
            "Chromium",
            ("chromium", "chromium"),
            &[
                "chromium",
                "--no-sandbox",
                "--no-first-run",
                "--disable-gpu",
                "--window-position=0,0",
                "SOURCE/page.html",
            ],
        )
    },
    Program {
        start: 12,
        ..program(
            "firefox",
            "Firefox",
            ("firefox-esr", "firefox-esr"),
            &["firefox-esr", "--new-instance", "SOURCE/page.html"],
        )
    },
];
const SPRITES: &str = "/usr/libexec/installed-tests/SDL2/testspriteminimal";

/// The xdotool actions, and the pause after each in milliseconds.
const ACTIONS: &[(&str, u64)] = &[
    ("mousemove 200 200", 600),
    ("click 1", 700),
    ("key a", 500),
    ("key b", 500),
    ("key c", 500),
    ("key d", 500),
    ("key Tab", 500),
    ("key Escape", 600),
    ("mousemove 30 12", 600),
    ("click 1", 800),
    ("key Escape", 600),
    ("mousemove 60 40", 600),
    ("click 1", 800),
    ("key 1", 500),
    ("key 2", 500),
    ("key 3", 500),
];

/// The programs named in the arguments of `cargo xtask validate episodes programs`, or all.
fn wanted() -> Vec<&'static Program> {
    let named = std::env::var("X11PROF_EPISODES_BENCHMARKS").unwrap_or_default();
    let named: Vec<&str> = named.split_whitespace().collect();
    let is = |program: &&Program| named.iter().any(|name| program.name.contains(name));
    let all = PROGRAMS.iter();
    all.filter(|program| named.is_empty() || is(program))
        .collect()
}

#[test]
#[ignore = "takes minutes; cargo xtask validate episodes"]
fn no_certain_episode_extends_past_the_next_action() {
    println!(
        "\n| program | toolkit | episodes | of input | median, ms | longest, ms | past the next action | unsure |\n\
         |---|---|---:|---:|---:|---:|---:|---:|"
    );
    let mut past_of_all = 0;
    for program in wanted() {
        let (name, package) = program.needs;
        if !name.starts_with('/') {
            needs(name, package);
        }
        past_of_all += works(program);
    }
    assert_eq!(
        past_of_all, 0,
        "episodes that reach past the next action, and do not say unsure"
    );
}

/// Drives a program and prints its row. Returns the number of episodes that are too long and not marked as unsure.
fn works(program: &Program) -> usize {
    let _quiet = quiet();
    let server = Server::xvfb(&[]);
    let place = Place::new();
    let trace = place.path("trace.mcap");
    let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
    let words: Vec<String> = program.words.iter().map(|word| full(word)).collect();
    let mut command: Command = recording.client(&words[0]);
    command
        .args(&words[1..])
        .env("HOME", place.path("."))
        .env("XDG_CONFIG_HOME", place.path("."))
        .env("NO_AT_BRIDGE", "1")
        .env("SDL_AUDIODRIVER", "dummy")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut client = command.spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(program.start));
    let mut sent = Vec::new();
    for (action, look) in ACTIONS {
        sent.push(monotonic_ns());
        let words: Vec<&str> = action.split(' ').collect();
        xdotool(&server, &words);
        std::thread::sleep(Duration::from_millis(*look));
    }
    // Stop the recording first, so that the program's exit is not recorded.
    recording.signal(rustix::process::Signal::INT);
    let _ = client.kill();
    wait(&mut client, program.name);
    let beginning = beginning_ns(&trace);
    let sent: Vec<f64> = sent
        .iter()
        .map(|nanos| (nanos - beginning) as f64 / 1e6)
        .collect();
    let all = episodes(&place, &trace);
    Kernel::of(&trace).is_not_exceeded(&all);
    let first = sent.first().copied().unwrap_or(0.0);
    let input: Vec<&Episode> = all
        .iter()
        .filter(|episode| episode.trigger == "input" && episode.start_ms >= first)
        .collect();
    // An episode that extends past the next action.
    let past = |episode: &&&Episode| {
        let mut next = sent.iter().filter(|sent| **sent > episode.start_ms + 1.0);
        next.next().is_some_and(|next| episode.end_ms() > *next)
    };
    let silent: Vec<&&Episode> = input
        .iter()
        .filter(|one| past(one) && !one.unsure)
        .collect();
    let latencies: Vec<f64> = input.iter().map(|episode| episode.latency_ms).collect();
    let unsure = input.iter().filter(|episode| episode.unsure).count();
    let longest = latencies.iter().copied().fold(0.0, f64::max);
    println!(
        "| {} | {} | {} | {} | {:.1} | {longest:.1} | {} | {unsure} |",
        program.name,
        program.toolkit,
        all.len(),
        input.len(),
        median(&latencies),
        input.iter().filter(past).count(),
    );
    for one in &silent {
        println!("past the next action: {one:?}");
    }
    keep(
        "programs",
        program.name,
        json!({
            "toolkit": program.toolkit, "episodes": all.len(), "input": input.len(),
            "median_ms": median(&latencies), "longest_ms": longest,
            "past_the_next_action": input.iter().filter(past).count(), "unsure": unsure,
        }),
    );
    silent.len()
}

fn full(word: &str) -> String {
    match word.strip_prefix("SOURCE/") {
        Some(name) => source(name).to_string_lossy().into_owned(),
        None if word == "CLASSES" => classes().to_string_lossy().into_owned(),
        None => word.to_owned(),
    }
}
