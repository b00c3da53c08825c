//! The text output of every command at 80 and 120 columns, for the small recordings in `tests/data`. No line
//! exceeds the width, and the result is on the first screen.

use std::path::Path;
use std::process::Command;

use crate::harness::{Place, needs};

const RECORDINGS: [&str; 4] = [
    "gtk3-widget-factory.mcap",
    "xclock.mcap",
    "xset.mcap",
    "xterm.mcap",
];

/// A folder with the recordings.
fn place() -> Place {
    let place = Place::new();
    for name in RECORDINGS {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        std::fs::copy(kept.join(name), place.path(name)).expect("the recording is kept");
    }
    place
}

const COMMANDS: [&[&str]; 22] = [
    &["report", "--params", "sun4-ipc"],
    &[
        "report",
        "--params",
        "xvfb-24",
        "--no-rescale",
        "--net",
        "dsl",
    ],
    &[
        "report",
        "--params",
        "xvfb-24",
        "--no-rescale",
        "--net",
        "lan",
        "--all",
    ],
    &[
        "report",
        "--params",
        "xvfb-24",
        "--no-rescale",
        "--by",
        "window",
    ],
    &[
        "report", "--params", "sun4-ipc", "--by", "client", "--from", "0.05",
    ],
    &[
        "report",
        "--params",
        "sun4-ipc",
        "--scale",
        "Poly*=2",
        "--time-source",
        "modelled",
    ],
    &[
        "compare",
        "--no-rescale",
        "--params",
        "xvfb-24",
        "--params",
        "sun4-ipc",
    ],
    &[
        "compare",
        "--no-rescale",
        "--params",
        "xvfb-24",
        "--params",
        "decstation-3100",
        "--params",
        "xvnc",
        "--params",
        "xephyr",
        "--net",
        "none",
        "--net",
        "dsl",
        "--net",
        "wifi",
        "--all",
    ],
    &["stats"],
    &["stats", "--all"],
    &["stats", "--histograms"],
    &["episodes"],
    &["episodes", "--all", "--net", "dsl"],
    &["episodes", "--worst", "10", "--all"],
    &["episodes", "--patterns"],
    &["episodes", "--by-key", "--chart"],
    &["network"],
    &["network", "--all", "--rtt", "100"],
    &["diff", "--params", "sun4-ipc", "--", "xterm.mcap"],
    &["diff", "--params", "sun4-ipc", "--all", "--", "xclock.mcap"],
    &[
        "diff",
        "xclock.mcap",
        "--params",
        "sun4-ipc",
        "--",
        "xterm.mcap",
        "xset.mcap",
    ],
    &["check", "--budget", "budget.toml"],
];

/// The budget for `check`.
const BUDGET: &str = "[total]\nrequests = 100000\nround_trips = 1000000\n";

/// Runs x11prof in a terminal of `columns` columns (through `script`), and returns its output including colours.
fn on_terminal(place: &Place, columns: u16, arguments: &[&str]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let typed = format!(
        "stty cols {columns} rows 24; exec {} {}",
        env!("CARGO_BIN_EXE_x11prof"),
        words.join(" ")
    );
    let mut script = Command::new("script");
    script
        .args(["-qec", &typed, "/dev/null"])
        .current_dir(place.path("."))
        .env("PAGER", "cat")
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .env("XDG_DATA_HOME", place.path("data"));
    crate::harness::Finished::of(&mut script)
        .succeeded()
        .replace('\r', "")
}

/// `text` without colours.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            c if !inside => bare.push(c),
            _ => {}
        }
    }
    bare
}

/// The arguments for a command on a recording.
fn typed<'a>(command: &[&'a str], recording: &'a str) -> Vec<&'a str> {
    [&command[..1], &[recording], &command[1..]].concat()
}

/// Asserts that no line of the text is wider than `columns`.
fn fits(text: &str, columns: usize, command: &[&str]) {
    for line in text.lines() {
        let wide = line.chars().count();
        assert!(
            wide <= columns,
            "{command:?}: {wide} columns\n{line}\n{text}"
        );
    }
}

