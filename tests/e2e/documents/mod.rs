//! The documents agree with the program: the reference is generated from the code, and every example of README.md
//! and docs/GUIDE.md runs.

mod examples;
pub(crate) mod figures;
mod json_types;
mod reference;

use std::path::PathBuf;

/// A document's path.
fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// True if the tests update the documents instead of comparing them (`cargo xtask docs`).
fn writes() -> bool {
    std::env::var_os("X11PROF_WRITE").is_some()
}

/// Compares a document with the expected text, or writes that text.
fn keep(name: &str, expected: &str) {
    let path = document(name);
    let found = std::fs::read_to_string(&path).expect("a document");
    if found == expected {
        return;
    }
    if writes() {
        std::fs::write(path, expected).expect("the document is written");
        return;
    }
    let lines = found.lines().zip(expected.lines());
    let differs = lines.enumerate().find(|(_, (old, new))| old != new);
    panic!("{name} is out of date, run `cargo xtask docs`; the first difference: {differs:#?}");
}
