//! `cargo xtask docs`: updates the generated parts of the documents.

use std::process::Command;

use crate::run::{cargo, run};

/// Updates the documents by running the tests that compare them.
pub(crate) fn docs() -> Result<(), String> {
    run(tests().env("X11PROF_WRITE", "1"))
}

/// Checks that the documents are up to date and that their examples run.
pub(crate) fn compare() -> Result<(), String> {
    run(&mut tests())
}

fn tests() -> Command {
    let mut cargo = cargo();
    cargo.args([
        "test",
        "--quiet",
        "--locked",
        "--package",
        "x11prof",
        "--test",
        "e2e",
    ]);
    cargo.args(["--", "documents::"]);
    cargo
}