#[test]
fn reports_fit_the_terminal_width() {
    needs("script", "bsdutils");
    let place = place();
    place.write("budget.toml", BUDGET.as_bytes());
    for command in COMMANDS {
        let arguments = typed(command, "xterm.mcap");
        let fits_on = |columns: u16| {
            let text = on_terminal(&place, columns, &arguments);
            assert!(
                text.contains("\u{1b}[1m"),
                "{command:?}: no heading\n{text}"
            );
            fits(&bare(&text), usize::from(columns), command);
        };
        std::thread::scope(|both| {
            both.spawn(|| fits_on(80));
            both.spawn(|| fits_on(120));
        });
    }
}

#[test]
fn piped_output_has_80_columns_and_no_colours() {
    let place = place();
    for command in [COMMANDS[0], COMMANDS[8], COMMANDS[11], COMMANDS[17]] {
        let text = place.ok(typed(command, RECORDINGS[0]));
        assert!(!text.contains('\u{1b}'), "{text}");
        fits(&text, 80, command);
    }
}

#[test]
fn verdict_and_table_fit_the_first_screen() {
    let place = place();
    for recording in RECORDINGS {
        for more in [&[][..], &["--net", "dsl"]] {
            let basic = ["report", recording, "--params", "xvfb-24", "--no-rescale"];
            let text = place.ok([&basic, more].concat());
            let (verdict, rest) = text.split_once("\n\n").expect("a verdict and a table");
            // Five sentences, of which two may need a second line if there is a forecast.
            assert!(verdict.lines().count() <= 6 + more.len() / 2, "{verdict}");
            let (table, doubts) = rest.split_once("\n\n").unwrap_or((rest, ""));
            // The heading, at most fifteen rows, the legend.
            assert!(table.lines().count() <= 17, "{table}");
            // Four caveats at most, X errors in three lines, and two lines on unattributed time.
            assert!(text.lines().count() <= 30 + more.len() / 2, "{text}");
            let is_caveat = |line: &str| ["? ", "! ", "  "].contains(&line.get(..2).unwrap_or(""));
            assert!(doubts.lines().all(is_caveat), "{doubts}");
            assert_eq!(text.contains("Network"), !more.is_empty(), "{text}");
        }
    }
}

