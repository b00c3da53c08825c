//! No page of a recording contradicts another one.

use std::path::{Path, PathBuf};

use crate::harness::{Place, Server, needs};
use crate::hostile;

/// The recordings in `tests/data`, and those in the folder that X11PROF_RECORDINGS names.
fn recordings() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let others = std::env::var_os("X11PROF_RECORDINGS").map(PathBuf::from);
    let folders = [Some(own), others].into_iter().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let paths = files.map(|file| file.expect("a file").path());
    paths
        .filter(|path| path.extension().is_some_and(|is| is == "mcap"))
        .collect()
}

#[test]
fn recordings_pass_the_audit() {
    let place = Place::new();
    let mut wrong = Vec::new();
    let mut all = recordings();
    // A name with words that the audit looks for on the pages.
    let named = place.path("In 5.10 s clients ran, 741 ms after the server.mcap");
    std::fs::copy(all.first().expect("recordings"), &named).expect("a copy");
    all.push(named);
    for path in all {
        let found = place.audit(&path);
        assert!(found.made() > 0, "{}", path.display());
        let violations = found.violations.iter();
        wrong.extend(violations.map(|one| format!("{}: {one}", path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The server of a display answers late, for example while it resets: that wait is no network's.
#[test]
fn recording_of_a_display_over_a_network_passes_the_audit() {
    needs("xterm", "xterm");
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let display = server.display.as_str();
    let words = ["record", "--net", "lan", "--display", display];
    let command = ["-o", "net.mcap", "--", "xterm", "-e", "seq 2000"];
    let recorded = place.run(words.iter().chain(&command));
    recorded.succeeded();
    place.passes_audit("net.mcap");
}

/// `episodes` lists only the 1,000 longest waits of the user.
#[test]
fn omitted_waits_are_no_contradiction() {
    let place = Place::new();
    hostile::trace(&place, hostile::episodes(1_100));
    let episodes = place.json(["episodes", "--format", "json"]);
    let listed = episodes["think_and_wait"]["waits"].as_array();
    assert_eq!(listed.map(Vec::len), Some(1000));
    place.passes_audit("x11prof.mcap");
}

/// JSON fields whose numbers are identifiers or sizes, not figures.
const NAMES: [&str; 17] = [
    "format",
    "id",
    "pid",
    "connection",
    "client",
    "last_sequence",
    "id_base",
    "depth",
    "bits_per_pixel",
    "scanline_pad",
    "width",
    "height",
    "pattern",
    "longest_client",
    "from",
    "to",
    "grain",
];

fn undefined(
    path: &str,
    value: &serde_json::Value,
    found: &mut std::collections::BTreeSet<String>,
) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                undefined(&format!("{path}.{name}"), value, found);
            }
        }
        serde_json::Value::Array(list) => {
            list.iter().for_each(|value| undefined(path, value, found))
        }
        serde_json::Value::Number(_) => {
            let name = path.rsplit('.').next().unwrap_or(path);
            if !NAMES.contains(&name) && crate::documents::figures::figure_at(path).is_none() {
                found.insert(path.to_owned());
            }
        }
        _ => {}
    }
}

#[test]
fn every_reported_figure_is_defined() {
    let place = Place::new();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gtk3-widget-factory.mcap");
    let trace = trace.to_str().expect("a path in UTF-8");
    let pages: [&[&str]; 6] = [
        &["report", trace, "--format", "json"],
        &["episodes", trace, "--format", "json"],
        &["network", trace, "--format", "json"],
        &["stats", trace, "--format", "json"],
        &[
            "compare", trace, "--format", "json", "--params", "xvfb-24", "--params", "xvnc",
        ],
        &["top", trace, "--json"],
    ];
    let mut found = std::collections::BTreeSet::new();
    for words in pages {
        undefined(words[0], &place.json(words), &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
}
