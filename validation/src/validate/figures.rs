//! `cargo xtask validate figures [TRACE…]`: compares figures of recordings with those that a separate script computes
//! from the messages (`figures/recompute.py`, written only from docs/REFERENCE.md).

use std::process::Command;

use xtask::run::{cargo, root, run, target};

/// Checks these recordings, or the stored ones.
pub(crate) fn validate(traces: &[String]) -> Result<(), String> {
    run(cargo().args(["build", "--release", "--locked"]))?;
    let kept = [
        "emacs",
        "featherpad",
        "gtk3-widget-factory",
        "x11perf",
        "xclock",
        "xset",
        "xterm",
    ];
    let kept = kept.map(|name| root().join(format!("tests/data/{name}.mcap")));
    let mut script = Command::new("python3");
    script
        .arg(root().join("validation/src/validate/figures/recompute.py"))
        .arg(target().join("release/x11prof"));
    match traces.is_empty() {
        true => script.args(kept),
        false => script.args(traces),
    };
    run(&mut script)
}
