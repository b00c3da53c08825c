//! Uses x11perf as a measuring instrument.

use std::path::Path;
use std::process::Command;

/// Maximum duration of one x11perf run in seconds.
const PATIENCE: &str = "60";

/// The operations per second that x11perf prints for `tests` at `display`, in the order of `tests`. One x11perf process
/// runs each test once for about a second, because its setup takes some seconds.
pub(crate) fn rates(
    tests: &[&str],
    display: &str,
    authority: &Path,
    cpu: &str,
) -> Result<Vec<f64>, String> {
    let flags = || tests.iter().map(|test| format!("-{test}"));
    let output = Command::new("timeout")
        .args([
            PATIENCE, "taskset", "-c", cpu, "x11perf", "-display", display, "-repeat", "1",
            "-time", "1",
        ])
        .args(flags())
        .env("XAUTHORITY", authority)
        .output()
        .map_err(|error| format!("cannot run x11perf: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    tests
        .iter()
        .map(|test| {
            parse(&text, &label(test)?).ok_or_else(|| {
                format!(
                    "x11perf -{test} at {display} printed no rate ({}): {text}{}",
                    output.status,
                    String::from_utf8_lossy(&output.stderr)
                )
            })
        })
        .collect()
}

/// The label of `test` in x11perf's output, which has a different order.
pub(crate) fn label(test: &str) -> Result<String, String> {
    let output = Command::new("x11perf")
        .arg("-labels")
        .arg(format!("-{test}"))
        .output()
        .map_err(|error| format!("cannot run x11perf: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Parses the rate in a line such as `  9000 reps @   0.1134 msec (  8820.0/sec): GetProperty`.
fn parse(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().find(|line| {
        line.split_once("/sec): ")
            .is_some_and(|(_, of)| of == label)
    })?;
    line.split_once('(')?
        .1
        .split_once("/sec)")?
        .0
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn rate_is_parsed_from_the_parentheses() {
        let line = "x11perf\n\n  90000 reps @   0.0113 msec ( 88200.0/sec): GetProperty\n";
        assert_eq!(parse(line, "GetProperty"), Some(88200.0));
        assert_eq!(parse(line, "GetImage"), None);
        assert_eq!(parse("90000000 trep @ 0.0 msec", ""), None);
    }
}
