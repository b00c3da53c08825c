//! Each product crate can be published: it has the metadata that a registry requires, and its licences.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

#[test]
fn published_crates_have_the_required_metadata() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = workspace
        .lines()
        .find(|line| line.starts_with("members = "))
        .unwrap();
    let members = members.split('"').skip(1).step_by(2);
    let mut published = 0;
    for member in members.chain(["."]) {
        let folder = root.join(member);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if manifest.contains("\npublish = false\n") {
            continue;
        }
        published += 1;
        for key in [
            "description = ",
            "documentation = ",
            "license.workspace",
            "keywords.workspace",
            "categories.workspace",
        ] {
            assert!(manifest.contains(&format!("\n{key}")), "{member}: {key}");
        }
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(folder.join(licence).is_file(), "{member}: {licence}");
        }
        // A file from outside would not be in the package.
        let path = manifest.lines().find(|line| line.contains("path = \"../"));
        assert_eq!(path, None, "{member}");
    }
    assert!(published > 8, "{published} crates");
    let ours = workspace
        .lines()
        .filter(|line| line.starts_with("x11prof-") && line.contains("path = "));
    for line in ours {
        assert!(
            line.contains("version = "),
            "a path alone is no dependency for others: {line}"
        );
    }
}
