//! `cargo xtask validate page`: the HTML page of a long trace: its size, the time to create it, and the time in which a
//! browser opens it. The trace consists of copies of a stored recording of xterm.
//!
//! Argument: the length in MB.

use std::time::Instant;

use super::long_trace::LongTrace;
use super::memory::{LENGTH, PATIENCE, peak};
use super::reported;
use xtask::run::{cargo, root, run, target};

#[path = "../../../tests/e2e/harness/browser.rs"]
mod browser;

/// The maximum size of a page, in bytes.
const LARGEST: u64 = 5_000_000;
/// The maximum time in which a browser loads the whole page, in ms.
const LONGEST: f64 = 1000.0;
/// The number of times that the page is opened.
const TIMES: usize = 3;

/// Runs the validation.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let length = match arguments.first() {
        Some(number) => number
            .parse()
            .map_err(|_| format!("{number} is no number of megabytes"))?,
        None => LENGTH,
    };
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let folder = target().join("validate");
    std::fs::create_dir_all(&folder).map_err(reported)?;
    let recording = root().join("tests/data/xterm.mcap");
    let trace = LongTrace::of(&recording, &folder, length * 1_000_000).map_err(reported)?;
    let megabytes = u32::try_from(trace.len() / 1_000_000).unwrap_or(u32::MAX);
    println!("a trace of {megabytes} MB: {} times xterm", trace.copies);

    let page = folder.join("page.html");
    let to = page.to_string_lossy();
    let start = Instant::now();
    let patience = PATIENCE.0 + PATIENCE.1 * megabytes;
    let command = ["report", "--format", "html", "-o", &to];
    let peak = peak(&command, &trace.path(), patience)?;
    let size = std::fs::metadata(&page).map_err(reported)?.len();
    println!(
        "the page: {:.1} MB, made in {:.1} s with {} MB of memory",
        size as f64 / 1e6,
        start.elapsed().as_secs_f64(),
        peak >> 10
    );

    let browser = browser::Browser::start();
    let mut opening = Vec::new();
    for _ in 0..TIMES {
        browser.open(&page);
        // Measured with the browser's clock, from the start of the navigation until everything was loaded and drawn
        // once.
        let times = browser.run(
            "const [whole] = performance.getEntriesByType('navigation');
             const paint = performance.getEntriesByName('first-contentful-paint')[0];
             return [whole.loadEventEnd, paint ? paint.startTime : 0]",
        );
        let time = |at: usize| times[at].as_f64().unwrap_or(f64::INFINITY);
        opening.push(time(0).max(time(1)));
    }
    opening.sort_by(f64::total_cmp);
    println!(
        "opened {TIMES} times in a browser: {:.2} to {:.2} s",
        opening[0] / 1000.0,
        opening[TIMES - 1] / 1000.0
    );
    let ready = browser.run("return document.documentElement.dataset.ready");
    let thinned = browser.run("return [...document.querySelectorAll('#thinned li')].map((line) => line.textContent).join(' ')");
    println!("it says: {}", thinned.as_str().unwrap_or_default().trim());
    if ready != "yes" {
        return Err("the page is not complete: its scripts have failed".to_owned());
    }
    if size > LARGEST || opening[TIMES - 1] > LONGEST {
        return Err(format!(
            "over the goal of {} MB and {:.1} s",
            LARGEST / 1_000_000,
            LONGEST / 1000.0
        ));
    }
    Ok(())
}
