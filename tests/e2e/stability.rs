//! Names that scripts rely on (CONTRIBUTING.md): commands, options and JSON fields. New names may be added; every
//! line of tests/data/promised must stay valid.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::Place;

const COMMAND_LINE: &str = include_str!("../data/promised/command-line.txt");
const JSON: &str = include_str!("../data/promised/json.txt");

/// The JSON documents, each with its command; TRACE represents a kept recording.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        "report",
        "report TRACE --params sun4-ipc --format json --by window",
    ),
    (
        "compare",
        "compare TRACE --params sun4-ipc --params xvnc --format json",
    ),
    ("stats", "stats TRACE --format json"),
    ("network", "network TRACE --format json"),
    ("episodes", "episodes TRACE --format json"),
    (
        "diff",
        "diff TRACE --params sun4-ipc --format json -- TRACE",
    ),
    ("top", "top TRACE --params sun4-ipc --at 3 --json"),
    ("issues", "issues TRACE --threshold 1 --format json"),
];

fn missing<'a>(promised: &'a str, found: &BTreeSet<String>) -> Vec<&'a str> {
    let lines = promised.lines();
    lines.filter(|line| !found.contains(*line)).collect()
}

/// The options in a command's help, including short forms.
fn options(help: &str) -> impl Iterator<Item = String> {
    let lines = help.lines().map(str::trim_start);
    let options = lines.filter(|line| line.starts_with('-'));
    options.flat_map(|line| {
        let words = line.split([' ', ',', '=', '[']);
        words
            .take_while(|word| word.is_empty() || word.starts_with('-'))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    })
}

/// Collects the paths of all fields into `found`; the elements of a list share one path.
fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                fields(member, &path, found);
                found.insert(path);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                fields(element, &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn promised_options_exist() {
    let place = Place::new();
    let mut found = BTreeSet::new();
    let mut commands: Vec<String> = vec![String::new()];
    while let Some(command) = commands.pop() {
        let words = command
            .split(' ')
            .filter(|word| !word.is_empty())
            .chain(["--help"]);
        let help = place.ok(words);
        found.extend(
            options(&help).map(|option| format!("{command} {option}").trim_start().to_owned()),
        );
        // The top-level help lists commands in groups before the options; other pages have a single list.
        let below = match command.is_empty() {
            true => help.split("\nOptions:\n").next(),
            false => help.split_once("\nCommands:\n").map(|(_, below)| below),
        };
        let below = below.unwrap_or_default().lines();
        let below = below.take_while(|line| command.is_empty() || !line.is_empty());
        let names = below.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        for name in names.filter(|name| !name.is_empty() && *name != "help") {
            let command = format!("{command} {name}").trim_start().to_owned();
            found.insert(command.clone());
            commands.push(command);
        }
    }
    assert_eq!(missing(COMMAND_LINE, &found), [""; 0], "{found:#?}");
}

#[test]
fn promised_json_fields_exist() {
    let place = Place::new();
    let trace = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/gtk3-widget-factory.mcap"
    );
    let mut found = BTreeSet::new();
    for (name, command) in DOCUMENTS {
        let words = command
            .split(' ')
            .map(|word| if word == "TRACE" { trace } else { word });
        let document = place.json(words);
        assert_eq!(document["format"], 1, "{name}");
        fields(&document, name, &mut found);
    }
    assert_eq!(missing(JSON, &found), [""; 0], "{found:#?}");
}
