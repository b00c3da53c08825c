//! x11perf as a measuring instrument.

use std::path::Path;
use std::process::Command;

/// Operations per second that x11perf prints for `test` at `display`, run once for about a second.
pub(crate) fn rate(test: &str, display: &str, authority: &Path, cpu: &str) -> Result<f64, String> {
    let output = Command::new("taskset")
        .args([
            "-c", cpu, "x11perf", "-display", display, "-repeat", "1", "-time", "1",
        ])
        .arg(format!("-{test}"))
        .env("XAUTHORITY", authority)
        .output()
        .map_err(|error| format!("cannot run x11perf: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).ok_or_else(|| {
        format!(
            "x11perf -{test} at {display} printed no rate ({}): {text}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// The rate in a line such as `  9000 reps @   0.1134 msec (  8820.0/sec): GetProperty`.
fn parse(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("/sec)"))?;
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
    fn the_rate_is_the_figure_in_brackets() {
        let line = "x11perf\n\n  90000 reps @   0.0113 msec ( 88200.0/sec): GetProperty\n";
        assert_eq!(parse(line), Some(88200.0));
        assert_eq!(parse("90000000 trep @ 0.0 msec"), None);
    }
}