#[test]
fn report_texts_match_snapshots() {
    let place = place();
    for (name, recording, command) in [
        (
            "report_gtk",
            "gtk3-widget-factory.mcap",
            &["report", "--params", "xvfb-24", "--no-rescale"][..],
        ),
        ("report_net", "xterm.mcap", COMMANDS[1]),
        ("report_all", "xset.mcap", COMMANDS[2]),
        ("report_window", "gtk3-widget-factory.mcap", COMMANDS[3]),
        ("compare", "xterm.mcap", COMMANDS[6]),
        ("stats", "xterm.mcap", COMMANDS[8]),
    ] {
        let text = place.ok([&command[..1], &[recording], &command[1..]].concat());
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn time_ranges_add_up_to_the_whole_recording() {
    let place = place();
    let report = |more: &[&str]| {
        let basic = [
            "report",
            "xterm.mcap",
            "--params",
            "xvfb-24",
            "--no-rescale",
            "--format",
            "json",
        ];
        place.json([&basic, more].concat())
    };
    let count = |report: &serde_json::Value| report["total"]["count"].as_u64().expect("a count");
    let ms = |report: &serde_json::Value| report["total"]["server_ms"].as_f64().expect("a time");
    let all = report(&[]);
    let (first, second) = (report(&["--to", "0.1"]), report(&["--from", "0.1"]));
    assert!(count(&first) > 0 && count(&second) > 0);
    assert_eq!(count(&first) + count(&second), count(&all));
    // The reported time span equals the requested one, whatever happens in it.
    let (part, span) = (report(&["--from", "0.05", "--to", "0.1"]), 50.0);
    assert_eq!(part["total"]["wall_ms"], span);
    let words = ["episodes", "xterm.mcap", "--from", "0.05", "--to", "0.1"];
    let episodes = place.json([&words[..], &["--format", "json"]].concat());
    assert_eq!(episodes["summary"]["end_to_end_ms"], span);
    let off = (ms(&first) + ms(&second)) / ms(&all) - 1.0;
    assert!(
        off.abs() < 0.05,
        "{off}: {} + {} of {}",
        ms(&first),
        ms(&second),
        ms(&all)
    );
    let start_up = place.json([
        "report",
        "gtk3-widget-factory.mcap",
        "--params",
        "xvfb-24",
        "--no-rescale",
        "--format",
        "json",
        "--start-up",
    ]);
    assert!(
        (1..9713).contains(&count(&start_up)),
        "{}",
        count(&start_up)
    );
    assert!(start_up["trace"]["to_s"].as_f64() > start_up["trace"]["from_s"].as_f64());
    let stats = |more: &[&str]| {
        let json = place.json([&["stats", "xterm.mcap", "--format", "json"], more].concat());
        json["categories"][0]["bytes"]["count"]
            .as_u64()
            .expect("a number")
    };
    assert_eq!(
        stats(&["--to", "0.1"]) + stats(&["--from", "0.1"]),
        stats(&[])
    );
    let ran = place.run(["report", "xterm.mcap", "--from", "2", "--to", "1"]);
    assert!(
        ran.failed_with_one_line(2)
            .contains("--to 1 must be greater than --from 2")
    );
    let ran = place.run(["report", "xterm.mcap", "--episode", "100000"]);
    assert!(ran.failed_with_one_line(2).contains("--episode 100000"));
}

#[test]
fn caused_costs_are_charged_to_requests() {
    let place = place();
    for recording in RECORDINGS {
        let basic = [
            "report",
            recording,
            "--params",
            "xvfb-24",
            "--no-rescale",
            "--format",
            "json",
        ];
        for net in ["none", "dsl"] {
            let report = place.json([&basic[..], &["--net", net]].concat());
            let sum = |of: &serde_json::Value, field: &str| -> f64 {
                let lines = of.as_array().expect("lines").iter();
                lines.filter_map(|line| line[field].as_f64()).sum()
            };
            let charged = sum(&report["requests"], "charged_ms");
            let events = sum(&report["events"], "server_ms") + sum(&report["events"], "network_ms");
            let total = report["total"]["time_ms"].as_f64().expect("a time");
            assert!(
                charged + events <= total * 1.000_001 + 1e-9,
                "{recording}: {charged} {events} {total}"
            );
            // The rest is connection set-up and unattributed server time.
            assert!(
                charged + events >= 0.5 * total,
                "{recording}: {charged} {events} {total}"
            );
        }
    }
}

#[test]
fn unknown_name_suggests_the_nearest() {
    let place = place();
    for (option, typed, meant) in [
        ("--client", "xtrem", "xterm"),
        ("--landmark", "Strat-up", "Start-up"),
    ] {
        let ran = place.run(["episodes", "xterm.mcap", option, typed]);
        let line = ran.failed_with_one_line(2);
        assert!(line.contains(typed) && line.contains(meant), "{line}");
    }
}

#[test]
fn user_substitution_rules_replace_the_built_in_rules() {
    let place = place();
    // An empty rule file: unmeasured requests have no cost data.
    place.write("none.toml", b"format = 1\n[attribute]\n");
    let report = |more: &[&str]| {
        let basic = [
            "report",
            "xterm.mcap",
            "--params",
            "xvfb-24",
            "--no-rescale",
            "--format",
            "json",
        ];
        place.json([&basic, more].concat())
    };
    let substituted = |report: &serde_json::Value| -> u64 {
        let lines = report["requests"].as_array().expect("requests").iter();
        lines.filter_map(|line| line["substituted"].as_u64()).sum()
    };
    assert!(substituted(&report(&[])) > 0);
    assert_eq!(substituted(&report(&["--substitutions", "none.toml"])), 0);
    place.write("wrong.toml", b"format = 1\nattributes = 2\n");
    let ran = place.run(["report", "xterm.mcap", "--substitutions", "wrong.toml"]);
    assert!(ran.failed_with_one_line(1).contains("wrong.toml"));
}

#[test]
fn ratios_compare_servers_on_the_same_network() {
    let place = place();
    let words = "compare xterm.mcap --params sun4-ipc --params decstation-3100 --net none --net dsl \
                 --format json";
    let json = place.json(words.split_whitespace());
    let of = |at: usize, field: &str| json["servers"][at][field].as_f64().expect("a number");
    // Each server on each network, in the order given.
    assert_eq!((of(0, "ratio"), of(1, "ratio")), (1.0, 1.0));
    for at in [2, 3] {
        let same_network = of(at, "total_ms") / of(at - 2, "total_ms");
        assert!((of(at, "ratio") - same_network).abs() < 1e-9, "{json:#}");
    }
    let alone = "compare xset.mcap --params sun4-ipc --net none --net dsl";
    let text = place.ok(alone.split(' '));
    assert!(!text.contains("Ratio"), "{text}");
}
