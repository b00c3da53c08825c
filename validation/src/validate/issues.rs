//! `cargo xtask validate issues`: checks that four problems are found in sixty sessions, and compares the list for ten
//! thousand sessions from x11prof, DuckDB and Spark.

use std::process::Command;

use super::reported;
use xtask::packages::{DEMO, EXPORTS, TEST, ensure};
use xtask::run::{cargo, root, run, target};

/// Records, writes and multiplies tables, and compares the lists. `again` reuses the last recordings, `cost` measures
/// `record --tables-only`.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, EXPORTS])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let test = |name: &str| {
        let mut command = cargo();
        command
            .args(["test", "--release", "--locked", "--test", "e2e"])
            .args(["--", "--ignored", "--nocapture", name]);
        command
    };
    if arguments.first().map(String::as_str) == Some("cost") {
        return run(&mut test("the_cost_of_episodes_alone_is_printed"));
    }
    let place = target().join("validate/issues");
    let sessions = place.join("sessions");
    let again = arguments.first().map(String::as_str) == Some("again");
    if !again && sessions.exists() {
        std::fs::remove_dir_all(&sessions).map_err(reported)?;
    }
    run(test("sixty_sessions").env("X11PROF_VALIDATE_ISSUES", &sessions))?;
    let venv = place.join("venv");
    if !venv.join("bin/python").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    run(Command::new(venv.join("bin/pip"))
        .args(["install", "--quiet", "duckdb", "pyarrow", "pyspark"]))?;
    run(Command::new(venv.join("bin/python"))
        .arg(root().join("validation/src/validate/issues/check.py"))
        .arg(target().join("release/x11prof"))
        .arg(root().join("sql/issues.sql"))
        .arg(&sessions)
        .arg(&place))
}
