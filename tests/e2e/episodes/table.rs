//! The tables of `cargo xtask validate episodes` and their acceptance limits.

use serde_json::{Value, json};

use super::benchmark::{BENCHMARKS, Pair, run};
use super::figures::{median, quantile};
use super::parts::{part_error_ms, switch_ms};
use super::screen::{Compared, Frames, HEAD, Seen, watch, watch_microbench};
use super::toolkits::{classes, source};
use crate::harness::{Server, needs};

/// Handling durations in milliseconds; LiLa's micro-benchmarks took from 10 ms to 1 s.
pub(crate) const TIMES_MS: [u64; 5] = [10, 30, 100, 300, 1000];
pub(crate) const WORKS: [&str; 4] = ["sleep", "compute", "read-back", "round-trips"];
/// Limits for the error in milliseconds. LiLa's error was usually below 3 ms.
pub(crate) const MEDIAN_MS: f64 = 1.0;
pub(crate) const P95_MS: f64 = 3.0;
/// Maximum median difference between the observed latency and the episode's, in milliseconds.
const SEEN_MS: f64 = 3.0;

/// Appends figures to the file that X11PROF_VALIDATE_EPISODES names (set by `cargo xtask validate episodes`).
pub(crate) fn keep(name: &str, of: &str, value: Value) {
    let Some(file) = std::env::var_os("X11PROF_VALIDATE_EPISODES") else {
        return;
    };
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let mut all: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({ "format": 1 }));
    all[name][of] = value;
    std::fs::write(&file, all.to_string()).expect("the figures are written");
}

fn errors(pairs: &[&Pair]) -> Vec<f64> {
    pairs.iter().map(|pair| pair.error_ms().abs()).collect()
}

fn row(name: &str, pairs: &[&Pair]) -> String {
    let truth: Vec<f64> = pairs.iter().map(|pair| pair.truth.latency_ms).collect();
    let ours: Vec<f64> = pairs.iter().map(|pair| pair.ours_ms()).collect();
    let switch = switch_ms(pairs);
    let parts: Vec<f64> = pairs
        .iter()
        .map(|pair| part_error_ms(pair, switch))
        .collect();
    let errors = errors(pairs);
    format!(
        "| {name} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} |",
        pairs.len(),
        median(&truth),
        median(&ours),
        median(&errors),
        quantile(&errors, 0.95),
        median(&parts),
        quantile(&parts, 0.95),
        switch * 1000.0,
    )
}

fn table(title: &str, rows: impl Iterator<Item = String>) {
    println!(
        "\n| {title} | handlings | truth, ms | ours, ms | median error, ms | 95th percentile, ms | parts: median error, ms | 95th percentile, ms | a switch, µs |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for row in rows {
        println!("{row}");
    }
}

/// The benchmarks named in the arguments of `cargo xtask validate episodes truth`, or all.
fn wanted() -> Vec<&'static str> {
    let named = std::env::var("X11PROF_EPISODES_BENCHMARKS").unwrap_or_default();
    let named: Vec<&str> = named.split_whitespace().collect();
    let known = |name: &&str| BENCHMARKS.contains(name);
    assert!(
        named.iter().all(known),
        "one of {named:?} is none of {BENCHMARKS:?}"
    );
    let all = BENCHMARKS.into_iter();
    all.filter(|name| named.is_empty() || named.contains(name))
        .collect()
}

