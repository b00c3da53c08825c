//! `cargo xtask release`: checks that the tree is ready for a release, and builds its packages. It tags and publishes nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{cargo, output, root, run};
use crate::{docs, package, words};

/// Checks versions and documents, builds the packages, and tries the publication.
pub(crate) fn release() -> Result<(), String> {
    let root = root();
    let version = package::version(&root)?;
    agree(&version, |name| {
        let path = root.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    })?;
    untagged(&version, &root)?;
    words::print()?;
    docs::compare()?;
    package::package(&[])?;
    run(cargo().args(["publish", "--dry-run", "--workspace", "--locked"]))?;
    println!("x11prof {version} is ready: tag v{version}, then `cargo publish --workspace`");
    Ok(())
}

/// Checks that all files name the workspace's version.
fn agree(version: &str, read: impl Fn(&str) -> Result<String, String>) -> Result<(), String> {
    let named = [
        ("CHANGELOG.md", format!("\n## {version}")),
        ("README.md", format!("x11prof_{version}-1_amd64.deb")),
        (
            "README.md",
            format!("x11prof-{version}-x86_64-linux.tar.gz"),
        ),
    ];
    for (file, text) in named {
        if !read(file)?.contains(&text) {
            let text = text.trim();
            return Err(format!(
                "{file} lacks `{text}`: the version of Cargo.toml is {version}"
            ));
        }
    }
    for line in read("Cargo.toml")?.lines() {
        let ours = line.starts_with("x11prof-") && line.contains("path = ");
        if ours && !line.contains(&format!("version = \"{version}\"")) {
            return Err(format!(
                "Cargo.toml: another version than {version}: {line}"
            ));
        }
    }
    Ok(())
}

/// Checks that no other commit has the version's tag.
fn untagged(version: &str, root: &Path) -> Result<(), String> {
    let commit = |name: &str| {
        let mut git = Command::new("git");
        git.args(["rev-list", "-n", "1", name]).current_dir(root);
        output(git.stderr(std::process::Stdio::null()))
    };
    let tag = format!("v{version}");
    let mut git = Command::new("git");
    match output(git.args(["tag", "--list", &tag]).current_dir(root))?.is_empty() {
        true => Ok(()),
        false if commit(&tag)? == commit("HEAD")? => Ok(()),
        false => Err(format!(
            "another commit has the tag {tag}: raise the version in Cargo.toml"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::agree;
    use crate::run::root;

    #[test]
    fn source_tree_has_one_version() {
        let read = |name: &str| {
            std::fs::read_to_string(root().join(name)).map_err(|error| error.to_string())
        };
        assert_eq!(agree(env!("CARGO_PKG_VERSION"), read), Ok(()));
    }

    #[test]
    fn version_mismatch_names_the_file() {
        let files = |changes: &'static str| {
            move |name: &str| {
                let text = match name {
                    "CHANGELOG.md" => changes,
                    "README.md" => "x11prof_0.2.0-1_amd64.deb x11prof-0.2.0-x86_64-linux.tar.gz",
                    _ => "x11prof-trace = { path = \"trace\", version = \"0.2.0\" }",
                };
                Ok(text.to_owned())
            }
        };
        assert_eq!(
            agree("0.2.0", files("# Changelog\n## 0.2.0 (date)\n")),
            Ok(())
        );
        let error = agree("0.2.0", files("# Changelog\n## 0.1.0\n")).unwrap_err();
        assert!(
            error.starts_with("CHANGELOG.md lacks `## 0.2.0`"),
            "{error}"
        );
        assert!(agree("0.1.0", files("# Changelog\n## 0.1.0\n")).is_err());
    }
}
