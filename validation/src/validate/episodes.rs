//! `cargo xtask validate episodes`: compares latencies of episodes with the programs' own measurements.

use xtask::packages::{DEMO, MORE_PROGRAMS, TEST, TOOLKITS, ensure};
use xtask::run::target;

/// Runs the long tests of episodes. The first argument selects a test, further arguments its benchmarks, toolkits or
/// programs.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let test = match arguments.first().map(String::as_str) {
        None => "episodes::",
        Some("truth") => "episodes::table::",
        Some("toolkits") => "episodes::table_toolkits::",
        Some("programs") => "episodes::programs::",
        Some("idle") => "episodes::idle::",
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
    let chosen = arguments.get(1..).unwrap_or_default().join(" ");
    let variables = [
        ("X11PROF_VALIDATE_EPISODES", file.as_os_str()),
        ("X11PROF_EPISODES_BENCHMARKS", chosen.as_ref()),
    ];
    super::long_tests(test, &variables)?;
    eprintln!("written: {}", file.display());
    Ok(())
}
