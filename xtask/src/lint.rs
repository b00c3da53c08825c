//! `cargo xtask lint`: lints and documents.

use crate::package::{TARGET, ensure_target};
use crate::packages::{MUSL, ensure};
use crate::run::{cargo, root, run};

/// Lints all code, and makes the documentation of the crates, without a warning.
///
/// Both are compiled for the static program of the packages, so the step shows that the crates compile for that program.
/// A machine without that target compiles for itself.
pub(crate) fn lint() -> Result<(), String> {
    let target = match ensure(&[MUSL]).and_then(|()| ensure_target(&root(), TARGET)) {
        Ok(()) => vec!["--target", TARGET],
        Err(error) => {
            eprintln!("{TARGET} is not checked: {error}");
            Vec::new()
        }
    };
    let all = ["--workspace", "--locked"];
    run(cargo()
        .args(["clippy", "--all-targets"])
        .args(all)
        .args(&target)
        .args(["--", "-D", "warnings"]))?;
    run(cargo()
        .args(["doc", "--no-deps"])
        .args(all)
        .args(&target)
        .env("RUSTDOCFLAGS", "-D warnings"))
}
