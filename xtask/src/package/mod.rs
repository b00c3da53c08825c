//! `cargo xtask package`: builds a static program, a Debian package and a tarball with checksums and a bill of
//! materials from a clean tree. The build is reproducible.

mod debian;
mod files;
mod materials;
mod root;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packages::{AARCH64, MUSL, PACKAGE, ensure};
use crate::run::{cargo, output, root, run, target};
use files::Stage;

/// A static target: the program needs no shared libraries.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-musl";

/// A target that is only compiled, never run.
const OTHER_TARGET: &str = "aarch64-unknown-linux-gnu";

/// The package to make.
struct Package {
    /// The sources.
    tree: PathBuf,
    /// The destination of the results.
    out: PathBuf,
    version: String,
    /// The time of the commit in seconds since 1970, used for all time stamps.
    epoch: String,
}

/// Makes the package; `twice` makes it again from another folder and compares, `try` installs and removes
/// it in a fresh Debian without a compiler, `aarch64` checks that the sources compile for that processor.
pub(crate) fn package(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    ensure(&[MUSL, PACKAGE])?;
    let out = target().join("package");
    match words.as_slice() {
        [] => make(&root(), &out),
        ["twice"] => twice(&out),
        ["try"] => root::try_out(&out),
        ["aarch64"] => check_aarch64(),
        _ => Err("expected nothing, twice, try or aarch64 after package".to_owned()),
    }
}

/// Makes all files in `out` from the sources in `tree`.
fn make(tree: &Path, out: &Path) -> Result<(), String> {
    let changes = output(git(tree).args(["status", "--porcelain"]))?;
    if !changes.is_empty() {
        return Err(format!("commit or stash first:\n{changes}"));
    }
    let package = Package {
        tree: tree.to_owned(),
        out: out.to_owned(),
        version: version(tree)?,
        epoch: output(git(tree).args(["log", "-1", "--format=%ct"]))?,
    };
    let program = package.build()?;
    let stage = Stage::new(&out.join("stage"))?;
    debian::fill(&package, &stage, &program)?;
    let debian = debian::package(&package, &stage)?;
    run(Command::new("lintian")
        .args(["--fail-on", "error"])
        .arg(out.join(&debian)))?;
    let mut results = vec![debian, package.tarball(&stage)?, materials::bill(&package)?];
    results.sort();
    let sums = output(Command::new("sha256sum").args(&results).current_dir(out))?;
    files::write(
        &out.join("SHA256SUMS"),
        format!("{sums}\n").as_bytes(),
        0o644,
    )?;
    println!("{sums}\nin {}", out.display());
    Ok(())
}

/// Builds the package again in another folder. Any difference is an error.
fn twice(out: &Path) -> Result<(), String> {
    make(&root(), out)?;
    let tree = target().join("package-again");
    // An interrupted run may have left the folder.
    let _ = std::fs::remove_dir_all(&tree);
    run(Command::new("git")
        .args(["clone", "--quiet", "."])
        .arg(&tree))?;
    let again = tree.join("out");
    make(&tree, &again)?;
    let sums = |folder: &Path| files::read(&folder.join("SHA256SUMS"));
    match sums(out)? == sums(&again)? {
        true => {
            println!("both are the same, byte for byte");
            std::fs::remove_dir_all(&tree).map_err(|error| format!("{}: {error}", tree.display()))
        }
        false => Err(format!("{} and {} differ", out.display(), again.display())),
    }
}

impl Package {
    /// Builds the program.
    fn build(&self) -> Result<PathBuf, String> {
        ensure_target(&self.tree, TARGET)?;
        let build = self.out.join("build");
        let home = std::env::var("CARGO_HOME")
            .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
            .map_err(|_| "HOME is not set".to_owned())?;
        // Without this, panic messages in the program would contain folders of the build machine.
        let here = [
            (self.tree.display().to_string(), "x11prof"),
            (build.display().to_string(), "build"),
            (home, "cargo"),
        ];
        let option = |option: &str, separator: &str| {
            let options = here
                .iter()
                .map(|(from, to)| format!("{option}={from}=/{to}"));
            options.collect::<Vec<_>>().join(separator)
        };
        run(cargo()
            .args(["build", "--release", "--locked", "--target", TARGET])
            .arg("--manifest-path")
            .arg(self.tree.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&build)
            .env("SOURCE_DATE_EPOCH", &self.epoch)
            .env(
                "CARGO_ENCODED_RUSTFLAGS",
                option("--remap-path-prefix", "\u{1f}"),
            )
            .env(
                "CFLAGS_x86_64_unknown_linux_musl",
                option("-ffile-prefix-map", " "),
            ))?;
        Ok(build.join(TARGET).join("release/x11prof"))
    }

    /// The Debian package's files under one folder, for other systems.
    fn tarball(&self, stage: &Stage) -> Result<String, String> {
        let name = format!("x11prof-{}-x86_64-linux.tar.gz", self.version);
        run(Command::new("tar")
            .args([
                "--create",
                "--sort=name",
                "--owner=0",
                "--group=0",
                "--numeric-owner",
            ])
            .arg(format!("--mtime=@{}", self.epoch))
            .arg(format!("--transform=s,^usr,x11prof-{},", self.version))
            .args([
                "--exclude=usr/share/lintian",
                "--use-compress-program=gzip -9n",
                "--file",
            ])
            .arg(self.out.join(&name))
            .arg("--directory")
            .arg(stage.folder())
            .arg("usr"))?;
        Ok(name)
    }
}

/// Checks that the program compiles for aarch64. It is not run.
fn check_aarch64() -> Result<(), String> {
    ensure(&[AARCH64])?;
    ensure_target(&root(), OTHER_TARGET)?;
    run(cargo()
        .args(["check", "--locked", "--bin", "x11prof", "--target"])
        .arg(OTHER_TARGET))
}

/// Installs the standard library of `target` if it is missing.
pub(crate) fn ensure_target(tree: &Path, target: &str) -> Result<(), String> {
    let mut rustc = Command::new("rustc");
    let sysroot = output(rustc.args(["--print", "sysroot"]).current_dir(tree))?;
    match Path::new(&sysroot)
        .join("lib/rustlib")
        .join(target)
        .exists()
    {
        true => Ok(()),
        false => run(Command::new("rustup").args(["target", "add", target])),
    }
}

fn git(tree: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(tree);
    git
}

/// The version of the workspace.
pub(crate) fn version(tree: &Path) -> Result<String, String> {
    let text = files::read(&tree.join("Cargo.toml"))?;
    let mut lines = text.lines();
    let version = lines.find_map(|line| line.strip_prefix("version = "));
    let version = version.ok_or("Cargo.toml names no version")?;
    Ok(version.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn package_version_is_the_workspace_version() {
        let found = super::version(&crate::run::root()).unwrap();
        assert_eq!(found, env!("CARGO_PKG_VERSION"));
    }
}
