//! `cargo xtask validate killed`: how much a killed recorder loses, on a machine that does nothing else.

use xtask::packages::{TEST, ensure};
use xtask::run::{cargo, run};

/// Runs the tests of killed recorders, those with a bound in time too.
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
