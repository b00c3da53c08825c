//! Clients of ours, which are examples of the package.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

/// The program of an example, built like this test.
pub(crate) fn example(name: &str) -> PathBuf {
    // Two cargos at once would wait for each other, and say so.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock();
    let test = std::env::current_exe().expect("this test's file");
    // TARGET/PROFILE/deps/TEST
    let profile = test.ancestors().nth(2).expect("the profile's folder");
    let target = profile.parent().expect("the target folder");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--locked", "--workspace", "--example"])
        .arg(name)
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let status = build.status().expect("cargo runs");
    assert!(status.success(), "cargo cannot build the example {name}");
    profile.join("examples").join(name)
}
