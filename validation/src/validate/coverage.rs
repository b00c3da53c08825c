//! `cargo xtask validate coverage`: programs of many kinds, each recorded, decoded and compared with
//! what tshark decodes of the exported capture.

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
