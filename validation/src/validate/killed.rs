//! `cargo xtask validate killed`: the data lost by a killed recorder, on an idle machine.

use xtask::packages::{TEST, ensure};
use xtask::run::{cargo, run};

/// Runs the tests of killed recorders, including those with a time limit.
pub(crate) fn validate() -> Result<(), String> {
    ensure(&[TEST])?;
    run(cargo().args([
        "test",
        "--release",
        "--locked",
        "--test",
        "e2e",
        "--",
        "killed::",
        "--include-ignored",
        "--nocapture",
        "--test-threads=1",
    ]))
}
