//! `cargo xtask validate episodes`: compares latencies of episodes with the programs' own measurements.

use xtask::packages::{DEMO, MORE_PROGRAMS, TEST, TOOLKITS, ensure};
use xtask::run::{cargo, run, target};

/// Runs the long tests of episodes. The first argument selects a test, further arguments its benchmarks, toolkits or
/// programs.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let test = match arguments.first().map(String::as_str) {
        None => "episodes::",
        Some("truth") => "table::every_benchmark",
        Some("toolkits") => "table_toolkits::every_benchmark",
        Some("programs") => "programs::no_episode",
        Some("idle") => "idle::ticking_programs",
        Some(other) => {
            return Err(format!(
                "{other} is none of truth, toolkits, programs and idle"
            ));
        }
    };
    ensure(&[DEMO, TEST, MORE_PROGRAMS, TOOLKITS])?;
    let folder = target().join("validate");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = folder.join("episodes.json");
    run(cargo()
        .args(["test", "--release", "--locked", "--test", "e2e"])
        .args(["--", "--ignored", "--nocapture", "--test-threads=1", test])
        .env("X11PROF_VALIDATE_EPISODES", &file)
        .env(
            "X11PROF_EPISODES_BENCHMARKS",
            arguments.get(1..).unwrap_or_default().join(" "),
        ))?;
    eprintln!("written: {}", file.display());
    Ok(())
}
