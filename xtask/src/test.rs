//! `cargo xtask test`: every test, unit and end to end.

use std::num::NonZero;

use crate::packages::{COVERAGE, DEMO, TEST, ensure};
use crate::run::{cargo, run};

/// Installs missing programs and runs all tests, even after a failure. `more` is passed to `cargo test`.
pub(crate) fn test(more: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, COVERAGE])?;
    // The end-to-end tests mostly wait: with two tests per processor half of the CPU time would be idle.
    let threads = std::env::var("RUST_TEST_THREADS").unwrap_or_else(|_| {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        (4 * processors).to_string()
    });
    run(cargo()
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .args(more)
        .env("RUST_TEST_THREADS", threads))
}
