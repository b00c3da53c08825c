//! The libraries that x11prof is built from: their licences, sources and versions.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

/// The licences that allow to distribute a library in x11prof's packages.
const LICENCES: [&str; 9] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    // tiny-keccak, which only a compiler's plug-in uses.
    "CC0-1.0",
    "MIT",
    // libFuzzer's sources, which only the fuzz targets use.
    "NCSA",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The packages of the dependency tree for a platform, as `cargo metadata` describes them.
fn packages(platform: &str) -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--filter-platform", platform])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {said}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn libraries_have_allowed_licences_and_come_from_the_registry() {
    for platform in ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"] {
        let packages = packages(platform);
        let libraries = packages.iter().filter(|one| one["source"].is_string());
        assert!(libraries.clone().count() > 100, "{platform}");
        for library in libraries {
            let name = &library["name"];
            let source = library["source"].as_str().unwrap();
            assert!(source.starts_with("registry+"), "{name}: {source}");
            let licence = library["license"].as_str().unwrap_or_default();
            let expression = Expression::parse_mode(licence, ParseMode::LAX).unwrap();
            let is_allowed =
                expression.evaluate(|required| LICENCES.contains(&required.to_string().as_str()));
            assert!(is_allowed, "{name}: {licence}");
        }
        for package in packages.iter().filter(|one| one["source"].is_null()) {
            for dependency in package["dependencies"].as_array().unwrap() {
                let any_version = dependency["req"] == "*" && dependency["source"].is_string();
                assert!(!any_version, "{}: {}", package["name"], dependency["name"]);
            }
        }
    }
}
