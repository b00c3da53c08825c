//! `cargo xtask validate resources`: compares the resources in a report with the server's own figures from the
//! X-Resource extension.

use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run};

/// Runs the test that compares the two, and prints the compared figures.
pub(crate) fn validate() -> Result<(), String> {
    ensure(&[DEMO, TEST])?;
    run(cargo().args([
        "test",
        "--locked",
        "--test",
        "e2e",
        "--",
        "resources::",
        "--nocapture",
    ]))
}
