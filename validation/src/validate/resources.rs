//! `cargo xtask validate resources`: what a report says that programs hold in the server, beside
//! what the server states itself, by the X-Resource extension.

use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run};

/// Runs the test that compares the two, and shows the figures that it compared.
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
