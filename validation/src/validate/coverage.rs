//! `cargo xtask validate coverage`: records and decodes programs of many kinds, and compares the result with tshark's
//! output for the exported capture.

use xtask::packages::{COVERAGE, DEMO, MORE_PROGRAMS, TEST, ensure};
use xtask::run::{cargo, run};

/// Runs the coverage tests, including the long ones. Each prints its result.
pub(crate) fn validate() -> Result<(), String> {
    ensure(&[DEMO, TEST, COVERAGE, MORE_PROGRAMS])?;
    run(cargo().args([
        "test",
        "--release",
        "--locked",
        "--test",
        "e2e",
        "--",
        "coverage::",
        "--include-ignored",
        "--nocapture",
        "--test-threads=1",
    ]))
}
