//! `cargo xtask pictures`: the pictures in docs/pictures: the page of a recording in tests/data, and `top` on a display
//! with four programs that trouble it.

mod terminal;
mod top;

use std::process::Command;

use crate::packages::{DEMO, PICTURES, ensure};
use crate::run::{cargo, root, run, target};

/// The picture's width and height, in pixels.
const SIZE: &str = "--window-size=1100,1000";

/// Makes the page of a recording and takes its picture.
pub(crate) fn pictures() -> Result<(), String> {
    ensure(&[DEMO, PICTURES])?;
    run(cargo().args(["build", "--locked"]))?;
    let (page, pictures) = (target().join("page.html"), root().join("docs/pictures"));
    std::fs::create_dir_all(&pictures)
        .map_err(|error| format!("cannot make {}: {error}", pictures.display()))?;
    run(Command::new(target().join("debug/x11prof"))
        .args(["report", "--format", "html", "-o"])
        .arg(&page)
        .arg("tests/data/gtk3-widget-factory.mcap"))?;
    let picture = pictures.join("page.png");
    top::picture(&pictures.join("top.svg"))?;
    run(Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", SIZE])
        // The charts are drawn by then, in the page's own time.
        .arg("--virtual-time-budget=3000")
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display())))
}
