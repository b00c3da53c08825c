//! The Debian package, made with dpkg-deb alone.

use std::path::Path;
use std::process::Command;

use super::files::{self, Stage, reported};
use super::{Package, materials};
use crate::run::{output, run};

const MAINTAINER: &str = "The x11prof developers <x11prof@packages.invalid>";

const DESCRIPTION: &str = "\
profiler for X11: time in programs, display server and network
 x11prof records what a program and its X server send, and when the kernel runs
 them. It shows which requests cost the server time, which replies the program
 waits for, which user actions were slow and why, and what all of it would take
 on another server or over another network. The program is not changed.";

const LICENCES: &str = "\
License: MIT
 Permission is hereby granted, free of charge, to any person obtaining a copy
 of this software and associated documentation files (the \"Software\"), to deal
 in the Software without restriction, including without limitation the rights
 to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 copies of the Software, and to permit persons to whom the Software is
 furnished to do so, subject to the following conditions:
 .
 The above copyright notice and this permission notice shall be included in
 all copies or substantial portions of the Software.
 .
 THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
 THE SOFTWARE.

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
";

/// The folder in which each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/x11prof"),
    ("fish", "usr/share/fish/vendor_completions.d/x11prof.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_x11prof"),
];

/// Puts the program, its manual, completions and documents into the stage.
pub(super) fn fill(package: &Package, stage: &Stage, program: &Path) -> Result<(), String> {
    let bytes = std::fs::read(program).map_err(|error| reported(program, &error))?;
    stage.put("usr/bin/x11prof", &bytes, 0o755)?;
    let says = |words: &[&str]| output(Command::new(program).args(words));
    let manual = says(&["man"])?;
    stage.put_compressed(
        "usr/share/man/man1/x11prof.1",
        format!("{manual}\n").as_bytes(),
    )?;
    for (shell, path) in COMPLETIONS {
        let text = says(&["completions", shell])?;
        stage.put(path, format!("{text}\n").as_bytes(), 0o644)?;
    }
    let docs = package.tree.join("docs");
    let entries = std::fs::read_dir(&docs).map_err(|error| reported(&docs, &error))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".md") {
            let text = files::read(&path)?;
            stage.put(
                &format!("usr/share/doc/x11prof/{name}"),
                text.as_bytes(),
                0o644,
            )?;
        }
    }
    let changes = files::read(&package.tree.join("CHANGELOG.md"))?;
    stage.put_compressed("usr/share/doc/x11prof/changelog", changes.as_bytes())?;
    let when = format!("@{}", package.epoch);
    let when = output(Command::new("date").args(["-u", "-R", "-d", &when]))?;
    let debian = format!(
        "x11prof ({}-1) unstable; urgency=medium\n\n  * See changelog.gz beside this file.\n\n -- {MAINTAINER}  {when}\n",
        package.version
    );
    stage.put_compressed("usr/share/doc/x11prof/changelog.Debian", debian.as_bytes())?;
    stage.put(
        "usr/share/doc/x11prof/copyright",
        copyright(package)?.as_bytes(),
        0o644,
    )?;
    // lintian reports this tag because packages usually link to the system's libraries.
    let override_ = "# Built for any Linux: no library of the system is needed.\nx11prof: statically-linked-binary [usr/bin/x11prof]\n";
    stage.put(
        "usr/share/lintian/overrides/x11prof",
        override_.as_bytes(),
        0o644,
    )?;
    Ok(())
}

/// The licences of the program, of uPlot in the page, and of the linked libraries.
fn copyright(package: &Package) -> Result<String, String> {
    let mut text = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: x11prof
Comment: Into the program are linked musl and mimalloc (MIT), zstd (BSD-3-clause), and of crates.io:
"
    .to_owned();
    for library in materials::libraries(package)? {
        text.push_str(&format!(
            " {} {} ({})\n",
            library.name, library.version, library.licence
        ));
    }
    text.push_str(
        "\nFiles: *\nCopyright: The x11prof developers\nLicense: MIT or Apache-2.0\n\n\
         Files: views/assets/html/uplot/*\nCopyright: Leon Sorokin\nLicense: MIT\n\n",
    );
    text.push_str(LICENCES);
    Ok(text)
}

/// Makes the package from the staged files; returns the name of its file.
pub(super) fn package(package: &Package, stage: &Stage) -> Result<String, String> {
    let folder = stage.folder();
    let sums = output(Command::new("sh").current_dir(folder).args([
        "-c",
        "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum",
    ]))?;
    let size = output(
        Command::new("du")
            .args(["-sk", "--apparent-size", "usr"])
            .current_dir(folder),
    )?;
    let size = size.split_whitespace().next().unwrap_or("0");
    let control = format!(
        "Package: x11prof\nVersion: {}-1\nArchitecture: amd64\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {size}\nRecommends: xvfb\nSuggests: duckdb\nSection: x11\nPriority: optional\n\
         Description: {DESCRIPTION}\n",
        package.version
    );
    stage.put("DEBIAN/control", control.as_bytes(), 0o644)?;
    stage.put("DEBIAN/md5sums", format!("{sums}\n").as_bytes(), 0o644)?;
    let name = format!("x11prof_{}-1_amd64.deb", package.version);
    run(Command::new("dpkg-deb")
        .args(["--root-owner-group", "--build"])
        .arg(folder)
        .arg(package.out.join(&name))
        .env("SOURCE_DATE_EPOCH", &package.epoch))?;
    Ok(name)
}
