//! Comments, help texts and documents use the words of the field.
//!
//! Each crate may have at most the number of dialect words that it has in `MOST`. The numbers only go down: after a
//! rewrite, put the smaller number there.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

use xtask::run::root;
use xtask::words::documents;

/// Words that the project does not use, in lower case; the comment names the field term.
const WORDS: [&str; 44] = [
    // cost, estimated, no cost data, expensive
    "price",
    "prices",
    "priced",
    "unpriced",
    "dear",
    // report, print, request, query, contain
    "tells",
    "told",
    "says",
    "said",
    "asks",
    "asked",
    "knows",
    "owes",
    "owed",
    // the client that, no client, in text form
    "nobody",
    "somebody",
    "for people",
    // pass, emit, dispatch
    "hand on",
    "hands on",
    "handed on",
    "hands out",
    // with, except, again, N, separate, unchanged, alone
    "beside",
    "but for",
    "anew",
    "so many",
    "of its own",
    "of their own",
    "as it is",
    "as they are",
    "by itself",
    "by themselves",
    // rescaled, extrapolated
    "brought",
    "carried",
    // substitute, based on, distinguished, coalesced, repeated
    "stands in",
    "stand in",
    "stands on",
    "told apart",
    "taken together",
    "alike",
    // in flight
    "on the way",
    "on their way",
    // if, when
    "true where",
    "none where",
    "null where",
];

/// The most uses in the Rust comments of each folder, and in the documents (`docs`).
const MOST: [(&str, usize); 19] = [
    ("analyzer", 16),
    ("collection", 1),
    ("cost-model", 0),
    ("docs", 4),
    ("drive", 0),
    ("fuzz", 0),
    ("protocol", 0),
    ("proxy", 7),
    ("replay", 0),
    ("server-model", 0),
    ("session", 1),
    ("src", 3),
    ("stacks", 0),
    ("tests", 7),
    ("trace", 0),
    ("validation", 5),
    ("views", 1),
    ("xmeasure", 4),
    ("xtask", 0),
];

/// Files whose words are data.
const EXCEPT: [&str; 1] = ["plain_words.rs"];

/// `text` without code between backticks, in lower case.
fn prose(text: &str) -> String {
    let parts = text.split('`').step_by(2);
    parts.collect::<Vec<_>>().join("`").to_lowercase()
}

/// Adds the dialect words of a line to `found`.
fn check(line: &str, place: &str, found: &mut Vec<String>) {
    let line = prose(line);
    for word in WORDS {
        for (at, _) in line.match_indices(word) {
            let part = |c: char| c.is_alphanumeric() || "_-`".contains(c);
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            if !before.is_some_and(part) && !after.is_some_and(part) {
                found.push(format!("{place}: {word}"));
            }
        }
    }
}

/// Checks the comments of all Rust files below a folder.
fn comments(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != "snapshots" {
            comments(&path, found);
        } else if name.ends_with(".rs") && !EXCEPT.contains(&name.as_str()) {
            let text = fs::read_to_string(&path).unwrap();
            for (line, number) in text.lines().zip(1..) {
                if let Some(comment) = line.trim_start().strip_prefix("//") {
                    check(comment, &format!("{}:{number}", path.display()), found);
                }
            }
        }
    }
}

/// Checks the documents, without their code and generated parts.
fn texts(root: &Path, found: &mut Vec<String>) {
    for path in documents(root).unwrap() {
        let (mut code, mut generated) = (false, false);
        let text = fs::read_to_string(root.join(&path)).unwrap();
        for (line, number) in text.lines().zip(1..) {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            generated = match line.starts_with("<!-- ") {
                true => line.starts_with("<!-- generated:"),
                false => generated,
            };
            if !code && !generated && !line.starts_with("    ") {
                check(line, &format!("{}:{number}", path.display()), found);
            }
        }
    }
}

#[test]
fn dialect_word_counts_stay_below_limits() {
    let root = root();
    let mut more = String::new();
    for (folder, most) in MOST {
        let mut found = Vec::new();
        match folder {
            "docs" => texts(&root, &mut found),
            _ => comments(&root.join(folder), &mut found),
        }
        println!("(\"{folder}\", {}),", found.len());
        if found.len() > most {
            more.push_str(&format!(
                "{folder}: {} of at most {most}\n{}\n",
                found.len(),
                found.join("\n")
            ));
        }
    }
    assert!(
        more.is_empty(),
        "write these in the words of the field:\n{more}"
    );
}
