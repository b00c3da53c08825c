//! Checks that all outputs for a recording are consistent: parts agree with their totals, and the figures of one output
//! agree with the figures of another. `checks.txt` is the list of checks. This is a self-test of x11prof; users do not
//! run it, and it does not know which of two figures is right.
//!
//! [`Pages`] are the outputs, and [`Audit`] is the result of the checks. [`recording`] runs x11prof to get the outputs.

mod check;
mod figure;
mod messages;
mod outcome;
mod pages;
mod recording;
mod said;
mod walk;

use check::{CHECKS, Check};
pub use outcome::{Audit, Violation};
use pages::Page;
pub use pages::Pages;
pub use recording::recording;

/// Runs all checks on the outputs for a recording.
#[must_use]
pub fn audit(pages: &Pages) -> Audit {
    let mut audit = Audit::default();
    for check in Check::all(CHECKS) {
        let before = audit.made();
        check.apply(pages, &mut audit);
        if audit.made() == before && !audit.idle.contains(&check.figure) {
            audit.idle.push(check.figure);
        }
    }
    for (name, page) in &pages.0 {
        match page {
            Page::Figures(figures) => walk::figures(name, figures, &mut audit),
            Page::Words(words) => walk::words(name, words, &mut audit),
        }
    }
    audit
}
