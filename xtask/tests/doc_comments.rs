//! Doc comments of the product open with a noun: a reader of one item sees no other.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

const CRATES: &str = "analyzer collection cost-model drive protocol proxy replay server-model session stacks trace views xmeasure .";
/// Openings that name no noun.
const OPENINGS: [&str; 5] = ["What ", "How ", "Whether ", "It ", "The same "];

/// Collects the comments of a folder without the arguments, whose comments are the help for users.
fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("src/args") {
            collect(&path, found);
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut before = "";
        for (line, number) in text.lines().map(str::trim_start).zip(1..) {
            let of = |line: &str| line.starts_with("///") || line.starts_with("//!");
            let opens = |one: &&str| of(line) && line[3..].trim_start().starts_with(*one);
            if !of(before) && OPENINGS.iter().any(opens) {
                found.push(format!("{}:{number}: {line}", path.display()));
            }
            before = line;
        }
    }
}

#[test]
fn doc_comments_of_the_product_open_with_a_noun() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for name in CRATES.split(' ') {
        collect(&root.join(name).join("src"), &mut found);
    }
    assert!(found.is_empty(), "no noun:\n{}", found.join("\n"));
}
