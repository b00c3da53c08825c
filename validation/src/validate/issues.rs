//! `cargo xtask validate issues`: checks that four problems are found in sixty sessions, and compares the list for ten
//! thousand sessions from x11prof, DuckDB and Spark.

use std::process::Command;

use super::{long_tests, reported};
use xtask::packages::{DEMO, EXPORTS, TEST, ensure};
use xtask::run::{cargo, root, run, target};

/// Records, writes and multiplies tables, and compares the lists. `again` reuses the last recordings, `cost` measures
/// `record --tables-only`.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, EXPORTS])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    if arguments.first().map(String::as_str) == Some("cost") {
        return long_tests("issues::online::", &[]);
    }
    let place = target().join("validate/issues");
    let sessions = place.join("sessions");
    let again = arguments.first().map(String::as_str) == Some("again");
    if !again && sessions.exists() {
        std::fs::remove_dir_all(&sessions).map_err(reported)?;
    }
    let variables = [("X11PROF_VALIDATE_ISSUES", sessions.as_os_str())];
    long_tests("issues::sixty::", &variables)?;
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
