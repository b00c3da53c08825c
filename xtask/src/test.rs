//! `cargo xtask test`: every test, unit and end to end.

use std::io::{BufRead, BufReader, Write};
use std::num::NonZero;
use std::process::{Command, Stdio};

use crate::packages::{COVERAGE, DEMO, TEST, ensure};
use crate::run::{cargo, root, run};

/// Maximum number of tests that are repeated: more failures have a cause in the code.
const REPEATED: usize = 10;

/// Installs missing programs and runs all tests, even after a failure. `more` is passed to `cargo test`.
///
/// End-to-end tests run at the same time, on machines with other load. So up to ten tests that fail are repeated, one
/// after the other, and the last line names them.
pub(crate) fn test(more: &[String]) -> Result<(), String> {
    // The tests are compiled while the programs are installed.
    std::thread::scope(|scope| {
        let compiled = scope.spawn(|| run(cargo_test().arg("--no-run").args(more)));
        ensure(&[DEMO, TEST, COVERAGE])?;
        compiled.join().map_err(|_| "cargo was not started")?
    })?;
    // The end-to-end tests mostly wait: with two tests per processor half of the CPU time would be idle.
    let threads = std::env::var("RUST_TEST_THREADS").unwrap_or_else(|_| {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        (4 * processors).to_string()
    });
    let all = results(cargo_test().args(more).env("RUST_TEST_THREADS", threads))?;
    if all.succeeded {
        return Ok(());
    }
    let names = all.failed.join(", ");
    // A failure without a name is of a build, or of a program that ended.
    if all.failed.is_empty() || all.failed.len() > REPEATED || all.failures != all.failed.len() {
        return Err(format!("tests failed: {names}"));
    }
    eprintln!("xtask: repeating, one after the other: {names}");
    let again = results(
        cargo_test()
            .args(["--", "--exact", "--test-threads=1"])
            .args(&all.failed),
    )?;
    if !again.succeeded || again.passed < all.failed.len() {
        return Err(format!("tests failed twice: {}", again.failed.join(", ")));
    }
    eprintln!("xtask: passed only when repeated: {names}");
    Ok(())
}

fn cargo_test() -> Command {
    // A shell starts background jobs with these signals ignored, and programs inherit that. The tests send SIGINT.
    let mut command = Command::new("env");
    command
        .arg("--default-signal=HUP,INT,QUIT")
        .arg(cargo().get_program());
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
    command
}

/// The results in the output of `cargo test`.
#[derive(Default)]
struct Results {
    succeeded: bool,
    /// Numbers of the summaries of all test programs.
    passed: usize,
    failures: usize,
    /// The names of tests that failed.
    failed: Vec<String>,
}

impl Results {
    fn read(&mut self, line: &str) {
        let count = |words: &str| {
            let (before, _) = line.split_once(words)?;
            before.rsplit(' ').next()?.parse::<usize>().ok()
        };
        if line.starts_with("test result: ") {
            self.passed += count(" passed;").unwrap_or(0);
            self.failures += count(" failed;").unwrap_or(0);
        } else if let Some(name) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failed.push(name.to_owned());
        }
    }
}

/// Runs the command, and shows and reads its output.
fn results(command: &mut Command) -> Result<Results, String> {
    let fails = |error| format!("cannot run cargo test: {error}");
    let mut child = command
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(fails)?;
    let mut results = Results::default();
    if let Some(output) = child.stdout.take() {
        let mut shown = std::io::stdout().lock();
        // Programs that a test starts may print any bytes.
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(fails)?;
            results.read(&String::from_utf8_lossy(&line));
            shown.write_all(&line).map_err(fails)?;
            shown.write_all(b"\n").map_err(fails)?;
        }
    }
    results.succeeded = child.wait().map_err(fails)?.success();
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_and_summaries_are_read() {
        let mut results = Results::default();
        for line in [
            "test a::b ... ok",
            "test a::c ... FAILED",
            "    test a::d ... FAILED",
            "test result: FAILED. 12 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            results.read(line);
        }
        assert_eq!(results.failed, ["a::c"]);
        assert_eq!((results.passed, results.failures), (15, 1));
    }
}
