//! The documents' links lead somewhere, and code names only documents that exist.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use xtask::run::root;
use xtask::words::documents;

/// Extensions of files that may name a document.
const SOURCES: [&str; 12] = [
    "rs", "md", "toml", "py", "c", "h", "sql", "yml", "js", "html", "sh", "txt",
];

/// The lines of a document outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence && !line.starts_with("    ")
    })
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a document.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// The targets of a line's links.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split("](").skip(1);
    parts.filter_map(|part| part.split_once(')').map(|(target, _)| target))
}

#[test]
fn document_links_resolve() {
    let root = root();
    let mut broken = Vec::new();
    for path in documents(&root).unwrap() {
        let text = fs::read_to_string(root.join(&path)).unwrap();
        for target in prose(&text).flat_map(links) {
            if target.starts_with("http") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => root.join(&path),
                file => root.join(path.parent().unwrap()).join(file),
            };
            let there = file.exists()
                && (heading.is_empty()
                    || anchors(&fs::read_to_string(&file).unwrap()).contains(heading));
            if !there {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

/// Collects the documents that a folder's files name and that do not exist.
fn missing(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "corpus" {
                missing(root, &path, found);
            }
            continue;
        }
        let source = path
            .extension()
            .is_some_and(|extension| SOURCES.iter().any(|known| extension == *known));
        if !source {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (at, _) in text.match_indices("docs/") {
            let named = text[at..]
                .split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c)))
                .next()
                .unwrap_or_default();
            if named.ends_with(".md") && !root.join(named).exists() {
                found.push(format!("{}: {named}", path.display()));
            }
        }
    }
}

#[test]
fn documents_named_in_code_exist() {
    let root = root();
    let mut found = Vec::new();
    missing(&root, &root, &mut found);
    assert!(found.is_empty(), "no such document:\n{}", found.join("\n"));
}

#[test]
fn paths_in_architecture_document_exist() {
    let root = root();
    let text = fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap();
    let (_, table) = text.split_once("## Where do I change").unwrap();
    let code = table.split('`').skip(1).step_by(2);
    let paths = code.filter(|code| code.contains('/') && !code.contains(' '));
    let gone: Vec<&str> = paths.filter(|path| !root.join(path).exists()).collect();
    assert!(gone.is_empty(), "docs/ARCHITECTURE.md: {gone:?}");
}

/// Each station of the walk names a file and a function in it.
#[test]
fn functions_named_in_the_architecture_walk_exist() {
    let root = root();
    let text = fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap();
    let (_, walk) = text.split_once("## A newcomer's walk").unwrap();
    let (walk, _) = walk.split_once("\n## ").unwrap();
    let stations: Vec<&str> = walk.lines().filter(|line| line.contains("` `")).collect();
    assert_eq!(stations.len(), 24);
    for station in stations {
        let code: Vec<&str> = station.split('`').collect();
        let [.., path, _, function, _] = code.as_slice() else {
            panic!("{station}");
        };
        let source = fs::read_to_string(root.join(path)).unwrap();
        let named = [format!("fn {function}("), format!("fn {function}<")];
        assert!(
            named.iter().any(|name| source.contains(name.as_str())),
            "no function {function} in {path}"
        );
    }
}

/// Adds the names of all functions under a folder.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            functions(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let names = text.split("fn ").skip(1);
            found.extend(names.filter_map(|name| Some(name.split_once("()")?.0.to_owned())));
        }
    }
}

#[test]
fn tests_named_in_security_document_exist() {
    let root = root();
    let mut known = BTreeSet::new();
    for folder in [
        "tests",
        "proxy/src",
        "protocol/tests",
        "replay/src",
        "trace/tests",
        "views/src",
    ] {
        functions(&root.join(folder), &mut known);
    }
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("1. "));
    let rows: String = rows.take_while(|line| !line.starts_with("## ")).collect();
    let named: Vec<&str> = rows.split('`').skip(1).step_by(2).collect();
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<_> = named
        .into_iter()
        .filter(|name| !known.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