#[test]
#[ignore = "takes minutes; cargo xtask validate episodes"]
fn benchmark_episodes_of_10_ms_to_1_s_match_handlers() {
    let server = Server::xvfb(&[]);
    let wanted = wanted();
    let mut all: Vec<(&str, &str, Pair)> = Vec::new();
    for benchmark in &wanted {
        for work in WORKS {
            let run = run(&server, benchmark, work, &TIMES_MS);
            let pairs = run.pairs().expect("each handling has an episode");
            all.extend(pairs.into_iter().map(|pair| (*benchmark, work, pair)));
        }
        let these: Vec<_> = all.iter().filter(|(name, ..)| name == benchmark).collect();
        keep("truth", benchmark, these.into_iter().map(figures).collect());
    }
    let of = |wanted: &dyn Fn(&str, &str, &Pair) -> bool| -> Vec<&Pair> {
        let found = all.iter().filter(|(b, w, pair)| wanted(b, w, pair));
        found.map(|(_, _, pair)| pair).collect()
    };
    table(
        "micro-benchmark",
        wanted
            .iter()
            .map(|name| row(name, &of(&|benchmark, _, _| benchmark == *name))),
    );
    table(
        "work",
        WORKS
            .iter()
            .map(|name| row(name, &of(&|_, work, _| work == *name))),
    );
    table(
        "asked for",
        TIMES_MS.iter().map(|time| {
            let asked = |_: &str, _: &str, pair: &Pair| pair.truth.asked_ms == Some(*time as f64);
            row(&format!("{time} ms"), &of(&asked))
        }),
    );
    let every = of(&|_, _, _| true);
    table("all", std::iter::once(row("all", &every)));
    let errors = errors(&every);
    assert!(median(&errors) <= MEDIAN_MS, "the median");
    assert!(quantile(&errors, 0.95) <= P95_MS, "the 95th percentile");
}

fn figures((benchmark, work, pair): &(&str, &str, Pair)) -> Value {
    json!({
        "benchmark": benchmark, "work": work, "action": pair.truth.action,
        "asked_ms": pair.truth.asked_ms, "truth_ms": pair.truth.latency_ms,
        "ours_ms": pair.ours_ms(), "waiting_ms": pair.episode.waiting_ms,
        "truth": {
            "computed_ms": pair.truth.computed_ms, "slept_ms": pair.truth.slept_ms,
            "waited_ms": pair.truth.waited_ms, "round_trips": pair.truth.round_trips,
            "switches": pair.truth.switches, "queued_ms": pair.truth.queued_ms,
        },
        "ours": {
            "client_ms": pair.episode.client_ms, "off_cpu_ms": pair.episode.off_cpu_ms,
            "server_ms": pair.episode.server_ms, "network_ms": pair.episode.network_ms,
            "round_trips": pair.episode.round_trips,
        },
        "landmark": pair.episode.landmark, "culprit": pair.episode.culprit,
    })
}

/// Letters and a few ends of lines, by the codes of an evdev keyboard.
fn typing(keys: usize) -> impl Iterator<Item = String> {
    (0..keys).map(|number| match number % 10 {
        9 => "key:36".to_owned(),
        letter => format!("key:{}", 24 + letter),
    })
}

fn steps(words: &[&str], more: impl Iterator<Item = String>) -> Vec<String> {
    words
        .iter()
        .map(|word| (*word).to_owned())
        .chain(more)
        .collect()
}

/// True if the arguments of `cargo xtask validate episodes screen` name `name`, or are empty.
fn is_named(name: &str) -> bool {
    let named = std::env::var("X11PROF_EPISODES_BENCHMARKS").unwrap_or_default();
    let mut words = named.split_whitespace();
    named.is_empty() || words.any(|word| name.contains(word))
}

