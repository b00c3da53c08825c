//! docs/REFERENCE.md: its generated parts are those of the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use x11prof_collection::{Kind, schema};

use super::figures::figures;
use super::json_types::Types;
use super::{document, keep};
use crate::harness::Place;

const NAME: &str = "docs/REFERENCE.md";

/// The documents of `--format json`, each with its type.
const DOCUMENTS: [(&str, &str); 11] = [
    ("report", "ProfileReport"),
    ("episodes", "EpisodesReport"),
    ("network", "RoundTripsReport"),
    ("stats", "StatisticsReport"),
    ("top", "NowReport"),
    ("compare and replay", "Comparison"),
    ("diff", "Difference"),
    ("diverge and replay --answers", "DivergenceReport"),
    ("drive and type", "PlaysReport"),
    ("ping", "LinkReport"),
    ("issues", "IssuesReport"),
];

/// The TOML files that users write.
const FILES: [(&str, &str); 2] = [
    ("budgets", "Budget"),
    ("parameter files", "ServerParameters"),
];

/// The commands with their options, as `--help` prints them.
fn options() -> String {
    let place = Place::new();
    let mut text = String::new();
    let mut waiting = vec![String::new()];
    while let Some(command) = waiting.pop() {
        let words = command.split_whitespace().chain(["--help"]);
        let help = place.ok(words);
        let heading = format!("x11prof {command}");
        let _ = write!(
            text,
            "\n### {}\n\n```text\n{}\n```\n",
            heading.trim(),
            help.trim_end()
        );
        let mut below = Vec::new();
        let mut in_list = false;
        for line in help.lines() {
            // Headings of command groups end with a colon as well.
            if line.ends_with(':') && !line.starts_with(' ') {
                in_list = line != "Options:" && line != "Arguments:" && help.contains("<COMMAND>");
            } else if let (true, Some(entry)) = (in_list, line.strip_prefix("  ")) {
                let name = entry.split(' ').next().unwrap_or_default();
                let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                if is_name && !name.is_empty() && !name.starts_with('-') && name != "help" {
                    below.push(format!("{command} {name}").trim().to_owned());
                }
            }
        }
        waiting.extend(below.into_iter().rev());
    }
    text
}

/// The definitions of figures.
fn figure_tables() -> String {
    let mut text = "\n| figure | unit | part of | meaning |\n|---|---|---|---|\n".to_owned();
    for figure in figures() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            figure.name, figure.unit, figure.part_of, figure.means
        );
    }
    text
}

fn tables_of_sessions() -> String {
    let mut text = "\n| table | columns |\n|---|---|\n".to_owned();
    for table in schema::ALL {
        let columns = table.columns.iter().map(|column| {
            let kind = match column.kind {
                Kind::Integer => "",
                Kind::Text => " (text)",
            };
            let missing = if column.optional { "?" } else { "" };
            format!("`{}`{missing}{kind}", column.name)
        });
        let columns: Vec<String> = columns.collect();
        let _ = writeln!(text, "| `{}` | {} |", table.name, columns.join(", "));
    }
    text
}

/// The requests and the attributes that decide their costs, from the largest parameter file that comes with the program.
fn operations() -> String {
    let place = Place::new();
    let file = place.ok(["params", "show", "xvfb-24"]);
    let mut requests: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut request = "";
    for line in file.lines().skip_while(|line| *line != "[[request]]") {
        if let Some(name) = line.strip_prefix("name = ") {
            request = name.trim_matches('"');
            requests.entry(request).or_default();
        } else if let Some(list) = line.strip_prefix("attributes = { ") {
            let list = list.trim_end_matches(" }");
            for (name, value) in list.split(", ").filter_map(|one| one.split_once(" = ")) {
                requests.entry(request).or_default().insert(name);
                values
                    .entry(name)
                    .or_default()
                    .insert(value.trim_matches('"'));
            }
        }
    }
    let quoted = |words: &BTreeSet<&str>| {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        words.join(" ")
    };
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, attributes) in &requests {
        alike.entry(quoted(attributes)).or_default().push(name);
    }
    let mut text = "\n| attributes | requests |\n|---|---|\n".to_owned();
    for (attributes, names) in alike {
        let _ = writeln!(text, "| {attributes} | {} |", names.join(", "));
    }
    text.push_str("\n| attribute | measured values |\n|---|---|\n");
    for (name, measured) in values {
        // There are too many font names, and they are too long.
        if name != "fontname" {
            let _ = writeln!(text, "| `{name}` | {} |", quoted(&measured));
        }
    }
    text
}

fn typed(roots: &[(&str, &str)]) -> String {
    let types = Types::read();
    let mut shown = BTreeSet::new();
    let mut text = String::new();
    for (name, root) in roots {
        let _ = write!(text, "\n### {name}\n");
        let tables = types.tables(root, &mut shown);
        match tables.is_empty() {
            true => {
                let _ = writeln!(text, "\nSee [{root}](#{}).", root.to_lowercase());
            }
            false => text.push_str(&tables),
        }
    }
    text
}

#[test]
fn reference_matches_the_code() {
    let found = std::fs::read_to_string(document(NAME)).expect("the reference");
    let mut expected = String::new();
    let mut rest = found.as_str();
    while let Some((before, after)) = rest.split_once("<!-- generated: ") {
        let (name, after) = after.split_once(" -->").expect("the marker's end");
        let (_, after) = after.split_once("<!-- end -->").expect("the part's end");
        let part = match name {
            "options" => options(),
            "figures" => figure_tables(),
            "tables" => tables_of_sessions(),
            "operations" => operations(),
            "json" => typed(&DOCUMENTS),
            "files" => typed(&FILES),
            _ => panic!("no part is called {name}"),
        };
        let _ = write!(
            expected,
            "{before}<!-- generated: {name} -->\n{part}\n<!-- end -->"
        );
        rest = after;
    }
    expected.push_str(rest);
    keep(NAME, &expected);
}
