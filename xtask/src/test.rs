//! `cargo xtask test`: every test, unit and end to end.

use crate::packages::{COVERAGE, DEMO, TEST, ensure};
use crate::run::{cargo, run};

/// Installs what is missing and runs the tests, all of them though some fail; `more` goes to `cargo test`.
pub(crate) fn test(more: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, COVERAGE])?;
    run(cargo()
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .args(more))
}
