//! `cargo xtask pictures` makes the pictures in docs/pictures: the HTML page of a recording in tests/data, and `top` on a
//! display with four problematic programs. `cargo xtask pictures gallery` makes the pages in docs/gallery.

mod display;
mod gallery;
mod terminal;
mod top;

use std::path::Path;
use std::process::Command;

use crate::packages::{DEMO, GALLERY, PICTURES, ensure};
use crate::run::{cargo, root, run, target};

/// The recording that is shown.
const RECORDING: &str = "tests/data/gtk3-widget-factory.mcap";

/// Makes the page of a recording and takes its picture, or makes the gallery.
pub(crate) fn pictures(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().any(|word| word == "gallery") {
        ensure(&[DEMO, GALLERY])?;
        run(cargo().args(["build", "--release", "--locked"]))?;
        return gallery::pages(&target().join("release/x11prof"), &target().join("gallery"));
    }
    ensure(&[DEMO, PICTURES])?;
    run(cargo().args(["build", "--locked"]))?;
    let (page, pictures) = (target().join("page.html"), root().join("docs/pictures"));
    std::fs::create_dir_all(&pictures)
        .map_err(|error| format!("cannot make {}: {error}", pictures.display()))?;
    let x11prof = target().join("debug/x11prof");
    run(Command::new(&x11prof)
        .args(["report", "--format", "html", "-o"])
        .arg(&page)
        .arg(RECORDING))?;
    shot(&page, &pictures.join("page.png"), "1100,1000")?;
    top::picture(&pictures.join("top.svg"))
}

/// Takes a screenshot of a page with this width and height.
fn shot(page: &Path, picture: &Path, size: &str) -> Result<(), String> {
    run(Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .arg(format!("--window-size={size}"))
        // The charts are drawn within this much virtual time.
        .arg("--virtual-time-budget=3000")
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display())))
}
