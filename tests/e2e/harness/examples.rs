//! Test clients that are built as Cargo examples of the package.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

/// Builds an example with the test's profile and returns the path of the program.
pub(crate) fn example(name: &str) -> PathBuf {
    // Two concurrent cargo processes would block each other and print a message.
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