#[test]
#[ignore = "takes minutes; cargo xtask validate episodes"]
fn episodes_match_screen_responses() {
    for (program, package) in [
        ("xterm", "xterm"),
        ("mousepad", "mousepad"),
        ("gtk3-widget-factory", "gtk-3-examples"),
        ("gtk4-widget-factory", "gtk-4-examples"),
        ("xcalc", "x11-apps"),
        ("emacs", "emacs-gtk"),
        ("featherpad", "featherpad"),
        ("wish", "tk"),
        ("java", "default-jre"),
    ] {
        needs(program, package);
    }
    let server = Server::xvfb(&[]);
    let typed = |words: &[&str]| steps(words, typing(40));
    let terminal = typed(&["settle", "move:100,100"]);
    let editor = typed(&["settle", "move:200,200", "settle"]);
    let widgets4 = steps(&WIDGETS_4, std::iter::empty());
    let widgets = steps(&WIDGETS, std::iter::empty());
    let digits = (0..20).map(|number| format!("key:{}", 10 + number % 9));
    let calculator = steps(&["settle", "move:100,30"], digits);
    let short = steps(&["settle", "move:200,200", "settle"], typing(20));
    let (text, classes) = (source("text.tcl"), classes());
    let (text, classes) = (text.to_string_lossy(), classes.to_string_lossy());
    let drawing = [10, 20, 30, 50, 70, 100, 150, 200];
    let mut programs: Vec<(&str, Frames, Vec<Seen>)> = Vec::new();
    if is_named("micro-benchmark, drawing") {
        let (seen, _) = watch_microbench(&server, "draw", &drawing);
        programs.push(("micro-benchmark, drawing", Frames::OneResponse, seen));
    }
    for (name, program, steps, frames) in [
        (
            "xterm",
            &["xterm", "-e", "cat"][..],
            &terminal,
            Frames::Animation,
        ),
        (
            "mousepad",
            &["mousepad", "--disable-server"],
            &editor,
            Frames::Animation,
        ),
        (
            "gtk3-widget-factory, no transitions",
            &["gtk3-widget-factory"],
            &widgets,
            Frames::OneResponse,
        ),
        (
            "gtk3-widget-factory",
            &["gtk3-widget-factory"],
            &widgets,
            Frames::Animation,
        ),
        ("xcalc", &["xcalc"], &calculator, Frames::Animation),
        ("emacs", &["emacs", "-Q"], &short, Frames::Animation),
        (
            "featherpad",
            &["featherpad", "--standalone"],
            &short,
            Frames::Animation,
        ),
        ("text in Tk", &["wish", &text], &short, Frames::Animation),
        (
            "text in Swing",
            &["java", "-cp", &classes, "Text"],
            &short,
            Frames::Animation,
        ),
        (
            "gtk4-widget-factory",
            &["env", "GSK_RENDERER=cairo", "gtk4-widget-factory"],
            &widgets4,
            Frames::Animation,
        ),
    ] {
        if is_named(name) {
            let (seen, _) = watch(&server, program, steps, frames);
            programs.push((name, frames, seen));
        }
    }
    for (program, frames, seen) in &programs {
        println!("\n{program}:");
        for one in seen {
            println!("  {:<14} {:?}", one.event, one.meaning(*frames));
        }
    }
    println!("\n{HEAD}");
    let compared: Vec<_> = programs
        .iter()
        .map(|(program, frames, seen)| (*program, Compared::of(seen, *frames)))
        .collect();
    for (program, compared) in &compared {
        println!("{}", compared.row(program));
    }
    for (program, compared) in &compared {
        keep("screen", program, compared.json(program));
    }
    for (program, compared) in &compared {
        assert!(compared.median_ms() <= SEEN_MS, "{program}: {compared:?}");
    }
}

/// An entry, a toggle button and check boxes. Progress bars and a spinner next to them are animated all the time;
/// `leave-out` ignores their damage.
const WIDGETS: [&str; 17] = [
    "leave-out",
    "move:130,78",
    "button:1",
    "key:38",
    "key:39",
    "key:40",
    "key:41",
    "key:22",
    "key:22",
    "move:348,78",
    "button:1",
    "button:1",
    "move:60,408",
    "button:1",
    "button:1",
    "move:60,380",
    "button:1",
];

/// GTK 4 widgets at unknown positions: the pointer moves over buttons and clicks them.
const WIDGETS_4: [&str; 9] = [
    "leave-out",
    "move:150,130",
    "button:1",
    "key:38",
    "key:39",
    "key:40",
    "key:41",
    "key:22",
    "key:22",
];
