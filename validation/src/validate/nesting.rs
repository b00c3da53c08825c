//! `cargo xtask validate nesting`: episodes across clients: chains of clients with known delays, and programs that
//! trigger work in other programs.

use xtask::packages::{DEMO, NESTING, TEST, ensure};
use xtask::run::{cargo, run};

/// Runs all tests of nested episodes and prints the table of causes.
pub(crate) fn validate() -> Result<(), String> {
    ensure(&[DEMO, TEST, NESTING])?;
    run(cargo()
        .args([
            "test",
            "--release",
            "--locked",
            "--test",
            "e2e",
            "--",
            "nesting::",
        ])
        .args(["--include-ignored", "--nocapture", "--test-threads=1"]))
}
